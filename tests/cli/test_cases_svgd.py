"""SVGD: directions of small clouds that other programs get wrong, medians, steep starts."""
import re
import resource
import unittest

import h5py
import numpy as np
from support import CASES, Case


class Svgd(Case):
    def flow(self, file, target, *, tau="", size=1.0, steps=1, precondition="none", extra="", dtype="fp64", code=0):
        """Plain steps from the points of the file: (process, first row of metrics, displacement / size, case)."""
        with h5py.File(CASES / file, "r") as case:
            data = {name: case[name][:] for name in case}
        self.write("s.yaml", f"""
flow: {{type: svgd, precondition: {precondition}}}
target: {{{target}}}
particles: {{init: {{file: '{CASES / file}:/x'}}, dtype: {dtype}}}
{f"kernel: {{{tau}}}" if tau else ""}
step: {{count: {steps}, method: euler, size: {size}, schedule: constant}}
output: {{metrics: 1}}
seed: 1
{extra}""")
        done = self.gaussflow("run", "s.yaml", "-o", "r", "--overwrite", code=code)
        first = np.atleast_1d(self.metrics("r"))[0] if code == 0 else None
        return done, first, (self.samples("r") - data["x"]) / size if code == 0 else None, data

    def test_svg_01_one_particle_follows_the_score(self):
        for size in (1.0, 0.1):
            for dtype, bound in (("fp64", 1e-14), ("fp32", 1e-6)):
                with self.subTest(size=size, dtype=dtype):
                    done, _, phi, _ = self.flow("svg-01-one-particle.h5", "gaussian: {mean: [0], sd: [1]}", size=size, dtype=dtype)
                    np.testing.assert_allclose(self.samples("r"), [[3 - 3 * size]], rtol=0, atol=3 * bound)
                    self.assertIn("warning: one particle", done.stderr)

    def test_svg_02_all_particles_equal(self):
        for precondition in ("none", "diag"):
            for kernel in ("", "bandwidth: median", "bandwidth: liu-wang", "bandwidth: lw-code", "tau: 7"):
                with self.subTest(precondition=precondition, kernel=kernel):
                    done, _, phi, data = self.flow("svg-02-all-equal.h5", "gaussian: {mean: [0, 0], sd: [1, 1]}", tau=kernel,
                                                   precondition=precondition)
                    np.testing.assert_allclose(phi, np.full((8, 2), -1.5), rtol=0, atol=1e-14)
                    self.assertIn("warning: 7 of 8 particles start at the place of another one", done.stderr)
        self.flow("svg-02-all-equal.h5", "gaussian: {mean: [0, 0], sd: [1, 1]}", size=0.5, steps=30, precondition="diag")
        self.assertTrue(np.isfinite(self.samples("r")).all())
        self.assertEqual(len(np.unique(self.samples("r"), axis=0)), 1)

    def test_svg_03_a_fixed_bandwidth_is_kept(self):
        for kernel in ("tau: 1", "sigma: 1", "h: 2"):
            with self.subTest(kernel=kernel):
                _, first, phi, data = self.flow("svg-03-pair.h5", "gaussian: {mean: [0], sd: [1]}", tau=kernel)
                np.testing.assert_allclose(phi, data["phi_ref"], rtol=0, atol=1e-12)
                np.testing.assert_allclose(np.abs(phi.ravel()), (1 - 3 * np.exp(-2)) / 2, rtol=0, atol=1e-12)
                self.assertEqual(float(first["tau"]), 1)
        self.flow("svg-03-pair.h5", "gaussian: {mean: [0], sd: [1]}", tau="tau: 1", steps=25, size=0.1)
        np.testing.assert_array_equal(self.metrics("r")["tau"], 1)

    def test_svg_04_svg_04b_repulsion_points_outwards(self):
        _, _, phi, data = self.flow("svg-04-flat.h5", "flat: {dim: 1}", tau="tau: 1")
        np.testing.assert_allclose(phi, data["phi_ref"], rtol=0, atol=1e-14)
        np.testing.assert_allclose(phi.ravel() * np.sign(data["x"].ravel()), np.exp(-2), rtol=0, atol=1e-14)
        for dtype, bound in (("fp64", 1e-15), ("fp32", 2e-9)):
            with self.subTest(dtype=dtype):
                # A step of 1e4 makes the displacement large beside the particles' own rounding.
                _, _, phi, data = self.flow("svg-04b-flat-close.h5", "flat: {dim: 3}", tau="tau: 2", size=1e4, dtype=dtype)
                np.testing.assert_allclose(phi[:, 2], data["phi_ref"][:, 2], rtol=0, atol=bound)

    def test_svg_05_the_median_of_12_million_pairs(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30))
        for kernel, tolerance in (("bandwidth: median", 0.05), ("{bandwidth: median, subsample: 5000}", 1e-6)):
            with self.subTest(kernel=kernel):
                self.write("m.yaml", f"""
flow: {{type: svgd, precondition: none}}
target: {{flat: {{dim: 2}}}}
particles: {{init: {{file: '{CASES}/svg-05-many.h5:/x'}}}}
kernel: {kernel if kernel.startswith('{') else '{' + kernel + '}'}
step: 0
seed: 1
""")
                self.gaussflow("run", "m.yaml", "-o", "r", "-q", "--overwrite", preexec_fn=limit, env={"OMP_NUM_THREADS": "1"})
                median = 1 / float(self.metrics("r")["tau"])
                self.assertAlmostEqual(median / 2.769765898, 1, delta=tolerance)

    def test_svg_06_a_steep_start_stops_at_the_first_bad_step(self):
        for dtype in ("fp32", "fp64"):
            with self.subTest(dtype=dtype):
                done, *_ = self.flow("svg-06-steep-start.h5", "quartic: {dim: 1}", size=0.1, steps=50, dtype=dtype, code=7,
                                     extra="checkpoint: 1steps")
                self.assertRegex(done.stderr, r"step \d+: the (score|position) of particle 0 is")
                status = self.status("r")
                self.assertEqual((status["status"], status["exit_code"]), ("failed", 7))
                with h5py.File(self.checkpoints("r")[-1], "r") as file:
                    self.assertTrue(np.isfinite(file["state/particles"][:]).all())
                    last = int(file["state/step"][()])
                failed = int(re.search(r"step (\d+): the", done.stderr)[1])
                self.assertIn(failed - last, (1, 2))  # 2: the row of metrics after the last finite step already met the score
                self.assertIn(f"step {last} in r", done.stderr)
                self.gaussflow("inspect", "r", "--verify")

    def test_svg_07_a_norm_at_zero_has_a_finite_gradient(self):
        for precondition in ("none", "diag"):
            for dim in (1, 3):
                with self.subTest(precondition=precondition, dim=dim):
                    x = np.zeros((1, dim))
                    self.write_h5("x.h5", samples=x)
                    self.write("l.yaml", f"""
flow: {{type: svgd, precondition: {precondition}}}
target: {{laplace: {{dim: {dim}}}}}
particles: {{init: {{file: x.h5}}}}
step: {{count: 3, method: euler, size: 1, schedule: constant}}
seed: 1
""")
                    self.gaussflow("run", "l.yaml", "-o", "r", "-q", "--overwrite")
                    np.testing.assert_array_equal(self.samples("r"), x)
        self.write_h5("x.h5", samples=np.array([[0.0, 0], [1, 0], [0, 1]]))
        self.write("l.yaml", "flow: svgd\ntarget: {laplace: {dim: 2}}\nparticles: {init: {file: x.h5}}\nstep: 100\nseed: 1\n")
        self.gaussflow("run", "l.yaml", "-o", "r", "-q", "--overwrite")
        self.assertTrue(np.isfinite(self.samples("r")).all())

    def test_svg_08_seeds_give_other_particles(self):
        self.write("g.yaml", "flow: svgd\ntarget: {gaussian: {mean: [0, 0], sd: [1, 1]}}\nparticles: 100\nstep: 5\nseed: 1\n")
        for seed in (1, 2):
            self.gaussflow("run", "g.yaml", "-o", f"s{seed}", "-q", "--seed", seed)
        both = np.concatenate([self.samples("s1"), self.samples("s2")])
        self.assertEqual(len(np.unique(both, axis=0)), 200)


if __name__ == "__main__":
    unittest.main()
