"""What is told before, during and beside a run: estimates, progress, units, other builds."""
import hashlib
import json
import os
import pty
import re
import struct
import fcntl
import subprocess
import termios
import time
import unittest

import h5py
import numpy as np
from support import PROGRAM, SOURCE, Case

SVGD = "flow: svgd\ntarget: {gaussian: {mean: [0, 0], sd: [1, 1]}}\nparticles: 20\nstep: 20\nseed: 1\n"


class Estimates(Case):
    def test_validate_and_dry_run_take_seconds_for_a_million_particles(self):
        self.write_h5("y.h5", samples=np.random.default_rng(1).normal(size=(100_000, 2)))
        for flow, target in (("svgd", "banana"), ("mmd", "{samples: y.h5}")):
            self.write("big.yaml", f"flow: {flow}\ntarget: {target}\nparticles: 1000000\nstep: 100\nseed: 1\n")
            for verb in (("validate",), ("run", "--dry-run")):
                with self.subTest(flow=flow, verb=verb):
                    begun = time.monotonic()
                    done = self.gaussflow(verb[0], "big.yaml", *verb[1:])
                    self.assertLess(time.monotonic() - begun, 30)  # two whole steps take minutes
                    self.assertRegex(done.stderr, r"1000000 particles .* estimated from steps of \d+ particles")
        self.assertFalse((self.folder / "runs").exists())

    def test_the_estimated_time_is_of_the_right_order(self):
        self.write("c.yaml", SVGD.replace("particles: 20", "particles: 6000").replace("step: 20", "step: 10"))
        estimate = json.loads(self.gaussflow("validate", "c.yaml", "--json").stdout)["estimate"]["seconds"]
        self.gaussflow("run", "c.yaml", "-o", "r", "-q", "--set", "output.metrics=10")
        rows = self.metrics("r")
        name = next(n for n in rows.dtype.names if "wall" in n)
        took = float(rows[name][-1] - rows[name][0])
        self.assertLess(estimate / took, 20)
        self.assertGreater(estimate / took, 1 / 20)

    def test_more_particles_than_memory_are_refused_by_every_verb(self):
        self.write("huge.yaml", SVGD.replace("particles: 20", "particles: 1000000000"))
        for verb in (("validate",), ("run", "--dry-run"), ("run",)):
            with self.subTest(verb=verb):
                self.refuses(verb[0], "huge.yaml", *verb[1:], code=9, words=["particles.count"])


class Units(Case):
    def test_coefficients_of_standardised_features_are_told(self):
        config = SOURCE / "configs/quickstart.yaml"
        words = "coefficients of standardised features"
        done = self.gaussflow("run", config, "-o", "r", "--steps", "10")
        self.assertIn(words, done.stderr)
        self.assertIn(words, self.gaussflow("inspect", "r").stdout)
        plain = self.gaussflow("run", config, "-o", "p", "--steps", "10", "--set", "target.standardize=false", code=None)
        self.assertNotIn(words, plain.stderr)
        self.assertNotIn(words, self.gaussflow("inspect", "p").stdout)

    def test_times_are_printed_without_the_rounding_of_their_sum(self):
        self.write("c.yaml", SVGD.replace("step: 20", "step: {count: 384, size: 0.3, schedule: constant, method: euler}"))
        self.gaussflow("run", "c.yaml", "-q")
        self.assertRegex(self.gaussflow("inspect", "runs/c").stdout, r"(?m)^ *time +115\.2$")


