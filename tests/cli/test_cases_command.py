"""Command lines that other programs misread."""
import os
import unittest

import h5py
import numpy as np
from support import CASES, Case

GOOD = "flow: svgd\ntarget: {gaussian: {mean: [0, 0], sd: [1, 1]}}\nparticles: 10\nstep: {count: 3, method: euler, size: 0.1}\nseed: 1\n"


class Command(Case):
    def setUp(self):
        super().setUp()
        self.write("c.yaml", GOOD)

    def test_cli_01_integers_do_not_saturate(self):
        for option, value in [("--steps", "99999999999999999999999"), ("--seed", "-1"), ("--steps", "-1"), ("--steps", "0x10"), ("--steps", "010"),
                              ("--steps", "1.5"), ("--steps", ""), ("--seed", "18446744073709551616"), ("--threads", "0"), ("--threads", "two")]:
            with self.subTest(option=option, value=value):
                self.refuses("run", "c.yaml", "-o", "never", f"{option}={value}", code=2, words=[option])
        self.refuses("run", "c.yaml", "-o", "never", "--set", "step.count=99999999999999999999999", code=3, words=["step.count"])
        self.refuses("run", "c.yaml", "-o", "never", "--set", "seed=-1", code=3, words=["seed"])
        self.assertFalse((self.folder / "never").exists())

    def test_cli_02_negative_numbers(self):
        self.gaussflow("run", "c.yaml", "-o", "r", "-q", "--steps", "0", "--set", "particles.init.normal.mean=[1,-.2]", "--set",
                       "particles.init.normal.std=0")
        np.testing.assert_array_equal(self.samples("r"), np.tile(np.float32([1, -0.2]), (10, 1)))
        for arguments in (("--tau", "-1e-3"), ("--tau=-1e-3",)):
            self.refuses("sum", CASES / "ker-01-offset.h5", "-o", "s.h5", *arguments, code=2, words=["--tau", "> 0", "-1e-3"])
        self.refuses("run", "c.yaml", "-o", "never", "--set", "kernel.tau=-1e-3", code=3, words=["kernel.tau", "-1e-3"])

    def test_cli_03_configs_that_cannot_be_read(self):
        (self.folder / "folder.yaml").mkdir()
        self.write("closed.yaml", GOOD).chmod(0)
        names = ["missing.yaml", "folder.yaml", "c.yaml/inside.yaml"]
        if os.geteuid() != 0:
            names.append("closed.yaml")  # root reads everything
        for name in names:
            for verb in (("run", name, "-o", "never"), ("validate", name)):
                with self.subTest(verb=verb):
                    done = self.refuses(*verb, code=3, words=[name])
                    self.assertEqual(len(done.stderr.splitlines()), 1)
        if os.geteuid() == 0:
            done = self.gaussflow("validate", "closed.yaml", code=None, preexec_fn=lambda: os.setuid(65534))
            self.assertIn(done.returncode, (3, 127), done.stderr)  # 127: nobody may not read the program's own libraries
        self.assertFalse((self.folder / "never").exists())

    def test_cli_04_a_finished_run_is_not_overwritten(self):
        self.gaussflow("run", "c.yaml", "-o", "r", "-q")
        before = {p.relative_to(self.folder): p.read_bytes() for p in sorted((self.folder / "r").rglob("*")) if p.is_file()}
        done = self.refuses("run", "c.yaml", "-o", "r", "--seed", "2", code=8, words=["gaussflow resume r", "-o ", "--overwrite"])
        for path, content in before.items():
            if path.name != ".lock":
                self.assertEqual((self.folder / path).read_bytes(), content, path)
        self.gaussflow("run", "c.yaml", "-o", "r", "-q", "--seed", "2", "--overwrite")
        with h5py.File(self.folder / "r/samples.h5", "r") as file:
            self.assertNotEqual(file["samples"][:].tobytes(), before[next(p for p in before if p.name == "samples.h5")])
        # Only a run is ever replaced.
        self.write("mine/thesis.txt", "years of work")
        self.refuses("run", "c.yaml", "-o", "mine", "--overwrite", code=8, words=["mine"])
        self.refuses("run", "c.yaml", "-o", "mine", "--resume", "auto", code=8, words=["mine"])
        self.assertEqual((self.folder / "mine/thesis.txt").read_text(), "years of work")

    def test_an_empty_value_is_not_the_default(self):
        """What `--steps "$STEPS"` gives in a script where the variable is not set."""
        for option in ("-o", "--output", "--steps", "--seed", "--device", "--threads", "--set", "--resume", "--max-walltime", "--progress", "--checkpoint-every"):
            with self.subTest(option=option):
                self.refuses("run", "c.yaml", option, "", code=2, words=["run: ", "empty"])
        self.refuses("run", "", code=2, words=["empty"])
        self.refuses("resume", "", code=2, words=["empty"])
        self.refuses("import", "", "-o", "x.h5", code=2, words=["empty"])
        for option in ("--tau", "--dtype", "--reduction", "--threads", "-o"):
            self.refuses("sum", CASES / "ker-01-offset.h5", option, "", code=2, words=["empty"])
        self.assertEqual([p.name for p in self.folder.iterdir()], ["c.yaml"])

    def test_unknown_words_get_a_suggestion(self):
        self.refuses("rnu", "c.yaml", code=2, words=["did you mean 'run'"])
        self.refuses("run", "c.yaml", "--stesp", "3", code=2, words=["did you mean '--steps'"])
        self.refuses("run", code=2, words=["run"])
        self.refuses(code=2, words=["no command"])
        self.refuses("--frobnicate", code=2, words=["'--frobnicate' is no option here: use run, "])
        self.refuses("run", "my", "config.yaml", code=2, words=["'config.yaml' is not expected; a name with spaces needs quotes"])
        self.refuses("run", "c.yaml", "a", "b", code=2, words=["'a', 'b'"])


if __name__ == "__main__":
    unittest.main()
