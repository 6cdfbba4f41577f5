"""What whole runs promise beside their numbers: verdicts, units, files."""
import json
import unittest

import h5py
import numpy as np
from support import Case


class Runs(Case):
    def test_standardised_run_is_the_plain_run_in_units_of_the_sd(self):
        rng = np.random.default_rng(2)
        y = rng.normal(size=(200, 2))
        y /= y.std(0)
        scale = np.array([1e-6, 1e6])
        x0 = rng.normal(size=(40, 2))
        for name, factor in (("plain", 1.0), ("scaled", scale)):
            self.write_h5(f"{name}.h5", samples=y * factor)
            self.write_h5(f"{name}-x0.h5", samples=x0 * factor)
            self.write(f"{name}.yaml", f"""
flow: mmd
target: {{samples: {name}.h5, standardize: yes}}
particles: {{init: {{file: {name}-x0.h5}}, dtype: fp64}}
kernel: {{tau: 1}}
step: 50
seed: 1
""")
            self.gaussflow("run", f"{name}.yaml", "-o", name, "-q")
        np.testing.assert_allclose(self.samples("scaled") / scale, self.samples("plain"), rtol=0, atol=1e-9)

    def test_coordinates_of_different_scale_are_told(self):
        rng = np.random.default_rng(2)
        self.write_h5("y.h5", samples=rng.normal(size=(100, 2)) * [1e-3, 1e3])
        self.write("a.yaml", "flow: mmd\ntarget: {samples: y.h5}\nparticles: 20\nstep: 2\nseed: 1\n")
        self.assertIn("target.standardize: true", self.gaussflow("run", "a.yaml").stderr)

    def test_the_result_says_where_it_came_from(self):
        self.write("a.yaml", "flow: svgd\ntarget: banana\nparticles: 20\nstep: 5\nseed: 1\n")
        self.gaussflow("run", "a.yaml", "-q")
        with h5py.File(self.folder / "runs/a/samples.h5") as file:
            self.assertEqual(file["samples"].shape, (20, 2))
            self.assertAlmostEqual(file["weights"][:].sum(), 1)
            self.assertEqual([n.decode() for n in file["names"][:]], ["x1", "x2"])
            for name in ("tau", "step", "time", "flow", "target", "version", "config"):
                self.assertIn(name, file.attrs)
        provenance = json.loads((self.folder / "runs/a/provenance.json").read_text())
        for name in ("version", "revision", "torch", "device", "threads", "seed"):
            self.assertIn(name, provenance)
        # what lies in the folder names no absolute path
        for path in (self.folder / "runs/a").rglob("*"):
            if path.is_file():
                self.assertNotIn(str(self.folder).encode(), path.read_bytes(), path.name)

    def test_frames_of_the_trajectory_are_the_states_of_the_run(self):
        self.write("a.yaml", "flow: svgd\ntarget: banana\nparticles: 20\nstep: 40\noutput: {trajectory: 10}\ncheckpoint: 20steps\nseed: 1\n")
        self.gaussflow("run", "a.yaml", "-q")
        steps, values = [], []
        for segment in sorted((self.folder / "runs/a/trajectory").glob("seg-*.h5")):
            with h5py.File(segment) as file:
                position = file["particles/all/position"]
                steps += list(position["step"][:])
                values += list(position["value"][:])
        self.assertEqual(steps, [0, 10, 20, 30, 40])
        np.testing.assert_array_equal(values[-1], self.samples("runs/a"))
        for step, value in zip(steps[:-1], values):
            self.gaussflow("run", "a.yaml", "-q", "-o", f"s{step}", "--steps", step, "--set", "step.horizon=40")
            np.testing.assert_array_equal(value, self.samples(f"s{step}"))

    def test_verify_finds_damage_and_says_where(self):
        self.write("a.yaml", "flow: svgd\ntarget: banana\nparticles: 20\nstep: 40\nseed: 1\n")
        self.gaussflow("run", "a.yaml", "-q")
        self.gaussflow("inspect", "runs/a", "--verify")
        segment = sorted((self.folder / "runs/a/trajectory").glob("seg-*.h5"))[0]
        data = bytearray(segment.read_bytes())
        with h5py.File(segment) as file:
            offset = file["particles/all/position/value"].id.get_chunk_info(0).byte_offset
        data[offset + 3] ^= 4
        segment.write_bytes(data)
        self.assertIn(segment.name, self.gaussflow("inspect", "runs/a", "--verify", code=10).stderr)


if __name__ == "__main__":
    unittest.main()