class Resuming(Case):
    def setUp(self):
        super().setUp()
        self.write("c.yaml", SVGD)
        self.gaussflow("run", "c.yaml", "-q", "-o", "r", "--threads", "1")

    def reseal(self, path):
        """The seal as docs/file_formats.md describes it."""
        data = path.read_bytes()
        head = data[:512].split(b"sha256 ")[0]
        body = data[512:]
        head = re.sub(rb"bytes \d+", b"bytes %d" % len(data), head)
        digest = hashlib.sha256(struct.pack("<Q", len(head)) + head + body).hexdigest().encode()
        path.write_bytes((head + b"sha256 " + digest + b"\n").ljust(512, b"\0") + body)

    def test_another_build_is_told_in_one_line(self):
        same = self.gaussflow("resume", "r", "--extend-by", "1", "--threads", "1").stderr
        self.assertNotIn("last bits", same)
        with h5py.File(self.checkpoints("r")[-1], "r+") as file:
            file.attrs["program_version"] = "0.0.7"
            revision = file.attrs["revision"]
        self.reseal(self.checkpoints("r")[-1])
        done = self.gaussflow("resume", "r", "--extend-by", "1", "--threads", "1")
        lines = [line for line in done.stderr.splitlines() if "last bits" in line]
        self.assertEqual(len(lines), 1, done.stderr)
        now = self.gaussflow("--version").stdout.split()[1]
        revision = revision.decode() if isinstance(revision, bytes) else revision
        for word in ("gaussflow 0.0.7", f"gaussflow {now}", revision):
            self.assertIn(word, lines[0])
        # the new checkpoint is this program's own
        self.assertNotIn("last bits", self.gaussflow("resume", "r", "--extend-by", "1", "--threads", "1").stderr)

    def test_other_threads_and_keys_of_class_bits_are_told(self):
        done = self.gaussflow("resume", "r", "--extend-by", "1", "--threads", "2", "--set", "compute.reduction=direct")
        self.assertIn("note: threads: 1 so far, 2 now: the last bits may differ", done.stderr)
        self.assertIn("note: compute.reduction changed from auto to direct: the last bits may differ", done.stderr)

    def test_a_step_that_is_behind_is_said_to_be(self):
        before = self.digest("r")
        for step, words in ((10, "--until-step 10 is before it"), (20, "--until-step 20 is that step")):
            done = self.gaussflow("resume", "r", "--until-step", step)
            for word in ("at step 20", words, "--extend-by"):
                self.assertIn(word, done.stderr)
        self.assertEqual(before, self.digest("r"))


