"""Samples from text tables and NumPy files come out of `import` as they went in."""
import unittest

import h5py
import numpy as np
from support import Case


class Import(Case):
    def setUp(self):
        super().setUp()
        self.x = np.random.default_rng(0).normal(size=(50, 3))

    def imported(self, name, *options):
        self.gaussflow("import", name, "-o", "out.h5", "--overwrite", *options)
        with h5py.File(self.folder / "out.h5") as file:
            return file["samples"][:]

    def test_csv(self):
        np.savetxt(self.folder / "x.csv", self.x, delimiter=",", header="a,b,c", comments="", fmt="%.17g")
        np.testing.assert_array_equal(self.imported("x.csv"), self.x)
        with h5py.File(self.folder / "out.h5") as file:
            self.assertEqual([n.decode() for n in file["names"][:]], ["a", "b", "c"])

    def test_npy(self):
        for name, array in (("c", self.x), ("fortran", np.asfortranarray(self.x)), ("big", self.x.astype(">f8")), ("single", self.x.astype("f4"))):
            with self.subTest(name=name):
                np.save(self.folder / "x.npy", array)
                np.testing.assert_array_equal(self.imported("x.npy"), array)

    def test_npz(self):
        np.savez(self.folder / "one.npz", positions=self.x)
        np.savez_compressed(self.folder / "two.npz", samples=self.x, other=self.x * 2)
        np.testing.assert_array_equal(self.imported("one.npz"), self.x)
        np.testing.assert_array_equal(self.imported("two.npz"), self.x)
        np.testing.assert_array_equal(self.imported("two.npz:/other"), 2 * self.x)
        np.savez(self.folder / "three.npz", train=self.x, test=self.x)
        self.refuses("import", "three.npz", "-o", "no.h5", code=4, words=["three.npz:/NAME", "train", "test"])
        self.refuses("import", "three.npz:/tain", "-o", "no.h5", code=4, words=["did you mean 'train'"])
        self.assertFalse((self.folder / "no.h5").exists())

    def test_an_output_that_is_there_is_kept_unless_asked(self):
        path = self.write_h5("x.h5", samples=self.x, q=self.x, v=np.ones((50, 1)))
        precious = self.write("out.h5", "years of work")
        for verb in (("import", "x.h5"), ("sum", "x.h5", "--tau", "1")):
            with self.subTest(verb=verb[0]):
                precious.write_text("years of work")
                self.refuses(*verb, "-o", "out.h5", code=8, words=["out.h5 is there already", "--overwrite"])
                self.assertEqual(precious.read_text(), "years of work")
                self.gaussflow(*verb, "-o", "out.h5", "--overwrite")
                with h5py.File(precious) as file:
                    self.assertTrue("samples" in file or "s" in file)
                before = path.read_bytes()
                (self.folder / "link.h5").unlink(missing_ok=True)
                (self.folder / "link.h5").symlink_to("x.h5")
                for out in ("x.h5", "./x.h5", "link.h5"):
                    self.refuses(*verb, "-o", out, "--overwrite", code=2, words=["is the input file"])
                self.assertEqual(path.read_bytes(), before)
                self.refuses(*verb, "-o", "", code=2, words=["empty"])

    def test_the_report_names_the_source(self):
        np.savetxt(self.folder / "x.csv", self.x, delimiter=",")
        self.write_h5("x.h5", samples=self.x)
        for name, source in (("x.csv", "x.csv"), ("x.h5", "x.h5:/samples")):
            done = self.gaussflow("import", name, "-o", f"{name}.out")
            self.assertEqual(done.stderr.splitlines()[-1], f"{name}.out: 50 samples of dimension 3 from {source}")
            with h5py.File(self.folder / f"{name}.out") as file:
                self.assertEqual(file.attrs["imported_from"], source)

    def test_a_damaged_archive_is_refused(self):
        np.savez_compressed(self.folder / "x.npz", samples=self.x)
        data = bytearray((self.folder / "x.npz").read_bytes())
        data[len(data) // 2] ^= 8
        (self.folder / "x.npz").write_bytes(data)
        self.refuses("import", "x.npz", "-o", "no.h5", code=4, words=["x.npz"])


if __name__ == "__main__":
    unittest.main()
