"""`inspect` shows what a file holds, one line a thing, whatever is in it."""
import json
import unittest

import h5py
import numpy as np
from support import SOURCE, Case


class Inspect(Case):
    def test_names_and_long_attributes_are_readable(self):
        self.write("c.yaml", "flow: svgd\ntarget: banana\nparticles: 10\nstep: 2\nseed: 1\n")
        self.gaussflow("run", "c.yaml", "-o", "r", "-q")
        lines = self.gaussflow("inspect", "r/samples.h5").stdout.splitlines()
        names = next(i for i, line in enumerate(lines) if line.startswith("/names"))
        self.assertEqual(lines[names + 1].strip(), "x1, x2")
        self.assertNotIn("not samples", "\n".join(lines))
        self.assertRegex("\n".join(lines), r"(?m)^    @config +name: c … \(\d+ lines\)$")
        for line in lines:
            self.assertRegex(line, r"^(/|    @|    \S)", "each line is a path or belongs to one")
            self.assertEqual(line, line.rstrip())
        self.assertEqual([e["texts"] for e in json.loads(self.gaussflow("inspect", "r/samples.h5", "--json").stdout)["entries"] if e["path"] == "/names"],
                         [["x1", "x2"]])
        lines = self.gaussflow("inspect", SOURCE / "data/breast_cancer.h5").stdout
        self.assertIn("mean radius, mean texture", lines)

    def test_any_encoding_and_any_object(self):
        with h5py.File(self.folder / "odd.h5", "w") as file:
            file["samples"] = np.zeros((3, 2))
            file["latin"] = np.array([b"caf\xe9", b"\x1b[31mred"])
            file.attrs["who"] = np.bytes_(b"Ren\xe9")
            file["soft"] = h5py.SoftLink("/nowhere")
            file["out"] = h5py.ExternalLink("other.h5", "/x")
            file["mask"] = np.zeros(3, bool)
            file["long"] = np.array([b"w" * 2000] * 50)
            file.create_dataset("elsewhere", (1,), "S6", external=[(str(self.write("private.txt", "secret")), 0, 6)])
        done = self.gaussflow("inspect", "odd.h5")
        self.assertNotIn("\x1b", done.stdout)
        self.assertIn("not samples: holds booleans", done.stdout)
        self.assertRegex(done.stdout, r"/soft +-> /nowhere")
        self.assertNotIn("secret", done.stdout)
        entries = {e["path"]: e for e in json.loads(self.gaussflow("inspect", "odd.h5", "--json").stdout)["entries"]}
        self.assertEqual(entries["/elsewhere"]["texts"], [])
        self.assertEqual(len(entries["/latin"]["texts"]), 2)

    def flip(self, file, byte):
        data = bytearray(file.read_bytes())
        data[byte] ^= 4
        file.write_bytes(data)

    def test_verify_says_what_a_file_carries(self):
        self.write("c.yaml", "flow: svgd\ntarget: banana\nparticles: 10\nstep: 2\nseed: 1\n")
        self.gaussflow("run", "c.yaml", "-o", "r", "-q")
        self.write_h5("foreign.h5", samples=np.zeros((3, 2)))
        self.assertIn("carries no digest, nothing to verify", self.gaussflow("inspect", "foreign.h5", "--verify").stdout)
        for name, source, held in (("a.h5", self.checkpoints("r")[-1], "seal, state"), ("s.h5", self.folder / "r/samples.h5", "seal, /samples, /weights"),
                                   ("t.h5", next((self.folder / "r/trajectory").glob("seg-*")), "seal, frames")):
            file = self.write(name, source.read_bytes())
            found = self.gaussflow("inspect", name, "--verify").stdout.splitlines()[-1]
            self.assertEqual(set(found.removeprefix("verified: ").split(", ")), set(held.split(", ")))
            data = source.read_bytes()
            for byte in (3, 24, 600, data.find(b"format") if b"format" in data[512:] else len(data) - 1):
                file.write_bytes(data)
                self.flip(file, byte)
                self.assertIn("damaged", self.gaussflow("inspect", name, "--verify", code=10).stderr)

    def test_verify_of_a_run_lists_each_problem_once(self):
        self.write("c.yaml", "flow: svgd\ntarget: banana\nparticles: 10\nstep: 2\nseed: 1\n")
        self.gaussflow("run", "c.yaml", "-o", "r", "-q")
        samples = self.folder / "r/samples.h5"
        for file in (samples, *self.checkpoints("r")):
            self.flip(file, 700)
            problems = self.gaussflow("inspect", "r", "--verify", code=10).stderr.splitlines()
            self.assertEqual(len(problems), len(set(problems)))
            self.assertEqual(sum(file.name in line for line in problems), 1, problems)
        self.assertEqual(len(problems), 1 + len(self.checkpoints("r")))
        samples.unlink()
        self.assertIn("samples.h5 is missing", self.gaussflow("inspect", "r", "--verify", code=10).stderr)

    def test_names_from_a_file_reach_no_terminal_raw(self):
        with h5py.File(self.folder / "odd.h5", "w") as file:
            file["a\x1b[31m"] = np.zeros((3, 2))
            file["b\x1b[32m"] = np.zeros((3, 2))
            file["names"] = ["x\x1b[33m", "y"]
            file.attrs["who\x1b[34m"] = 1
        for verb in (("inspect", "odd.h5"), ("import", "odd.h5", "-o", "o.h5"), ("import", "odd.h5:/c", "-o", "o.h5")):
            done = self.gaussflow(*verb, code=None)
            self.assertNotIn("\x1b", done.stdout + done.stderr)
            self.assertIn("\\x1b[31m", done.stdout + done.stderr)

    def test_a_narrow_terminal_is_filled_and_not_passed(self):
        self.write("c.yaml", "flow: svgd\ntarget: banana\nparticles: 50\nstep: 2\nseed: 1\n")
        self.gaussflow("run", "c.yaml", "-o", "r", "-q")

        def picture(columns):
            text = self.gaussflow("inspect", "r", env={"COLUMNS": str(columns)}).stdout
            return text[text.index("mean         sd"):].splitlines()
        for columns in (36, 40, 60):
            widths = [len(line) for line in picture(columns)]
            self.assertLessEqual(max(widths), columns)
            self.assertGreaterEqual(max(widths), min(columns, 68) - 2)
        self.assertEqual(picture(80), picture(200))
        self.assertIn("  |" + 64 * " " + "|", picture(80))


if __name__ == "__main__":
    unittest.main()
