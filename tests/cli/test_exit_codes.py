"""Every exit code of docs/running.md but 1 is provoked, and what a run promises about full disks, locks and signals."""
import os
import resource
import shutil
import signal
import subprocess
import unittest

import h5py
import numpy as np
from support import CASES, PROGRAM, Case


class ExitCodes(Case):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(1)
        self.write_h5("y.h5", samples=rng.normal(size=(60, 2)))
        self.write("m.yaml", "flow: {type: mmd, noise: 0.1}\ntarget: {samples: y.h5}\nparticles: 40\nkernel: {tau: 1}\n"
                             "step: {count: 50, size: 0.5, horizon: 50}\nseed: 1\n")
        # Long enough to be met by a signal; a checkpoint every 20 steps says that it is under way.
        self.write("long.yaml", "flow: svgd\ntarget: {banana: {}}\nparticles: 60\nstep: {count: 1000000, horizon: 400}\n"
                                "checkpoint: 20steps\noutput: {metrics: 0, trajectory: 0}\nseed: 1\n")

    def steps(self, run):
        folder = self.folder / run / "checkpoints"
        return sorted(int(p.stem.split("-")[1]) for p in folder.glob("ckpt-*.h5")) if folder.exists() else []

    def under_way(self, run, config="long.yaml"):
        process = self.start("run", config, "-o", run, "-q")
        self.wait_for(lambda: process.poll() is not None or max(self.steps(run), default=0) > 0)
        self.assertIsNone(process.poll())
        return process

    def test_0_finished_and_nothing_to_do(self):
        self.gaussflow("run", "m.yaml", "-o", "r", "-q")
        self.gaussflow("resume", "r")

    def test_2_command_line_and_reductions_that_cannot(self):
        self.refuses("run", "m.yaml", "--frobnicate", code=2, words=["--frobnicate"])
        case = CASES / "ker-02-two-clusters.h5"
        done = self.refuses("sum", case, "-o", "s.h5", "--reduction", "prescale", code=2, words=["prescale"])
        self.assertRegex(done.stderr, r"\d")
        self.refuses("sum", case, "-o", "s.h5", "--backend", "cudnn", "--reduction", "reweight", code=2, words=["cudnn"])

    def test_3_config(self):
        self.refuses("run", "nowhere.yaml", code=3, words=["nowhere.yaml"])

    def test_4_input(self):
        self.write_h5("nan.h5", samples=np.array([[0.0, 1], [np.nan, 2]]))
        for name in ("nan.h5", "gone.h5"):
            self.refuses("run", "m.yaml", "-o", "r", "--set", f"target.samples.file={name}", code=4, words=[name])

    def test_5_checkpoint(self):
        self.refuses("resume", "nowhere", code=5, words=["nowhere"])
        self.refuses("run", "m.yaml", "-o", "r", "--resume", "require", code=5, words=["there is no checkpoint in r"])

    def check_failed_write(self, run, **options):
        done = self.gaussflow("run", "m.yaml", "-o", run, "-q", "--resume", "auto", "--checkpoint-every", "5steps", code=6, **options)
        self.assertIn(run, done.stderr)
        self.gaussflow("inspect", run, "--verify")
        names = [p.name for p in (self.folder / run).rglob("*") if p.is_file()]
        known = ("config.yaml", "config.resolved.yaml", "provenance.json", "status.json", "samples.h5", "metrics.csv", "log.jsonl", ".lock")
        strange = [n for n in names if n not in known and not (n.startswith(("ckpt-", "seg-")) and n.endswith(".h5"))]
        self.assertEqual(strange, [])
        return done

    def test_6_a_limit_on_the_size_of_files(self):
        """No file may grow beyond 4 kB: exit 6, nothing half-written, the checkpoint before stands and is gone on with."""
        self.gaussflow("run", "m.yaml", "-o", "straight", "-q")
        self.gaussflow("run", "m.yaml", "-o", "r", "-q", "--steps", "20")
        before = self.steps("r")
        self.check_failed_write("r", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
        self.assertEqual(self.steps("r"), before)
        self.gaussflow("run", "m.yaml", "-o", "r", "-q", "--resume", "auto")
        self.assertEqual(self.digest("straight"), self.digest("r"))
        np.testing.assert_array_equal(self.metrics("r")["step"], self.metrics("straight")["step"])

    @unittest.skipUnless(os.geteuid() == 0, "only root can mount a small disk")
    def test_6_a_full_disk(self):
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", disk], capture_output=True, text=True)
        if mounted.returncode != 0:
            self.skipTest(f"no small disk: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", disk], capture_output=True)
        self.gaussflow("run", "m.yaml", "-o", "straight", "-q")
        self.gaussflow("run", "m.yaml", "-o", "disk/r", "-q", "--steps", "20")
        ballast = disk / "ballast"
        try:
            with open(ballast, "wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))
        except OSError:  # full, as it should be
            pass
        done = self.check_failed_write("disk/r")
        self.assertRegex(done.stderr, "room|space|free")
        self.assertIn(20, self.steps("disk/r"))
        ballast.unlink()
        self.gaussflow("run", "m.yaml", "-o", "disk/r", "-q", "--resume", "auto")
        self.assertEqual(self.digest("straight"), self.digest("disk/r"))
        np.testing.assert_array_equal(self.metrics("disk/r")["step"], self.metrics("straight")["step"])

    def test_6_no_folder_to_write_in(self):
        self.write("file", "text")
        self.refuses("run", "m.yaml", "-o", "file/r", code=6, words=["file/r"])
        self.refuses("sum", CASES / "ker-01-offset.h5", "-o", "nowhere/s.h5", code=6, words=["nowhere"])

    def test_7_numerical(self):
        self.write("q.yaml", "flow: {type: svgd, precondition: none}\ntarget: {quartic: {dim: 1}}\n"
                             f"particles: {{init: {{file: '{CASES}/svg-06-steep-start.h5:/x'}}}}\n"
                             "step: {count: 50, method: euler, size: 0.1}\nseed: 1\n")
        self.gaussflow("run", "q.yaml", "-o", "r", code=7)
        self.assertEqual(self.status("r")["exit_code"], 7)

    def test_8_two_processes_in_one_folder(self):
        """20 times two at once: one runs, the other ends with 8 and names the folder."""
        for i in range(20):
            run = f"r{i}"
            pair = [self.start("run", "m.yaml", "-o", run, "-q", "--set", "checkpoint=1steps", "--steps", "20") for _ in range(2)]
            texts = [process.communicate()[1] for process in pair]
            codes = [process.returncode for process in pair]
            self.assertEqual(sorted(codes), [0, 8], texts)
            self.assertIn(run, texts[codes.index(8)])
            self.assertEqual(self.status(run)["status"], "finished")

    def test_9_device_and_memory(self):
        self.refuses("run", "m.yaml", "-o", "r", "--device", "cuda:99", code=9, words=["cuda"])
        if shutil.which("nvidia-smi") is None:
            self.refuses("run", "m.yaml", "-o", "r", "--device", "cuda", code=9, words=["cuda"])
        self.refuses("run", "m.yaml", "-o", "r", "--set", "particles.count=1000000000", code=9, words=["memory"],
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30)))
        self.refuses("import", f"{CASES / 'hdf-24-declared-huge.h5'}:/samples", "-o", "o.h5", code=9, words=["memory"])

    def test_10_findings(self):
        self.gaussflow("run", "m.yaml", "-o", "r", "-q")
        self.gaussflow("inspect", "r", "--verify")
        file = self.checkpoints("r")[0]
        data = bytearray(file.read_bytes())
        with h5py.File(file, "r") as f:
            data[f["state/particles"].id.get_offset() + 3] ^= 4
        file.write_bytes(data)
        done = self.gaussflow("inspect", "r", "--verify", code=10)
        self.assertIn(file.name, done.stderr)

    def test_75_signals_stop_with_a_checkpoint(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(signal=number.name):
                run = number.name
                process = self.under_way(run)
                process.send_signal(number)
                _, text = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 75, text)
                self.assertIn(number.name, text)
                self.assertIn(f"gaussflow resume {run}", text)
                self.assertEqual((self.status(run)["status"], self.status(run)["exit_code"]), ("incomplete", 75))
                self.assertEqual(self.steps(run)[-1], self.status(run)["step"])
                self.gaussflow("inspect", run, "--verify")

    def test_75_wall_time(self):
        done = self.gaussflow("run", "long.yaml", "-o", "r", "-q", "--max-walltime", "1s", code=75, timeout=60)
        self.assertIn("wall time", done.stderr)
        steps = self.status("r")["step"] + 30
        self.gaussflow("run", "long.yaml", "-o", "r", "-q", "--resume", "auto", "--steps", steps)
        self.gaussflow("run", "long.yaml", "-o", "straight", "-q", "--steps", steps, "--set", "checkpoint=never")
        self.assertEqual(self.digest("straight"), self.digest("r"))

    def test_128_and_n_for_a_second_signal(self):
        """A step of many particles lasts long enough for the second signal to come before its end."""
        self.write("slow.yaml", "flow: svgd\ntarget: {banana: {}}\nparticles: 20000\nstep: {count: 100000}\ncheckpoint: 1steps\n"
                                "output: {metrics: 0, trajectory: 0}\nseed: 1\n")
        process = self.under_way("r", config="slow.yaml")
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        process.wait(60)
        # Two signals that are pending together are delivered in the order of their numbers.
        self.assertIn(process.returncode, (128 + signal.SIGINT, 128 + signal.SIGTERM))
        self.gaussflow("inspect", "r", "--verify")

    def test_usr1_writes_a_checkpoint_and_goes_on(self):
        self.write("never.yaml", (self.folder / "long.yaml").read_text().replace("checkpoint: 20steps", "checkpoint: never"))
        process = self.start("run", "never.yaml", "-o", "r", "-q")
        self.wait_for(lambda: (self.folder / "r/status.json").exists())
        for _ in range(2):
            before = max(self.steps("r"))
            process.send_signal(signal.SIGUSR1)
            self.wait_for(lambda: max(self.steps("r"), default=0) > before)
            self.assertIsNone(process.poll())
        process.terminate()
        self.assertEqual(process.wait(60), 75)

    def test_a_full_stdout_is_said(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([PROGRAM, "describe"], stdout=full, stderr=subprocess.PIPE, text=True, cwd=self.folder)
        self.assertEqual(done.returncode, 6)
        self.assertIn("standard output", done.stderr)


if __name__ == "__main__":
    unittest.main()
