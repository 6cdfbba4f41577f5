"""MMD: values and velocities of small clouds that other programs get wrong, and what a run says about them."""
import unittest

import h5py
import numpy as np
from support import CASES, Case, cases


class Mmd(Case):
    def flow(self, file, *options, steps=1, dtype="fp64", code=0):
        """One plain step of size 1 from the points of the file: (process, first row of metrics, velocity, case)."""
        with h5py.File(CASES / file, "r") as case:
            data = {name: case[name][:] for name in case}
            data.update({name: float(value) for name, value in case.attrs.items()})
        name = f"{file.removesuffix('.h5')}-{dtype}"
        self.write(f"{name}.yaml", f"""
flow: mmd
target: {{samples: '{CASES / file}:/y'}}
particles: {{init: {{file: '{CASES / file}:/x'}}, dtype: {dtype}}}
kernel: {{tau: {data['tau']!r}}}
step: {{count: {steps}, method: euler, size: 1, schedule: constant}}
output: {{metrics: 1}}
seed: 1
""")
        done = self.gaussflow("run", f"{name}.yaml", "-o", name, "--overwrite", *options, code=code)
        rows = np.atleast_1d(self.metrics(name))
        return done, rows[0], self.samples(name) - data["x"], data, self.status(name)

    def values(self, name, atol=1e-12):
        """Value and velocity of the case in both dtypes."""
        for row in cases(name):
            for dtype, bound in (("fp64", atol), ("fp32", 4e-6)):
                with self.subTest(file=row["file"], dtype=dtype):
                    done, first, velocity, data, status = self.flow(row["file"], dtype=dtype)
                    self.assertAlmostEqual(float(first["mmd2"]), row["mmd2_biased"], delta=bound)
                    if row["mmd2_unbiased"] is not None:
                        self.assertAlmostEqual(float(first["mmd2_unbiased"]), row["mmd2_unbiased"], delta=bound)
                    else:
                        self.assertTrue(np.isnan(first["mmd2_unbiased"]), "the unbiased form needs two points on each side")
                    scale = 1 + np.abs(data["x"]).max()
                    np.testing.assert_allclose(velocity, data["velocity_ref"], rtol=0, atol=bound * scale)
        return done, status

    def test_mmd_01_the_same_points_reversed(self):
        self.values("mmd-01")
        for dtype in ("fp64", "fp32"):
            first = self.flow("mmd-01-identical.h5", dtype=dtype, steps=0)[1]
            self.assertGreaterEqual(float(first["mmd2"]), 0)
            self.assertLess(float(first["mmd2"]), 1e-6)

    def test_mmd_02_unequal_sizes(self):
        self.values("mmd-02")

    def test_mmd_02b_one_particle(self):
        self.values("mmd-02b")

    def test_mmd_03_the_diagonal_counts(self):
        self.values("mmd-03")

    def test_mmd_04_a_target_too_far_is_no_convergence(self):
        done, status = self.values("mmd-04")
        self.assertEqual(status["verdict"], "no pull")
        self.assertIn("no pull", done.stderr)

    def test_mmd_05_stationary_by_symmetry_is_no_convergence(self):
        done, status = self.values("mmd-05")
        self.assertEqual(status["verdict"], "stalled")
        with h5py.File(CASES / "mmd-05-saddle.h5", "r") as case:
            x = case["x"][:]
        np.testing.assert_array_equal(self.samples("mmd-05-saddle-fp64"), x)

    def test_mmd_06_dimensions_that_do_not_match(self):
        for target, particles in ((2, 3), (3, 2)):
            with self.subTest(target=target, particles=particles):
                self.write("d.yaml", f"""
flow: mmd
target: {{samples: '{CASES}/mmd-06-target-d{target}.h5'}}
particles: {{init: {{file: '{CASES}/mmd-06-target-d{particles}.h5'}}}}
seed: 1
""")
                self.refuses("run", "d.yaml", "-o", "r", code=4, words=[f"[25, {particles}]", f"dimension {target}"])
                self.assertFalse((self.folder / "r").exists())
        for same in (2, 3):
            with self.subTest(both=same):
                self.write("d.yaml", f"""
flow: mmd
target: {{samples: '{CASES}/mmd-06-target-d{same}.h5'}}
particles: {{init: {{file: '{CASES}/mmd-06-target-d{same}.h5'}}}}
step: 1
seed: 1
""")
                self.gaussflow("run", "d.yaml", "-o", f"same{same}", "-q")


if __name__ == "__main__":
    unittest.main()
