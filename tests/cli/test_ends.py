"""Ends of a run that nobody chose: a terminal that is gone, a kill between the last checkpoint and the samples, a refusal."""
import json
import subprocess
import unittest

import numpy as np
from support import PROGRAM, Case


class Ends(Case):
    def setUp(self):
        super().setUp()
        self.write("q.yaml", "flow: svgd\ntarget: {gaussian: {mean: [1, 2], sd: [1, 3]}}\nparticles: 50\nstep: 200\nseed: 1\n")

    def test_a_lost_or_full_stderr_ends_no_run(self):
        self.gaussflow("run", "q.yaml", "-o", "straight", "-q")
        with open("/dev/full", "w") as full:
            done = subprocess.run([PROGRAM, "run", "q.yaml", "-o", "full"], cwd=self.folder, stderr=full, timeout=300)
        self.assertEqual(done.returncode, 0)
        lost = subprocess.Popen([PROGRAM, "run", "q.yaml", "-o", "lost", "--progress", "plain"], cwd=self.folder, stderr=subprocess.PIPE)
        lost.stderr.close()
        self.assertEqual(lost.wait(300), 0)
        for run in ("full", "lost"):
            self.assertEqual(self.digest(run), self.digest("straight"))
            self.assertEqual(self.status(run)["status"], "finished")
        with open("/dev/full", "w") as full:  # the message is lost, the code is not
            done = subprocess.run([PROGRAM, "run", "absent.yaml"], cwd=self.folder, stderr=full, timeout=300)
        self.assertEqual(done.returncode, 3)

    def test_a_full_stdout_is_an_error_for_what_goes_there(self):
        with open("/dev/full", "w") as full:
            for verb in (["describe", "--markdown"], ["describe", "--schema"], ["describe", "mmd"]):
                done = subprocess.run([PROGRAM, *verb], cwd=self.folder, stdout=full, stderr=subprocess.PIPE, text=True, timeout=300)
                self.assertEqual(done.returncode, 6, done.stderr)
                self.assertIn("cannot write to standard output", done.stderr)

    def test_a_run_killed_between_its_last_checkpoint_and_its_samples_gets_its_end(self):
        self.gaussflow("run", "q.yaml", "-o", "r", "-q")
        samples = self.samples("r")
        for command in (["resume", "r"], ["run", "q.yaml", "-o", "r", "--resume", "auto"]):
            (self.folder / "r/samples.h5").unlink()
            status = self.status("r")
            del status["exit_code"], status["verdict"]
            (self.folder / "r/status.json").write_text(json.dumps({**status, "status": "running"}))
            done = self.gaussflow(*command)
            np.testing.assert_array_equal(self.samples("r"), samples)
            self.assertEqual(self.status("r")["status"], "finished")
            self.assertIn("result   r/samples.h5", done.stderr)
        self.assertIn("nothing to do", self.gaussflow("resume", "r").stderr)

    def test_a_refused_run_leaves_no_folder_in_the_way(self):
        self.refuses("run", "q.yaml", "-o", "r", "--set", "flow=mmd", code=3, words=["flow: svgd"])
        self.assertFalse((self.folder / "r").exists())
        self.write_h5("y.h5", samples=np.random.default_rng(0).normal(size=(50, 2)))
        self.write("m.yaml", "flow: mmd\ntarget: {samples: y.h5}\nparticles: 20\nstep: 5\nseed: 1\n")
        self.refuses("run", "m.yaml", "-o", "r", "--set", "kernel.tau=1e-60", code=3, words=["tau = 1e-60", "particles.dtype: fp64"])
        self.refuses("run", "m.yaml", "-o", "r", "--set", "compute.threads=4096", code=3, words=["4096 threads"])
        self.refuses("run", "m.yaml", "-o", "r", "--device", "gpu", code=3, words=["compute.device must be cpu, cuda or cuda:i, got 'gpu'"])
        self.assertFalse((self.folder / "r").exists())
        self.gaussflow("run", "q.yaml", "-o", "r", "-q")

    def test_no_set_is_dropped_in_silence(self):
        for pair in (["kernel.tau=1", "kernel.sigma=2"], ["kernel.tau=1", "kernel.bandwidth=median"]):
            with self.subTest(pair):
                self.refuses("validate", "q.yaml", "--set", pair[0], "--set", pair[1], code=3, words=["four ways to say one thing"])
        for options in (["--set", "step=adam", "--steps", "3"], ["--set", "step.count=3", "--set", "step=adam"]):
            with self.subTest(options):
                self.refuses("run", "q.yaml", "-o", "r", *options, code=3, words=["adam"])
        self.gaussflow("run", "q.yaml", "-o", "r", "-q", "--set", "step=100", "--steps", "3")
        self.assertEqual(self.status("r")["step"], 3)


if __name__ == "__main__":
    unittest.main()