class Watching(Case):
    def setUp(self):
        super().setUp()
        self.write("c.yaml", SVGD.replace("step: 20", "step: 3000").replace("particles: 20", "particles: 300"))

    def on_terminal(self, columns, *options):
        """What a terminal of so many columns is sent, cut into lines."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen([PROGRAM, "run", "c.yaml", "-o", f"r{columns}", *options], cwd=self.folder, stderr=theirs,
                                   env={**os.environ, "TERM": "xterm"})
        os.close(theirs)
        sent = b""
        try:
            while chunk := os.read(ours, 65536):
                sent += chunk
        except OSError:  # the other end is closed
            pass
        os.close(ours)
        self.assertEqual(process.wait(), 0)
        return [line.replace("\x1b[K", "") for line in re.split(r"[\r\n]+", sent.decode())]

    def test_the_bar_fits_the_terminal_and_cuts_no_word(self):
        for columns in (200, 80, 40, 24, 12):
            with self.subTest(columns=columns):
                shown = [line for line in self.on_terminal(columns) if re.match(r"\[[# ]*\] \[|\[ *\d+%\]", line)]
                self.assertGreater(len(shown), 1)
                for line in shown:
                    self.assertLess(len(line), columns)
                    self.assertRegex(line, r"^(\[#* *\] )?\[ *\d+%\]( step \d+/3000(  ETA [\d.]+ (s|min \d+ s))?(  [\d.e+]+ steps/s)?(  ksd2 [\d.e+-]+  tau [\d.e+-]+)?)?$")
                if columns >= 80:
                    self.assertTrue(all(re.match(r"\[#* *\] ", line) for line in shown), shown)
                    filled = [line.split("]")[0].count("#") / (line.index("]") - 1) for line in shown]
                    percent = [int(re.search(r"(\d+)%", line)[1]) / 100 for line in shown]
                    np.testing.assert_allclose(filled, percent, atol=0.14)

    def test_a_wrong_mode_is_refused_also_when_quiet(self):
        for verb in (("run", "c.yaml"), ("resume", "nowhere")):
            for quiet in ((), ("-q",)):
                self.refuses(*verb, *quiet, "--progress", "bra", code=2, words=["--progress", "did you mean 'bar'"])

    def test_keys_that_change_nothing_are_said(self):
        """A warning, not an error: a file may be written for several steppers, set one after the other."""
        rng = np.random.default_rng(0)
        self.write_h5("y.h5", samples=rng.normal(size=(40, 2)))
        mmd = "flow: {type: mmd%s}\ntarget: {samples: {file: y.h5, batch: %d}}\nparticles: 20\nstep: {count: 2%s}\nseed: 1\n%s"

        def warned(name, text, *flags):
            self.write(f"{name}.yaml", text)
            done = self.gaussflow("validate", f"{name}.yaml", *flags, "--json")
            return [w for w in json.loads(done.stdout)["warnings"] if "no effect" in w]

        def one(name, text, message, *flags):
            found = warned(name, text, *flags)
            self.assertEqual(len(found), 1, found)
            self.assertIn(message, found[0])
        one("mu", mmd % ("", 40, ", method: adam, mu: 0.9", ""),
            "mu.yaml:4:32: step.mu has no effect: it is for step.method momentum, here it is adam\n    4 | step:")
        one("auto", mmd % ("", 40, ", epsilon: 0.1", ""), "step.epsilon has no effect: it is for step.method adagrad, rmsprop or adam, here it is euler")
        one("set", mmd % ("", 40, ", method: momentum, mu: 0.9", ""), "momentum, here it is nesterov", "--set", "step.method=nesterov")
        one("kappa", mmd % ("", 40, "", "compute: {kappa: 4}\n"), "compute.kappa has no effect: it is for compute.reduction reweight, here it is auto, which never chooses that")
        one("refresh", mmd % ("", 40, "", "kernel: {tau: 2, refresh: 5}\n"), "kernel.refresh has no effect: tau is fixed at 2, no rule chooses it")
        one("off", mmd % (", noise: {schedule: linear}", 40, "", ""), "flow.noise.schedule has no effect: size is 0, there is no noise")
        one("k0", mmd % (", noise: {size: 1, k0: 3}", 40, "", ""), "flow.noise.k0 has no effect: it is for schedule inverse_sqrt")
        self.assertEqual(len(warned("equal", mmd % (", anneal: {from: 4, to: 4}", 40, "", ""))), 2)
        for name, text, flags in (("plain", mmd % ("", 40, "", ""), ()),
                                  ("right", mmd % (", noise: {size: 1, schedule: inverse_sqrt, k0: 3}", 40, ", method: momentum, mu: 0.9", "compute: {reduction: reweight, kappa: 4}\n"), ()),
                                  ("autograd", mmd % (", gradient: autograd", 40, "", "compute: {kappa: 4}\n"), ()),
                                  ("whitened", "flow: svgd\ntarget: banana\nparticles: 20\nkernel: {tau: 2, refresh: 5}\nstep: 2\nseed: 1\n", ()),
                                  ("auto2", mmd % ("", 40, "", "kernel: {tau: 2, refresh: auto}\n"), ())):
            self.assertEqual(warned(name, text, *flags), [], name)
        # The resolved config names every key at its default; and what was said is in the log.
        self.write("m.yaml", mmd % ("", 41, ", mu: 0.9", "kernel: 2\n"))
        done = self.gaussflow("run", "m.yaml", "-o", "r", "-q")
        batch = "target.samples.batch = 41 has no effect: the data have 40 rows, and every step sees all of them"
        self.assertIn(f"note: {batch}\n", done.stderr)
        log = [json.loads(line) for line in (self.folder / "r/log.jsonl").read_text().splitlines()]
        self.assertIn(batch, [line["text"] for line in log if line["event"] == "note"])
        self.assertTrue(any("step.mu has no effect" in line["text"] for line in log if line["event"] == "warning"))
        self.assertNotIn("no effect", self.gaussflow("resume", "r", "--extend-by", "1").stderr.replace(batch, ""))
        again = self.gaussflow("run", "r/config.resolved.yaml", "-o", "again", "-q")
        self.assertEqual(again.stderr.count("no effect"), 2, again.stderr)  # mu and the batch, as before


if __name__ == "__main__":
    unittest.main()
