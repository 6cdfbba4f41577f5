"""What other programs lose or double when a run is stopped, damaged, changed and continued."""
import random
import signal
import subprocess
import sys
import time
import unittest

import h5py
import numpy as np
from support import Case


class Checkpoint(Case):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(1)
        self.write_h5("y.h5", samples=rng.normal(size=(80, 2)) + [1, -1])
        self.write_h5("y3.h5", samples=rng.normal(size=(80, 3)))
        self.write("mmd.yaml", "flow: {type: mmd, noise: 0.2}\ntarget: {samples: y.h5, batch: 30}\nparticles: 40\nkernel: {tau: 1}\n"
                               "step: {count: 20, method: euler, size: 0.5, horizon: 20}\noutput: {metrics: 1, trajectory: 5}\nseed: 3\n")
        self.write("svgd.yaml", "flow: svgd\ntarget: {banana: {}}\nparticles: 40\n"
                                "step: {count: 20, method: euler, size: 0.1, horizon: 20}\noutput: {metrics: 1, trajectory: 5}\nseed: 3\n")

    def arrays(self, run):
        """Everything under /state of the newest checkpoint, as bytes."""
        found = {}
        with h5py.File(self.checkpoints(run)[-1], "r") as file:
            file["state"].visititems(lambda name, item: found.update({name: item[()].tobytes()}) if isinstance(item, h5py.Dataset) else None)
        return found

    def files(self, run):
        return {p.relative_to(self.folder): p.read_bytes() for p in (self.folder / run).rglob("*") if p.is_file() and p.name not in (".lock",)}

    def test_res_01_twenty_steps_equal_ten_and_ten(self):
        for config in ("mmd", "svgd"):
            for method in ("euler", "momentum"):
                with self.subTest(config=config, method=method):
                    a, b = f"{config}-{method}", f"{config}-{method}-2"
                    self.gaussflow("run", f"{config}.yaml", "-o", a, "-q", "--set", f"step.method={method}")
                    self.gaussflow("run", f"{config}.yaml", "-o", b, "-q", "--set", f"step.method={method}", "--steps", "10")
                    self.gaussflow("resume", b, "-q", "--until-step", "20")
                    self.assertEqual(self.arrays(a), self.arrays(b))
                    self.assertEqual(self.digest(a), self.digest(b))

    def test_res_02_adagrad_keeps_its_history(self):
        for end in (11, 12, 20):
            with self.subTest(end=end):
                for config in ("mmd", "svgd"):
                    options = ["-q", "--set", "step.method=adagrad", "--set", "step.size=0.1"]
                    a, b = f"{config}-{end}", f"{config}-{end}-2"
                    self.gaussflow("run", f"{config}.yaml", "-o", a, "--steps", end, *options)
                    self.gaussflow("run", f"{config}.yaml", "-o", b, "--steps", 10, *options)
                    self.gaussflow("resume", b, "-q", "--until-step", end)
                    self.assertEqual(self.arrays(a), self.arrays(b))

    def test_res_03_damaged_checkpoints_are_refused_and_left_alone(self):
        self.gaussflow("run", "mmd.yaml", "-o", "r", "-q", "--set", "checkpoint.keep=1")
        file = self.checkpoints("r")[-1]
        good = file.read_bytes()

        def half():
            file.write_bytes(good[:len(good) // 2])

        def last_byte():
            file.write_bytes(good[:-1])

        def nan():
            with h5py.File(file, "r+") as f:
                f["state/particles"][7, 1] = np.nan

        def gone():
            with h5py.File(file, "r+") as f:
                del f["state/particles"]

        def empty():
            file.write_bytes(b"")
        for damage in (half, last_byte, nan, gone, empty):
            with self.subTest(damage=damage.__name__):
                file.write_bytes(good)
                damage()
                bad = file.read_bytes()
                for command in (("resume", "r", "--until-step", "30"), ("run", "mmd.yaml", "-o", "r", "--resume", "auto", "--steps", "30"),
                                ("run", "mmd.yaml", "-o", "r", "--resume", "require", "--steps", "30")):
                    self.refuses(*command, code=5, words=["ckpt-000000000020.h5"])
                    left = [p.read_bytes() for p in (self.folder / "r/checkpoints").iterdir()]
                    self.assertEqual(left, [bad], command)
                    for p in (self.folder / "r/checkpoints").iterdir():
                        p.rename(file)
                self.assertIn(self.gaussflow("inspect", "r", "--verify", code=None).returncode, (5, 10))

    def test_res_03_a_batch_job_started_again_does_not_bury_a_damaged_run(self):
        """The first `--resume auto` puts the damaged checkpoint aside; the second must not take that for a folder to start in."""
        self.gaussflow("run", "mmd.yaml", "-o", "r", "-q", "--set", "checkpoint.keep=1")
        file = self.checkpoints("r")[-1]
        file.write_bytes(file.read_bytes()[:-1])
        samples = (self.folder / "r/samples.h5").read_bytes()
        for _ in range(3):
            self.refuses("run", "mmd.yaml", "-o", "r", "--resume", "auto", code=5, words=["checkpoint"])
            self.assertEqual((self.folder / "r/samples.h5").read_bytes(), samples)
        for lost in (self.folder / "r/checkpoints").iterdir():
            lost.unlink()
        self.refuses("run", "mmd.yaml", "-o", "r", "--resume", "auto", code=5, words=["holds no checkpoint"])
        self.assertEqual((self.folder / "r/samples.h5").read_bytes(), samples)
        self.gaussflow("run", "mmd.yaml", "-o", "r", "-q", "--overwrite")

    def test_res_04_fifty_kills_leave_a_whole_checkpoint(self):
        """SIGKILL at random times while every step is checkpointed; each time something can be resumed, and the end is that of
        a run that nobody touched."""
        options = ["-q", "--set", "checkpoint=1steps", "--set", "output.metrics=1", "--set", "output.trajectory=7"]
        steps, kills = 800, 50
        self.gaussflow("run", "mmd.yaml", "-o", "whole", "-q", "--steps", steps, "--set", "output.metrics=1")
        rng = random.Random(5)
        done = verified = 0
        while True:
            # Once the program is up, nearly all of its time is writing. The last stretch need not write each step.
            last = ["--set", "checkpoint=100steps"] if done == kills else []
            process = self.start("run", "mmd.yaml", "-o", "r", "--resume", "auto", "--steps", steps, *options, *last)
            before = self.newest("r")
            end = time.monotonic() + 60
            while process.poll() is None and self.newest("r") <= before and time.monotonic() < end:
                time.sleep(0.001)
            if done < kills and self.newest("r") < steps - 30:
                time.sleep(rng.uniform(0, 0.015))
                process.kill()
            process.wait()
            if process.returncode == 0:
                break
            self.assertEqual(process.returncode, -signal.SIGKILL, process.stderr.read())
            done += 1
            self.assertLessEqual(done, kills)
            self.assertGreaterEqual(len(self.checkpoints("r")), 1)
            if done % 10 == 0:
                self.gaussflow("inspect", "r", "--verify")
                verified += 1
        self.assertEqual((done, verified), (kills, kills // 10))
        self.assertEqual(self.digest("whole"), self.digest("r"))
        self.assertEqual(self.arrays("whole"), self.arrays("r"))
        np.testing.assert_array_equal(self.metrics("r")["step"], np.arange(steps + 1))
        self.assertEqual([p.name for p in (self.folder / "r").rglob("*") if p.suffix in (".part", ".tmp", ".bad")], [])

    def newest(self, run):
        try:
            return max((int(p.stem.split("-")[1]) for p in (self.folder / run / "checkpoints").glob("ckpt-*.h5")), default=-1)
        except FileNotFoundError:
            return -1

    def test_res_05_a_changed_config_is_refused_with_both_values(self):
        self.gaussflow("run", "mmd.yaml", "-o", "r", "-q", "--steps", "10")
        before = self.files("r")
        for change, words in [(["kernel.tau=2"], ["kernel.tau", "1", "2"]), (["particles=41"], ["particles.count", "40", "41"]),
                              (["step.size=0.25"], ["step.size", "0.5", "0.25"]), (["step.method=heun"], ["step.method", "euler", "heun"])]:
            sets = [word for c in change for word in ("--set", c)]
            with self.subTest(change=change):
                self.refuses("run", "mmd.yaml", "-o", "r", "--resume", "auto", *sets, code=5, words=words)
                self.refuses("resume", "r", "--until-step", "20", *sets, code=5, words=words)
        text = (self.folder / "mmd.yaml").read_text()
        self.write("dim.yaml", text.replace("y.h5", "y3.h5"))
        self.refuses("run", "dim.yaml", "-o", "r", "--resume", "auto", code=5, words=["[80, 2]", "[80, 3]"])
        self.write("kind.yaml", (self.folder / "svgd.yaml").read_text())
        self.refuses("run", "kind.yaml", "-o", "r", "--resume", "auto", code=5, words=["flow", "mmd", "svgd"])
        self.assertEqual(before, self.files("r"))
        self.gaussflow("run", "mmd.yaml", "-o", "r", "-q", "--resume", "auto", "--steps", "30")
        self.assertEqual(self.status("r")["step"], 30)

    def test_res_06_each_row_and_frame_once(self):
        self.gaussflow("run", "mmd.yaml", "-o", "r", "-q", "--steps", "10")
        self.gaussflow("resume", "r", "-q", "--until-step", "20")
        np.testing.assert_array_equal(self.metrics("r")["step"], np.arange(21))
        steps = []
        for segment in sorted((self.folder / "r/trajectory").glob("*.h5")):
            with h5py.File(segment, "r") as file:
                steps.extend(file["particles/all/position/step"][:])
        self.assertEqual(steps, [0, 5, 10, 15, 20])

    def test_res_07_the_wrong_kind_of_file(self):
        self.gaussflow("run", "mmd.yaml", "-o", "r", "-q", "--set", "checkpoint.keep=1")
        file = self.checkpoints("r")[-1]
        good = file.read_bytes()
        file.write_bytes((self.folder / "y.h5").read_bytes())
        self.refuses("resume", "r", "--until-step", "30", code=5, words=["ckpt-000000000020.h5", "gaussflow-checkpoint"])
        for p in (self.folder / "r/checkpoints").iterdir():
            p.rename(file)
        file.write_bytes(good)
        self.write("c.yaml", (self.folder / "mmd.yaml").read_text().replace("y.h5", f"r/checkpoints/{file.name}"))
        done = self.refuses("run", "c.yaml", "-o", "n", code=4, words=[file.name])
        self.assertRegex(done.stderr, "samples|state/particles")
        self.refuses("resume", "y.h5", code=5, words=["y.h5"])
        self.write("r2.yaml", (self.folder / "svgd.yaml").read_text().replace("particles: 40", "particles: {init: {run: y.h5}}"))
        done = self.gaussflow("run", "r2.yaml", "-o", "n", code=None)
        self.assertIn(done.returncode, (3, 4, 5))
        self.assertIn("y.h5", done.stderr)
        self.assertFalse((self.folder / "n").exists())

    def test_res_08_steps_are_a_total(self):
        self.gaussflow("run", "mmd.yaml", "-o", "r", "-q")
        before = self.files("r")
        for command in (("resume", "r"), ("run", "mmd.yaml", "-o", "r", "--resume", "auto"), ("resume", "r", "--until-step", "15")):
            done = self.gaussflow(*command)
            self.assertIn("nothing to do", done.stderr)
            self.assertEqual(before, self.files("r"))
        self.gaussflow("resume", "r", "-q", "--until-step", "25")
        self.assertEqual(self.status("r")["step"], 25)
        self.gaussflow("resume", "r", "-q", "--extend-by", "5")
        self.assertEqual(self.status("r")["step"], 30)

    def test_res_09_streams_of_seeds(self):
        """Seeds 42 and 43 with noise: neither equal nor shifted copies of one another, start and noise alike."""
        for seed in (42, 43):
            self.gaussflow("run", "mmd.yaml", "-o", f"s{seed}", "-q", "--seed", seed, "--steps", "0", "--set", "particles=200")
        a, b = (self.samples(f"s{seed}") for seed in (42, 43))
        self.assertEqual(len(np.intersect1d(a, b)), 0)
        a, b = (np.ravel(x - x.mean(0)) / x.std() for x in (a, b))
        correlation = np.correlate(a, b, "full") / len(a)
        self.assertLess(np.abs(correlation).max(), 6 / np.sqrt(len(a)))
        self.gaussflow("run", "mmd.yaml", "-o", "r", "-q", "--steps", "10")
        self.refuses("run", "mmd.yaml", "-o", "r", "--resume", "auto", "--seed", "4", code=5, words=["seed", "3", "4"])
        self.refuses("resume", "r", "--until-step", "20", "--set", "seed=4", code=5, words=["seed", "3", "4"])
        moved = {}
        for seed in (42, 43):
            run = f"n{seed}"
            self.gaussflow("run", "mmd.yaml", "-o", run, "-q", "--set", "particles={init: {file: y.h5}}", "--seed", seed, "--steps", "1")
            moved[seed] = self.samples(run)
        self.assertEqual(len(np.intersect1d(moved[42], moved[43])), 0)

    def test_res_10_full_precision_is_stored(self):
        """Half precision inside the sums; the particles keep theirs."""
        for dtype in ("fp16", "bf16"):
            with self.subTest(dtype=dtype):
                options = ["-q", "--set", f"compute.dtype={dtype}", "--set", "compute.reduction=reweight"]
                self.gaussflow("run", "mmd.yaml", "-o", dtype, *options)
                self.gaussflow("run", "mmd.yaml", "-o", dtype + "2", *options, "--steps", "10")
                self.gaussflow("resume", dtype + "2", "-q", "--until-step", "20")
                self.assertEqual(self.arrays(dtype), self.arrays(dtype + "2"))
                with h5py.File(self.checkpoints(dtype)[-1], "r") as file:
                    self.assertEqual(file["state/particles"].dtype, np.float32)

    def test_res_11_a_checkpoint_that_another_process_holds(self):
        self.gaussflow("run", "mmd.yaml", "-o", "straight", "-q")
        self.gaussflow("run", "mmd.yaml", "-o", "r", "-q", "--steps", "10", "--set", "checkpoint.keep=1")
        file = self.checkpoints("r")[-1]
        good = file.read_bytes()
        script = "import h5py, sys; f = h5py.File(sys.argv[1], 'r+'); print('open', flush=True); sys.stdin.read()"
        holder = subprocess.Popen([sys.executable, "-c", script, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            holder.stdout.readline()
            held = file.read_bytes()
            for command in (("resume", "r", "--until-step", "20"), ("run", "mmd.yaml", "-o", "r", "--resume", "auto")):
                self.refuses(*command, code=5, words=[file.name, "open for writing in another process"])
                self.assertEqual([p.name for p in file.parent.iterdir()], [file.name])
                self.assertEqual(file.read_bytes(), held)
        finally:
            holder.communicate("")
        # What the other process left in it is its doing: a copy goes back, and nothing is lost.
        file.write_bytes(good)
        reader = subprocess.Popen([sys.executable, "-c", script.replace("'r+'", "'r'"), file], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  text=True)
        try:
            reader.stdout.readline()
            self.gaussflow("resume", "r", "-q", "--until-step", "20")
        finally:
            reader.communicate("")
        self.assertEqual(self.digest("straight"), self.digest("r"))

    def test_res_12_rotation_keeps_at_least_one(self):
        options = ["-q", "--set", "checkpoint={every: 1steps, keep: 1}"]
        self.gaussflow("run", "mmd.yaml", "-o", "whole", "-q", "--steps", "400")
        rng = random.Random(7)
        for _ in range(12):
            process = self.start("run", "mmd.yaml", "-o", "r", "--resume", "auto", "--steps", "400", *options)
            before = self.newest("r")
            self.wait_for(lambda: process.poll() is not None or self.newest("r") > before)
            time.sleep(rng.uniform(0, 0.02))
            process.kill()
            process.wait()
            self.assertGreaterEqual(len(self.checkpoints("r")), 1)
            self.gaussflow("inspect", "r", "--verify")
        self.gaussflow("run", "mmd.yaml", "-o", "r", "--resume", "auto", "--steps", "400", *options)
        self.assertEqual(self.digest("whole"), self.digest("r"))
        self.assertEqual(len(self.checkpoints("r")), 1)

    def test_res_13_nothing_bad_over_a_good_state(self):
        """x ← x + e (−x³): from 1.9 with e = 0.5 the plain step diverges after some finite ones."""
        self.write_h5("x.h5", samples=np.array([[2.1], [-0.5], [0.1]]))
        self.write("q.yaml", "flow: {type: svgd, precondition: none}\ntarget: {quartic: {dim: 1}}\nparticles: {init: {file: x.h5}}\nkernel: {tau: 1}\n"
                             "step: {count: 500, method: euler, size: 4}\ncheckpoint: 1steps\noutput: {metrics: 0}\nseed: 1\n")
        done = self.gaussflow("run", "q.yaml", "-o", "r", code=7)
        with h5py.File(self.checkpoints("r")[-1], "r") as file:
            self.assertTrue(np.isfinite(file["state/particles"][:]).all())
            last = int(file["state/step"][()])
        self.assertGreater(last, 0)
        self.assertIn(f"step {last + 1}: ", done.stderr)
        self.assertFalse((self.folder / "r/samples.h5").exists())
        self.gaussflow("inspect", "r", "--verify")
        self.refuses("resume", "r", "-q", code=7)
        self.assertEqual(self.newest("r"), last)


if __name__ == "__main__":
    unittest.main()
