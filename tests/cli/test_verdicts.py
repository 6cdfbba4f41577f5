"""What a run says of its own end is true: each verdict against numbers worked out here in numpy."""
import re
import unittest

import h5py
import numpy as np
from support import Case


def mmd2(x, y, tau):
    """MMD²_V in extended precision, by 1 − Φ so that nothing cancels for wide kernels."""
    def form(p, q):
        square = ((p[:, None].astype(np.longdouble) - q[None]) ** 2).sum(-1)
        return np.expm1(-np.longdouble(tau) / 2 * square).mean()
    return float(form(x, x) + form(y, y) - 2 * form(x, y))


class Verdicts(Case):
    def setUp(self):
        super().setUp()
        self.rng = np.random.default_rng(7)
        self.y = self.rng.normal(size=(300, 2))
        self.write_h5("y.h5", samples=self.y)

    def run_config(self, text, *options, code=0, run="r"):
        self.write("c.yaml", text + "\nseed: 1\n")
        done = self.gaussflow("run", "c.yaml", "-o", run, "--overwrite", *options, code=code)
        return done, self.status(run)["verdict"]

    def mmd(self, rest="", *options, steps=300, flow="mmd", target="y.h5", **more):
        return self.run_config(f"flow: {flow}\ntarget: {{samples: {target}}}\nstep: {steps}\n{rest}", *options, **more)

    def svgd(self, rest="", *options, target="{gaussian: {mean: [0, 0], sd: [1, 1]}}", steps=500, **more):
        return self.run_config(f"flow: svgd\ntarget: {target}\nstep: {steps}\n{rest}", *options, **more)

    def advice(self, done, key):
        return re.search(re.escape(key) + r": ([-+.\de]+)", done.stderr.splitlines()[-1] if "gaussflow:" in done.stderr else done.stderr)[1]

    def test_mmd2_is_right_far_below_fp32(self):
        """A good start and a few steps: the value is 1e-6 to 1e-8, where fp32 sums give noise."""
        x0 = self.y[:150].copy()
        x0[0] += 0.1
        self.write_h5("x.h5", samples=x0)
        self.write_h5("y2.h5", samples=np.concatenate([self.y[:150]] * 2))
        for dtype in ("fp32", "fp64"):
            with self.subTest(dtype=dtype):
                done, _ = self.mmd(f"particles: {{init: {{file: x.h5}}, dtype: {dtype}}}\nkernel: 0.5\noutput: {{metrics: 1}}", steps=3,
                                   target="y2.h5")
                truth = mmd2(self.samples("r"), np.concatenate([self.y[:150]] * 2), 0.5)
                self.assertLess(truth, 1e-6)
                self.assertAlmostEqual(self.metrics("r")["mmd2"][-1] / truth, 1, delta=1e-5)
                self.assertIn(f"mmd2 = {truth:.3g}", done.stderr)

    def test_a_kernel_too_wide_is_not_convergence(self):
        done, verdict = self.mmd("particles: 100\nkernel: 1e-8")
        truth = mmd2(self.samples("r"), self.y, 1e-8)
        self.assertLess(truth, 1e-15)
        self.assertEqual(verdict, "too wide")
        bound = float(re.search(r"mmd2 < ([\d.e-]+)", done.stderr)[1])
        self.assertLess(truth, bound)
        self.assertLess(bound, 1e-14)
        self.assertEqual(self.metrics("r")["mmd2"][-1], 0)  # never rounding passed off as a value
        self.assertIn("warning: tau = 1e-08 is so wide", done.stderr)
        self.assertNotIn("converged", done.stderr)
        # what it suggests works
        self.assertEqual(self.mmd("particles: 100\nkernel: {bandwidth: median}", steps=2000)[1], "converged")
        self.assertEqual(self.svgd("particles: 100\nkernel: 1e-8", target="{gaussian: {mean: [3, 3], sd: [.1, .1]}}")[1], "too wide")

    def test_a_kernel_too_narrow_is_not_convergence(self):
        done, verdict = self.mmd("particles: 100\nkernel: 20000", steps=2000)
        self.assertEqual(verdict, "no interaction")
        self.assertGreater(mmd2(self.samples("r"), self.y, 20000), 0.9 * (1 / 100 + 1 / 300))  # nothing but the diagonals
        y = self.rng.normal(size=(200, 50))
        self.write_h5("y50.h5", samples=y)
        done, verdict = self.mmd("particles: 100", flow="{type: mmd, anneal: {to: 64}}", target="y50.h5", steps=300)
        self.assertEqual(verdict, "no interaction")
        self.assertNotIn("converged", done.stderr)
        to = self.advice(done, "flow.anneal.to")
        self.assertEqual(self.mmd("particles: 100", flow=f"{{type: mmd, anneal: {{to: {to}}}}}", target="y50.h5", steps=2000)[1], "converged")

    def test_a_cloud_that_was_hardly_moved_has_not_converged(self):
        """The verdict asks what is left to do, not how small the steps were."""
        for size in ("1e-9", "1e-3", "1e-2"):
            with self.subTest(size=size):
                done, verdict = self.run_config(f"flow: mmd\ntarget: {{samples: y.h5}}\nparticles: {{count: 100, init: {{normal: {{mean: 1, std: 1}}}}}}\nstep: {{count: 20, size: {size}}}")
                rows = self.metrics("r")
                self.assertGreater(rows["mmd2"][-1], 0.5 * rows["mmd2"][0])
                self.assertEqual(verdict, "moving")
                self.assertIn(f"step.size {float(size):.3g} is far below that", done.stderr)
        decayed, verdict = self.run_config("flow: mmd\ntarget: {samples: y.h5}\nparticles: {count: 100, init: {normal: {mean: 1, std: 1}}}\nstep: {count: 3, schedule: decay}")
        self.assertEqual(verdict, "moving")
        self.write_h5("one.h5", samples=np.ones((1, 1)))
        self.write_h5("x0.h5", samples=np.zeros((1, 1)))
        done, verdict = self.run_config("flow: mmd\ntarget: {samples: one.h5}\nparticles: {init: {file: x0.h5}}\nkernel: 1\nstep: {count: 1, size: 1e-3}")
        # ∇f = −exp(−1/2): one step goes 6e-4 of the way, the natural one 0.6
        self.assertEqual(verdict, "moving")
        self.assertIn(f"mmd2 = {mmd2(self.samples('r'), np.ones((1, 1)), 1):.3g}", done.stderr)
        self.assertIn("moves particles by 6.1e-01 kernel widths", done.stderr)

    def test_the_advised_bandwidth_is_the_one_the_rule_then_gives(self):
        for flow, target, kernel in (("mmd", "{samples: y.h5}", "20000"), ("mmd", "{samples: y.h5}", "1e-8"),
                                     ("svgd", "{gaussian: {mean: [3, 3], sd: [.1, .1]}}", "1e-8"),
                                     ("mmd", "{samples: {file: y.h5, standardize: true}}", "1e-8")):
            with self.subTest(flow=flow, kernel=kernel):
                self.write("c.yaml", f"flow: {flow}\ntarget: {target}\nparticles: {{count: 100, init: {{normal: {{mean: 2, std: 5}}}}}}\nkernel: {kernel}\nstep: 50\nseed: 1\n")
                done = self.gaussflow("run", "c.yaml", "-o", "r", "--overwrite")
                advised = set(re.findall(r"kernel.bandwidth: median \(tau = ([\d.e+-]+) at the start", done.stderr))
                self.gaussflow("run", "c.yaml", "-o", "r", "--overwrite", "-q", "--steps", "0", "--set", "kernel.bandwidth=median")
                self.assertEqual(advised, {f"{float(self.metrics('r')['tau']):.3g}"})

    def test_svgd_without_interaction_is_not_convergence(self):
        for target in ("{gaussian: {mean: [0, 0], sd: [1, 1]}}", "{mixture: {weights: [.5, .5], means: [[-3, 0], [3, 0]], sds: [[1, 1], [1, 1]]}}"):
            for precondition in ("diag", "none"):
                with self.subTest(target=target, precondition=precondition):
                    self.write("c.yaml", f"flow: {{type: svgd, precondition: {precondition}}}\ntarget: {target}\nparticles: 100\nkernel: 1e5\nstep: 2000\nseed: 1\n")
                    done = self.gaussflow("run", "c.yaml", "-o", "r", "--overwrite")
                    self.assertLess(self.samples("r")[:, 1].std(), 0.2)  # the truth is 1
                    self.assertEqual(self.status("r")["verdict"], "no interaction")
                    self.assertIn("kernel.bandwidth: median", done.stderr)
                    self.gaussflow("run", "c.yaml", "-o", "r", "--overwrite", "--set", "kernel.bandwidth=median")
                    self.assertEqual(self.status("r")["verdict"], "converged")
                    self.assertAlmostEqual(self.samples("r")[:, 1].std(), 1, delta=0.1)

    def test_a_cloud_that_rests_at_the_wrong_place_is_not_convergence(self):
        ring, modes = "{ring: {}}", "{mixture: {weights: [.5, .5], means: [[-3, 0], [3, 0]], sds: [[1, 1], [1, 1]]}}"
        for target, count, word in ((ring, 8, "collapsed"), (ring, 1, "one particle"), (modes, 8, "collapsed")):
            with self.subTest(target=target, count=count):
                done, verdict = self.svgd(f"particles: {{count: {count}, init: {{normal: {{mean: 0, std: 0}}}}}}", target=target, steps=200)
                self.assertEqual(verdict, word)
                self.assertIn("a start that is spread" if count > 1 else "particles.count", done.stderr)
        self.write_h5("x.h5", samples=np.stack([np.zeros(50), self.rng.normal(size=50)], 1))  # on the ridge between the modes
        self.assertEqual(self.svgd("particles: {init: {file: x.h5}}", target=modes)[1], "collapsed")
        x = self.rng.normal(size=(50, 2))
        self.write_h5("x.h5", samples=x * [0.5, 1] + [3, 0])  # one mode alone: mean off by 3 of 3.2 sd, variance 0.1
        done, verdict = self.svgd("particles: {init: {file: x.h5}}", target=modes.replace("3, 0", "9, 0"), steps=2000)
        self.assertIn(verdict, ("moving", "biased"))
        self.assertIn("of the reference's", done.stderr)

    def test_words_that_would_refute_themselves_are_not_said(self):
        done, verdict = self.svgd("particles: 100\nkernel: 1e5", steps=5)
        self.assertEqual(verdict, "no interaction")
        self.assertNotIn("of the spread", done.stderr)
        x = self.rng.normal(size=(100, 2)) * 0.1 + 100
        self.write_h5("x.h5", samples=x)
        done, verdict = self.mmd("particles: {init: {file: x.h5}}\nkernel: 1", steps=300)
        self.assertEqual(verdict, "no pull")
        self.assertGreater(self.samples("r").std(), 2 * x.std())
        self.assertIn("only drive one another apart", done.stderr)
        self.assertNotIn("stay where they are", done.stderr)
        self.assertIn("warning: one particle", self.mmd("particles: 1", steps=3)[0].stderr)

    def test_collapse_in_high_dimension_is_told_at_the_end(self):
        dim = 50
        target = f"{{gaussian: {{mean: {[0] * dim}, sd: {[1] * dim}}}}}"
        done, verdict = self.svgd("particles: 50\nkernel: {bandwidth: liu-wang-n1}", target=target, steps=1500)
        variance = self.samples("r").var(0).mean()
        self.assertLess(variance, 0.2)
        self.assertEqual(verdict, "collapsed")
        said = float(re.search(r"the cloud has ([\d.]+) of the spread", done.stderr)[1])
        self.assertAlmostEqual(said / variance, 1, delta=0.05)
        self.assertEqual(self.svgd("particles: 50\nkernel: {bandwidth: median}", target=target, steps=1500)[1], "converged")

    def test_particles_out_of_reach_get_advice_that_works(self):
        y = self.y.copy()
        y[:6] += 1000
        self.write_h5("outliers.h5", samples=y)
        x = self.rng.normal(size=(100, 2))
        x[:5] += 60
        self.write_h5("far.h5", samples=x)
        for name, target, particles in [("far start", "y.h5", "{count: 100, init: {normal: {mean: 100, std: .1}}}"),
                                        ("outliers of the start", "y.h5", "{init: {file: far.h5}}"),
                                        ("outliers of the target", "outliers.h5", "{count: 100}")]:
            with self.subTest(name):
                done, verdict = self.mmd(f"particles: {particles}", target=target)
                self.assertIn("warning: no pull", done.stderr)
                self.assertEqual(verdict, "no pull")
                tau = self.metrics("r")["tau"][0]
                annealed = self.advice(done, "flow.anneal.from")
                self.assertEqual(self.mmd(f"particles: {particles}\nkernel: {tau}", flow=f"{{type: mmd, anneal: {{from: {annealed}}}}}",
                                          target=target, steps=2000)[1], "converged")
                self.assertEqual(self.mmd(f"particles: {{count: 100, init: samples}}\nkernel: {tau}", target=target, steps=2000)[1], "converged")

    def test_a_cloud_that_flew_away_has_diverged(self):
        for size in (1000, 100, 20):
            with self.subTest(flow="mmd", size=size):
                done, verdict = self.run_config(f"flow: mmd\ntarget: {{samples: y.h5}}\nparticles: 200\nstep: {{count: 200, size: {size}}}", code=7)
                self.assertEqual(verdict, "diverged")
                self.assertEqual((self.status("r")["status"], self.status("r")["exit_code"]), ("failed", 7))
                rows = self.metrics("r")
                self.assertGreater(rows["mmd2"][-1], 10 * rows["mmd2"][0])
                self.assertIn("step.size", done.stderr.splitlines()[-1])
        for target in ("banana", "{gaussian: {mean: [0, 0], sd: [1, 1]}}"):
            with self.subTest(target=target):
                done, verdict = self.run_config(f"flow: svgd\ntarget: {target}\nparticles: 100\nstep: {{count: 200, size: 100}}", code=7)
                self.assertEqual(verdict, "diverged")
                self.assertGreater(self.samples("r").std(), 100)  # of 1; how far is chance
                self.assertIn("step.size is 100: leave it out, it is 0.05 then", done.stderr)
        # a far start that comes in is none
        self.assertNotEqual(self.svgd("particles: {count: 100, init: {normal: {mean: 50, std: 3}}}", steps=20)[1], "diverged")

    def test_fp32_particles_are_refused_where_they_would_lie_on_a_grid(self):
        for offset in (1e6, 1e9):
            with self.subTest(offset=offset):
                self.write_h5("off.h5", samples=self.y + offset)
                self.write("o.yaml", "flow: mmd\ntarget: {samples: off.h5}\nparticles: 100\nstep: 500\nseed: 1\n")
                spacing = float(np.spacing(np.float32(offset)))
                self.refuses("run", "o.yaml", "-o", "o", code=4, words=["particles.dtype: fp64", f"{spacing:.3g} apart"])
                self.assertFalse((self.folder / "o").exists())
                self.gaussflow("run", "o.yaml", "-o", f"o{offset}", "-q", "--set", "particles.dtype=fp64")
                np.testing.assert_allclose(self.samples(f"o{offset}").std(0), self.y.std(0), rtol=0.05)
        self.write_h5("off.h5", samples=self.y + 1e4)
        self.assertIn("0.000977 apart", self.mmd("particles: 50", target="off.h5", steps=5)[0].stderr)
        self.assertNotIn("apart", self.mmd("particles: 50", steps=5)[0].stderr)
        # the same of a density, where its moments are known and where they are not
        self.write("g.yaml", "flow: svgd\ntarget: {gaussian: {mean: [1e8], sd: [1]}}\nparticles: 50\nseed: 1\n")
        self.refuses("run", "g.yaml", "-o", "g", code=4, words=["particles.dtype: fp64"])
        self.write("t.yaml", "flow: svgd\ntarget: {student_t: {dim: 1, nu: 1}}\nparticles: {count: 50, init: {normal: {mean: 1e8, std: 1}}}\nstep: 2\nseed: 1\n")
        self.refuses("run", "t.yaml", "-o", "t", code=4, words=["the start's x1", "8 apart", "particles.dtype: fp64"])
        self.gaussflow("run", "t.yaml", "-o", "t", "-q", "--set", "particles.dtype=fp64")

    def test_data_beyond_the_squares_of_fp32_are_refused(self):
        for factor in (1e30, 1e-30):
            with self.subTest(factor=factor):
                self.write_h5("big.h5", samples=self.y * factor)
                self.write("b.yaml", "flow: mmd\ntarget: {samples: big.h5}\nparticles: 100\nstep: 500\nseed: 1\n")
                self.refuses("run", "b.yaml", "-o", "b", code=4, words=["particles.dtype: fp64", "target.standardize: true"])
                for name, option in (("wide", "particles.dtype=fp64"), ("scaled", "target.standardize=true")):
                    self.gaussflow("run", "b.yaml", "-o", f"{name}{factor}", "-q", "--set", option)
                    np.testing.assert_allclose(self.samples(f"{name}{factor}").astype(float).std(0) / factor, self.y.std(0), rtol=0.05)


    def test_one_way_to_say_tau_set_on_the_command_line_replaces_the_file_s(self):
        for kernel in ("1e5", "{tau: 1e5}", "{sigma: 3}", "{h: 1e-5}", "{bandwidth: liu-wang}"):
            for option, tau in (("kernel.tau=3", 3), ("kernel.sigma=2", 0.25), ("kernel.h=4", 0.5), ("kernel=7", 7)):
                with self.subTest(kernel=kernel, option=option):
                    self.mmd(f"particles: 20\nkernel: {kernel}", "-q", "--set", option, steps=0)
                    self.assertAlmostEqual(float(self.metrics("r")["tau"]), tau)
        rule = self.mmd("particles: 20", "-q", steps=0) and float(self.metrics("r")["tau"])
        self.mmd("particles: 20\nkernel: 1e5", "-q", "--set", "kernel.bandwidth=median", steps=0)
        self.assertEqual(float(self.metrics("r")["tau"]), rule)


