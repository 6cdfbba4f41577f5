"""A run that was killed and resumed ends in the very state of one that never stopped."""
import shlex
import signal
import unittest

import h5py
import numpy as np
from support import Case

METHODS = ["euler", "momentum", "nesterov", "heun", "rk4", "adagrad", "rmsprop", "adam"]


class Resume(Case):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(1)
        self.write_h5("y.h5", x=rng.normal(size=(120, 2)) * [1, 0.5] + [1, -1])
        features = rng.normal(size=(90, 4))
        self.write_h5("logistic.h5", X=features, y=(features @ [1, -1, 0.5, 0] + rng.logistic(size=90) > 0).astype(np.uint8))
        self.write("mmd.yaml", """
flow: {type: mmd, noise: {size: 0.3, schedule: inverse_sqrt}}
target: {samples: y.h5:/x, batch: 50}
particles: 60
step: {count: 200, horizon: 200}
checkpoint: 10steps
seed: 3
""")
        self.write("svgd.yaml", """
flow: svgd
target: {logistic: logistic.h5, batch: 30}
particles: 50
step: {count: 200, horizon: 200}
checkpoint: 10steps
seed: 3
""")

    def test_kill_and_resume_equals_the_straight_run_for_each_stepper(self):
        """At 1 and at 2 threads; the straight run has 2, so equality across thread counts is in it."""
        for config in ("mmd", "svgd"):
            for method in METHODS:
                options = ["-q", "--set", f"step.method={method}", "--set", "step.size=0.05"]
                straight = f"{config}-{method}"
                self.gaussflow("run", f"{config}.yaml", "-o", straight, "--threads", 2, *options)
                for threads in (1, 2):
                    with self.subTest(config=config, method=method, threads=threads):
                        broken = f"{straight}-killed-{threads}"
                        self.assertEqual(self.kill_after_step(70, broken, "run", f"{config}.yaml", "-o", broken, "--threads", threads, *options),
                                         -signal.SIGKILL)
                        self.gaussflow("resume", broken, "-q", "--threads", threads)
                        self.assertEqual(self.digest(straight), self.digest(broken))
                        np.testing.assert_array_equal(self.samples(straight), self.samples(broken))

    def test_streamed_samples_resume_in_the_middle_of_an_epoch(self):
        stream = ["-q", "--set", "target.samples.stream=true", "--set", "target.samples.batch=7"]
        self.gaussflow("run", "mmd.yaml", "-o", "straight", *stream)
        self.assertEqual(self.kill_after_step(70, "broken", "run", "mmd.yaml", "-o", "broken", *stream), -signal.SIGKILL)
        self.gaussflow("resume", "broken", "-q")
        self.assertEqual(self.digest("straight"), self.digest("broken"))

    def test_digest_does_not_depend_on_threads(self):
        for config in ("mmd", "svgd"):
            with self.subTest(config=config):
                digests = set()
                for threads in (1, 2):
                    run = f"{config}-{threads}"
                    self.gaussflow("run", f"{config}.yaml", "-o", run, "-q", "--threads", threads)
                    digests.add(self.digest(run))
                self.assertEqual(len(digests), 1)

    def test_metrics_have_each_row_once(self):
        self.gaussflow("run", "mmd.yaml", "-o", "a", "-q", "--set", "output.metrics=1")
        self.kill_after_step(70, "b", "run", "mmd.yaml", "-o", "b", "-q", "--set", "output.metrics=1")
        self.gaussflow("resume", "b", "-q")
        for run in "ab":
            np.testing.assert_array_equal(self.metrics(run)["step"], np.arange(201))
        np.testing.assert_array_equal(self.metrics("a")["mmd2"], self.metrics("b")["mmd2"])

    def test_term_stops_with_75_and_resume_finishes(self):
        self.gaussflow("run", "svgd.yaml", "-o", "whole", "-q")
        process = self.start("run", "svgd.yaml", "-o", "r", "--set", "step.count=200")
        self.wait_for(lambda: (self.folder / "r/checkpoints/ckpt-000000000010.h5").exists())
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(), 75)
        self.assertIn("Continue with: gaussflow resume r", process.stderr.read())
        self.assertEqual(self.status("r")["status"], "incomplete")
        self.assertTrue((self.folder / "r/samples.h5").exists())
        self.gaussflow("resume", "r", "-q")
        self.assertEqual(self.digest("whole"), self.digest("r"))

    def test_a_finished_run_resumed_does_nothing_and_succeeds(self):
        self.gaussflow("run", "mmd.yaml", "-o", "r", "-q")
        before = self.digest("r")
        done = self.gaussflow("resume", "r")
        self.assertIn("nothing to do", done.stderr)
        self.assertEqual(before, self.digest("r"))

    def test_steps_are_a_total(self):
        self.gaussflow("run", "mmd.yaml", "-o", "a", "-q")
        self.gaussflow("run", "mmd.yaml", "-o", "b", "-q", "--steps", "120")
        self.gaussflow("resume", "b", "-q", "--until-step", "200")
        self.assertEqual(self.digest("a"), self.digest("b"))

    def test_changed_fixed_keys_are_refused_with_both_values(self):
        self.gaussflow("run", "mmd.yaml", "-o", "r", "-q", "--steps", "20")
        for change, words in [("kernel.tau=2", ["kernel.tau", "2"]), ("particles.count=61", ["particles.count", "60", "61"]),
                              ("seed=4", ["seed", "3", "4"]), ("flow.noise.size=0.5", ["flow.noise.size", "0.3", "0.5"])]:
            with self.subTest(change=change):
                self.refuses("resume", "r", "--until-step", "30", "--set", change, code=5, words=words)
        self.gaussflow("resume", "r", "-q", "--until-step", "30", "--set", "output.metrics=5")

    def test_run_resume_auto_starts_then_goes_on(self):
        self.gaussflow("run", "mmd.yaml", "-o", "r", "-q", "--resume", "auto", "--steps", "50")
        self.gaussflow("run", "mmd.yaml", "-o", "r", "-q", "--resume", "auto")
        self.gaussflow("run", "mmd.yaml", "-o", "straight", "-q")
        self.assertEqual(self.digest("straight"), self.digest("r"))

    def test_a_moved_folder_resumes(self):
        self.gaussflow("run", "mmd.yaml", "-o", "here/r", "-q", "--steps", "100")
        (self.folder / "there").mkdir()
        (self.folder / "here/r").rename(self.folder / "there/r")
        self.gaussflow("resume", "there/r", "-q", "--until-step", "200")
        self.gaussflow("run", "mmd.yaml", "-o", "straight", "-q")
        self.assertEqual(self.digest("straight"), self.digest("there/r"))

    def test_a_folder_that_moved_away_from_its_data_says_how_to_name_them(self):
        self.write("short.yaml", (self.folder / "mmd.yaml").read_text().replace("count: 200", "count: 20"))
        self.gaussflow("run", "short.yaml", "-o", "r", "-q")
        (self.folder / "deep er/down").mkdir(parents=True)
        (self.folder / "r").rename(self.folder / "deep er/down/r")
        done = self.refuses("resume", "deep er/down/r", "--until-step", "30", code=4, words=["y.h5 does not exist"])
        suggested = done.stderr.splitlines()[-1].split("now: ")[1]
        self.assertEqual(suggested, "gaussflow resume 'deep er/down/r' --set target.samples=NEW:/x")
        self.gaussflow(*shlex.split(suggested.replace("NEW", "y.h5"))[1:], "-q", "--until-step", "30")
        self.write("logistic.yaml", "flow: svgd\ntarget: {logistic: {file: logistic.h5, reference: moments.h5}}\nparticles: 20\nstep: 5\nseed: 1\n")
        self.write_h5("moments.h5", mean=np.zeros(5), sd=np.ones(5))
        self.gaussflow("run", "logistic.yaml", "-o", "l", "-q")
        (self.folder / "l").rename(self.folder / "deep er/l")
        done = self.refuses("resume", "deep er/l", "--until-step", "7", code=4)
        suggested = done.stderr.splitlines()[-1].split("now: ")[1]
        self.assertEqual(suggested, "gaussflow resume 'deep er/l' --set target.logistic=NEW --set target.logistic.reference=NEW")
        self.gaussflow(*shlex.split(suggested.replace("NEW", "logistic.h5", 1).replace("NEW", "moments.h5"))[1:], "-q", "--until-step", "7")

    def test_changed_target_is_refused(self):
        self.gaussflow("run", "mmd.yaml", "-o", "r", "-q", "--steps", "20")
        with h5py.File(self.folder / "y.h5", "r+") as file:
            file["x"][0, 0] += 1e-12
        self.refuses("resume", "r", "--until-step", "30", code=5, words=["target's data changed"])

    def test_damaged_checkpoints_never_lead_to_a_silent_fresh_start(self):
        self.gaussflow("run", "mmd.yaml", "-o", "r", "-q", "--steps", "30")
        for checkpoint in self.checkpoints("r"):
            data = bytearray(checkpoint.read_bytes())
            data[len(data) // 2] ^= 1
            checkpoint.write_bytes(data)
        for _ in range(2):  # the first one renames them
            self.refuses("resume", "r", code=5)
            self.refuses("run", "mmd.yaml", "-o", "r", "--resume", "auto", code=5)
        self.assertEqual(len(list((self.folder / "r/checkpoints").glob("*.bad"))), 2)
        self.assertTrue((self.folder / "r/samples.h5").exists())

    def test_a_flipped_bit_falls_back_to_the_checkpoint_before(self):
        self.gaussflow("run", "mmd.yaml", "-o", "a", "-q")
        self.gaussflow("run", "mmd.yaml", "-o", "b", "-q", "--steps", "100", "--set", "checkpoint.keep=3")
        newest = self.checkpoints("b")[-1]
        data = bytearray(newest.read_bytes())
        with h5py.File(newest, "r") as file:
            offset = file["state/particles"].id.get_offset()
        data[offset + 5] ^= 1
        newest.write_bytes(data)
        done = self.gaussflow("resume", "b", "--until-step", "200")
        self.assertIn("kept as", done.stderr)
        self.assertEqual(self.digest("a"), self.digest("b"))


if __name__ == "__main__":
    unittest.main()
