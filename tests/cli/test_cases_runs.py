"""Whole runs whose end is known: collapse, weights, a start that is too far, the same numbers twice."""
import unittest

import numpy as np
from support import Case


class Runs(Case):
    def test_run_01_variance_collapse_in_high_dimension(self):
        """n = 50 on N(0, I): the rules with ln n lose the variance in 100 dimensions, the median rule does not; said in the log."""
        for dim, rule, variance in ((2, "liu-wang-n1", 0.87), (100, "liu-wang-n1", 0.04), (2, "median", 0.99), (100, "median", 0.38)):
            with self.subTest(dim=dim, rule=rule):
                self.write("c.yaml", f"""
flow: {{type: svgd, precondition: none}}
target: {{gaussian: {{mean: {[0.0] * dim}, sd: {[1.0] * dim}}}}}
particles: 50
kernel: {{bandwidth: {rule}, refresh: 1}}
step: {{count: 2000, method: adagrad, size: 0.1}}
output: {{metrics: 0, trajectory: 0}}
seed: 1
""")
                done = self.gaussflow("run", "c.yaml", "-o", f"{rule}{dim}", "-q")
                x = self.samples(f"{rule}{dim}")
                self.assertLess(np.abs(x.mean(0)).max(), 0.02)
                self.assertAlmostEqual(x.var(0).mean(), variance, delta=0.02 if variance > 0.1 else 0.01)
                log = (self.folder / f"{rule}{dim}/log.jsonl").read_text()
                for text in (log, done.stderr):
                    (self.assertIn if dim == 100 else self.assertNotIn)("variance collapse expected", text)

    def test_run_02_unequal_numbers_do_not_collapse_the_flow(self):
        rng = np.random.default_rng(2)
        y = rng.normal(size=(200, 2))
        self.write_h5("y.h5", samples=y)
        self.write("m.yaml", """
flow: mmd
target: {samples: y.h5}
particles: {count: 20, init: {normal: {mean: 0.5, std: 0.1}}}
kernel: {tau: 1}
step: {count: 3000, method: euler, size: 0.5}
seed: 1
""")
        self.gaussflow("run", "m.yaml", "-o", "r", "-q")
        x = self.samples("r")
        self.assertLess(np.abs(x.mean(0) - y.mean(0)).max(), 0.05)
        self.assertGreater(x.var(0).min(), 0.6)
        self.assertLess(float(self.metrics("r")["mmd2"][-1]), 1e-3)

    def test_run_03_a_far_start_ends_with_no_pull(self):
        rng = np.random.default_rng(3)
        self.write_h5("y.h5", samples=rng.normal(size=(200, 2)) + 100)
        self.write("m.yaml", """
flow: mmd
target: {samples: y.h5}
particles: {count: 20, init: {normal: {mean: 0.5, std: 0.1}}}
kernel: {tau: 1}
step: {count: 300, method: euler, size: 0.5}
seed: 1
""")
        done = self.gaussflow("run", "m.yaml", "-o", "r")
        self.assertEqual((self.status("r")["status"], self.status("r")["verdict"]), ("finished", "no pull"))
        self.assertIn("warning: no pull: 100 % of the particles", done.stderr)
        self.assertNotIn("converged", done.stderr)

    def test_run_04_the_same_config_twice(self):
        rng = np.random.default_rng(4)
        self.write_h5("y.h5", samples=rng.normal(size=(300, 3)))
        self.write("m.yaml", "flow: {type: mmd, noise: 0.3}\ntarget: {samples: {file: y.h5, batch: 100}}\nparticles: 150\nstep: 100\nseed: 1\n")
        self.write("s.yaml", "flow: svgd\ntarget: {banana: {}}\nparticles: 150\nstep: 100\nseed: 1\n")
        for config in "ms":
            for reduction in ("auto", "reweight"):
                with self.subTest(config=config, reduction=reduction):
                    runs = [f"{config}-{reduction}-{i}" for i in (1, 2)]
                    done = [self.gaussflow("run", f"{config}.yaml", "-o", run, "-q", "--set", f"compute.reduction={reduction}",
                                           code=None) for run in runs]
                    codes = {d.returncode for d in done}
                    self.assertEqual(codes, {0}, done[0].stderr)
                    self.assertEqual(*(self.digest(run) for run in runs))
                    np.testing.assert_array_equal(*(self.samples(run) for run in runs))


if __name__ == "__main__":
    unittest.main()
