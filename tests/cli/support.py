"""Drives the program as its users do: a command line in, files and messages out."""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import h5py
import numpy as np

PROGRAM = os.environ["GAUSSFLOW"]
SOURCE = Path(os.environ["GAUSSFLOW_SOURCE"])
CASES = SOURCE / "tests" / "data" / "cases"
MANIFEST = json.loads((CASES / "manifest.json").read_text()) if (CASES / "manifest.json").exists() else []


def cases(*names):
    """Rows of the manifest whose id is one of `names`; each names a file in CASES and what is right for it."""
    rows = [row for row in MANIFEST if row["id"] in names]
    assert rows, f"no case {names}"
    return rows


class Case(unittest.TestCase):
    """Each test works in a fresh folder and starts the program with `run`."""

    maxDiff = None

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="gaussflow-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def gaussflow(self, *arguments, code=0, env=None, timeout=300, cwd=None, preexec_fn=None):
        """Runs the program and checks its exit code; returns the finished process with text output."""
        done = subprocess.run([PROGRAM, *map(str, arguments)], cwd=cwd or self.folder, capture_output=True, text=True,
                              errors="backslashreplace", timeout=timeout, env={**os.environ, **(env or {})}, preexec_fn=preexec_fn)
        if code is not None:
            self.assertEqual(done.returncode, code, f"{arguments}\nstdout: {done.stdout}\nstderr: {done.stderr}")
        self.assertGreaterEqual(done.returncode, 0, f"{arguments} died of signal {-done.returncode}\n{done.stderr}")
        return done

    def together(self, call, *lists):
        """[call(a, b, …), …] as map does it, a few at a time: most of a short call is the program's start."""
        with ThreadPoolExecutor(4) as pool:
            return list(pool.map(call, *lists))

    def refuses(self, *arguments, code, words=(), **options):
        """The program ends with `code` and one message that holds all `words`; nothing on stdout."""
        done = self.gaussflow(*arguments, code=code, **options)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertEqual(done.stdout, "")
        return done

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(text, bytes):
            path.write_bytes(text)
        else:
            path.write_text(text)
        return path

    def write_h5(self, name, **datasets):
        path = self.folder / name
        with h5py.File(path, "w") as file:
            for key, value in datasets.items():
                file[key] = value
        return path

    def checkpoints(self, run):
        return sorted((self.folder / run / "checkpoints").glob("ckpt-*.h5"))

    def digest(self, run):
        """state_sha256 of the newest checkpoint."""
        with h5py.File(self.checkpoints(run)[-1], "r") as file:
            value = file.attrs["state_sha256"]
        return value.decode() if isinstance(value, bytes) else str(value)

    def samples(self, run):
        with h5py.File(self.folder / run / "samples.h5", "r") as file:
            return file["samples"][:]

    def status(self, run):
        return json.loads((self.folder / run / "status.json").read_text())

    def metrics(self, run):
        return np.genfromtxt(self.folder / run / "metrics.csv", delimiter=",", names=True)

    def start(self, *arguments, **options):
        """The program in the background."""
        process = subprocess.Popen([PROGRAM, *map(str, arguments)], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, **options)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        return process

    def wait_for(self, condition, seconds=60):
        end = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), end, "waited in vain")
            time.sleep(0.002)

    def kill_after_step(self, step, run, *arguments):
        """Starts the program and ends it with SIGKILL once a checkpoint at or beyond `step` is there."""
        process = self.start(*arguments)

        def reached():
            if process.poll() is not None:
                return True
            names = [int(p.stem.split("-")[1]) for p in self.checkpoints(run)] if (self.folder / run / "checkpoints").exists() else []
            return bool(names) and max(names) >= step
        self.wait_for(reached)
        process.send_signal(signal.SIGKILL)
        process.wait()
        return process.returncode