class Tables(Case):
    def run_mmd(self, y, particles="100"):
        self.write_h5("y.h5", samples=y)
        self.write("c.yaml", f"flow: mmd\ntarget: {{samples: y.h5}}\nparticles: {particles}\nstep: 200\nseed: 1\n")
        return self.gaussflow("run", "c.yaml", "-o", "r", "--overwrite").stderr

    def test_constant_columns_are_left_out_and_told(self):
        rng = np.random.default_rng(3)
        y = rng.normal(size=(200, 3))
        y[:, 1] = 0.1
        printed = self.run_mmd(y)
        x = self.samples("r")
        keep = [0, 2]
        error = (x.mean(0) - y.mean(0))[keep] / y.std(0)[keep]
        ratio = x.var(0)[keep] / y.var(0)[keep]
        self.assertIn(f"rms error of the means {np.sqrt((error**2).mean()):.3f} sd, variance ratio {ratio.mean():.3f} "
                      f"(from {ratio.min():.3f} to {ratio.max():.3f})", printed)
        self.assertIn("constant in the reference and left out of that: 1 of 3 coordinates", printed)
        for word in ("inf", "nan", "differ in scale"):
            self.assertNotIn(word, printed)
        self.assertNotIn("differ in scale", self.run_mmd(np.full((50, 1), 0.3)))

    def test_a_single_sample_has_no_spread_to_compare_with(self):
        printed = self.run_mmd(np.array([[1.0, -2.0]]), "{count: 20, init: {normal: {mean: 0, std: 1}}}")
        self.assertNotIn("against the reference", printed)
        off = np.abs(self.samples("r").mean(0) - [1, -2]).max()
        self.assertIn(f"constant in the reference: 2 of 2 coordinates, means off by {off:.2g} at most", printed)
        self.assertNotRegex(printed, r"\b(inf|nan)\b")

    def test_the_sd_is_the_same_everywhere_and_divides_by_n(self):
        rng = np.random.default_rng(4)
        y = rng.normal(size=(9, 1))
        printed = self.run_mmd(y, "7")
        inspected = self.gaussflow("inspect", "r").stdout
        row = f"{self.samples('r').mean():.4g} {self.samples('r').std():.4g}"
        for text in (printed, inspected):
            line = next(line for line in text.splitlines() if line.split()[:1] == ["x1"])
            self.assertEqual(" ".join(line.split()[1:3]), row)
        self.assertEqual(float(line.split()[2]), float(f"{self.samples('r').std():.4g}"))


if __name__ == "__main__":
    unittest.main()
