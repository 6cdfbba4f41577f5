"""The shipped configs do what their heads promise."""
import unittest

import h5py
import numpy as np
from support import SOURCE, Case


def mmd2(x, y, tau):
    """MMD²_V by numpy."""
    def mean_kernel(p, q):
        return np.exp(-tau / 2 * ((p[:, None] - q[None]) ** 2).sum(-1)).mean()
    return mean_kernel(x, x) + mean_kernel(y, y) - 2 * mean_kernel(x, y)


class Configs(Case):
    def run_config(self, name, *options):
        self.gaussflow("run", SOURCE / "configs" / f"{name}.yaml", "-o", name, "-q", *options)
        self.assertEqual(self.status(name)["verdict"], "converged")
        return self.samples(name)

    def test_quickstart_meets_the_reference(self):
        x = self.run_config("quickstart")
        with h5py.File(SOURCE / "data/breast_cancer_reference.h5") as file:
            mean, sd = file["mean"][:], file["sd"][:]
        self.assertLessEqual(np.sqrt((((x.mean(0) - mean) / sd) ** 2).mean()), 0.05)
        ratio = x.var(0, ddof=1) / sd**2
        self.assertGreater(ratio.min(), 0.9)
        self.assertLess(ratio.max(), 1.1)

    def test_two_moons_are_reached(self):
        x = self.run_config("mmd_two_moons")
        with h5py.File(SOURCE / "data/two_moons.h5") as file:
            y = file["x"][:]
        with h5py.File(sorted((self.folder / "mmd_two_moons/trajectory").glob("seg-*.h5"))[0]) as file:
            start = file["particles/all/position/value"][0]
        self.assertLess(mmd2(x, y, 4.0), mmd2(start, y, 4.0) / 100)
        self.assertLess(np.abs((x.mean(0) - y.mean(0)) / y.std(0)).max(), 0.1)
        rows = self.metrics("mmd_two_moons")
        self.assertLess(rows["mmd2"][-1], rows["mmd2"][0] / 100)

    def test_banana_and_own_density_have_their_moments(self):
        x = self.run_config("svgd_banana")
        np.testing.assert_allclose(x.mean(0) / [2, 3], 0, atol=0.05)
        np.testing.assert_allclose(x.std(0), [2, 3], rtol=0.05)
        x = self.run_config("svgd_own_density")
        np.testing.assert_allclose(x.mean(0), [0.090517, -0.760675], atol=0.02)
        np.testing.assert_allclose(x.std(0), [0.346821, 0.415793], rtol=0.03)
        self.assertAlmostEqual(np.corrcoef(x.T)[0, 1], 0.8431, delta=0.02)

    def test_mixture_finds_all_modes(self):
        x = self.run_config("svgd_mixture")
        modes = np.array([[-2, 0], [2, 1], [0, 3]])
        nearest = ((x[:, None] - modes[None]) ** 2).sum(-1).argmin(1)
        share = np.bincount(nearest, minlength=3) / len(x)
        self.assertGreater(share.min(), 0.1)

    def test_gpu_config_is_refused_without_a_device_or_runs(self):
        done = self.gaussflow("run", SOURCE / "configs/gpu_mmd_32d.yaml", "-o", "g", "-q", "--steps", "3", code=None)
        self.assertIn(done.returncode, (0, 9))
        if done.returncode == 9:
            self.assertIn("Use compute.device: cpu", done.stderr)
            self.assertFalse((self.folder / "g").exists())


if __name__ == "__main__":
    unittest.main()
