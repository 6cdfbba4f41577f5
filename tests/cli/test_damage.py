"""One flipped bit anywhere in a file never ends the program by a signal, and never goes unnoticed in a file of its own."""
import random
import unittest

import h5py
import numpy as np
from support import Case


class Damage(Case):
    def setUp(self):
        super().setUp()
        self.x = np.random.default_rng(0).normal(size=(20, 2))

    def flipped(self, source, bit, name):
        data = bytearray((self.folder / source).read_bytes())
        data[bit // 8] ^= 1 << bit % 8
        return self.write(name, bytes(data))

    def test_foreign_files(self):
        """Metadata alone is flipped: the numbers are as they were wherever the file is still read."""
        with h5py.File(self.folder / "f.h5", "w", libver=("earliest", "v110")) as file:
            file.create_dataset("samples", data=self.x)
            file.create_dataset("packed", data=self.x, chunks=(7, 2), fletcher32=True)
            file["names"] = ["a", "b"]
            file.attrs["who"] = "another program"
        data = (self.folder / "f.h5").read_bytes()
        payload = data.find(self.x.tobytes())
        rng = random.Random(0)
        # Not in the heap of the texts: there HDF5 1.10.8 also loops without end, which takes a minute to tell.
        heap = data.find(b"GCOL")
        written = [byte for byte in range(len(data)) if data[byte] and not payload <= byte < payload + self.x.nbytes and not heap <= byte < heap + 4096]
        flips = [8 * byte + rng.randrange(8) for byte in rng.sample(written, min(100, len(written)))] + [self.crashing_bit(data)]

        def imported(bit):
            name = self.flipped("f.h5", bit, f"{bit}.h5").name
            done = self.gaussflow("import", f"{name}:/samples", "-o", f"out-{name}", code=None, timeout=30)
            self.assertIn(done.returncode, (0, 4, 9), f"bit {bit}: {done.stderr}")
            if done.returncode:
                self.assertTrue(done.stderr.startswith("gaussflow: "), done.stderr)
            return done.returncode
        codes = self.together(imported, flips)
        self.assertIn(0, codes)
        self.assertIn(4, codes)

    @staticmethod
    def crashing_bit(data):
        """In the length of the first text of the file's heap: HDF5 1.10.8 follows it out of its memory."""
        return 8 * (data.find(b"GCOL") + 31) + 2

    def test_a_crash_of_the_library_is_an_error_about_the_file(self):
        source = self.write_h5("f.h5", samples=self.x, names=["a", "b"])
        flipped = self.flipped("f.h5", self.crashing_bit(source.read_bytes()), "crash.h5")
        self.write("m.yaml", "flow: mmd\ntarget: {samples: crash.h5}\nparticles: 10\nstep: 2\nseed: 1\n")
        for verb in (("import", flipped, "-o", "o.h5"), ("run", "m.yaml", "-o", "r"), ("inspect", flipped)):
            self.refuses(*verb, code=4, words=["crash.h5: the HDF5 library crashed"])
        self.assertFalse((self.folder / "o.h5").exists())

    def test_own_files_are_checked_before_they_are_parsed(self):
        self.write_h5("y.h5", samples=self.x, q=self.x, v=np.ones((20, 1)))
        self.write("m.yaml", "flow: mmd\ntarget: {samples: y.h5}\nparticles: 10\nstep: 2\nseed: 1\n")
        self.gaussflow("run", "m.yaml", "-o", "r", "-q")
        (self.folder / "r/samples.h5").rename(self.folder / "run.h5")
        self.gaussflow("import", "y.h5", "-o", "imported.h5")
        self.gaussflow("sum", "y.h5", "-o", "sum.h5", "--tau", "1")
        rng = random.Random(1)
        for name, format in (("run.h5", "samples"), ("imported.h5", "samples"), ("sum.h5", "sums")):
            data = (self.folder / name).read_bytes()
            self.assertTrue(data.startswith(f"gaussflow-{format} 1\nstep ".encode()))
            text = data.find(b"\0")
            bits = [8 * byte + rng.randrange(8) for byte in range(0, text, 4)] if name == "sum.h5" else []
            bits += [rng.randrange(8 * 512, 8 * len(data)) for _ in range(5)]

            def refused(bit):
                flipped = self.flipped(name, bit, f"{bit}-{name}")
                self.refuses("import", flipped, "-o", self.folder / "no.h5", code=4, words=["is damaged", str(bit)])
            self.together(refused, bits)

    def test_an_edited_file_of_its_own_is_refused_with_the_way_out(self):
        self.write_h5("y.h5", samples=self.x)
        self.gaussflow("import", "y.h5", "-o", "own.h5")
        with h5py.File(self.folder / "own.h5", "r"):
            pass
        self.gaussflow("import", "own.h5", "-o", "again.h5")
        with h5py.File(self.folder / "own.h5", "r+") as file:
            file["samples"][0, 0] = 7
        self.refuses("import", "own.h5", "-o", "no.h5", code=4, words=["changed", "on purpose", "new['x'] = old['x'][:]"])
        with h5py.File(self.folder / "own.h5", "r") as old, h5py.File(self.folder / "new.h5", "w") as new:
            new["samples"] = old["samples"][:]
        self.gaussflow("import", "new.h5", "-o", "out.h5")
        with h5py.File(self.folder / "out.h5", "r") as file:
            self.assertEqual(file["samples"][0, 0], 7)


if __name__ == "__main__":
    unittest.main()
