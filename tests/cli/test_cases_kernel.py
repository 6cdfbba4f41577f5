"""Gauss sums that broke other programs: cancellation, overflow, underflow, empty and odd shapes, bad bandwidths.

The files hold q, k, v, tau and s_ref, a direct fp64 sum; s_abs is the sum with |v|. Judged per value column and batch, the
2-norm over the rows: |s - s_ref| ≤ tolerance · |s_abs|.
"""
import json
import subprocess
import sys
import unittest

import h5py
import numpy as np
from support import CASES, PROGRAM, Case, cases

TOLERANCE = {"fp64": 1e-12, "fp32": 4e-6, "fp16": 1e-2, "bf16": 8e-2}
FAR = {"ker-02", "ker-03", "ker-06", "ker-09b"}  # tau R² may be out of reach of a named attention reduction


def norm(array):
    """2-norm over the rows, [B?, M, C] → [B?, C]."""
    return np.sqrt((array**2).sum(-2))


class Kernel(Case):
    def sum(self, file, *options):
        """(process, s or None) of `gaussflow sum`, with any exit code."""
        out = self.folder / ("-".join([file.removesuffix(".h5"), *[o.strip("-") for o in options]]) + ".h5")
        done = self.gaussflow("sum", CASES / file, "-o", out, "--overwrite", *options, code=None)
        if done.returncode != 0:
            self.assertFalse(out.exists(), "a refused sum must write nothing")
            return done, None
        with h5py.File(out, "r") as result:
            return done, result["s"][:]

    def check(self, file, s, tolerance):
        with h5py.File(CASES / file, "r") as case:
            reference, absolute = case["s_ref"][:], case["s_abs"][:]
        self.assertEqual(s.shape, reference.shape)
        self.assertTrue(np.isfinite(s).all(), f"{file}: not finite")
        self.assertTrue((norm(s - reference) <= tolerance * norm(absolute)).all(),
                        f"{file}: {(norm(s - reference) / norm(absolute)).max():.2e} of s_abs, allowed {tolerance:.1e}")

    def accepted(self, *names):
        """Automatic choice in every dtype: fp32 and fp64 never refuse; a half type may, with the number that forbids it."""
        files = [(row["id"], row["file"], dtype) for row in cases(*names) for dtype in TOLERANCE]
        results = self.together(lambda c: self.sum(c[1], "--dtype", c[2]), files)
        for (name, file, dtype), (done, s) in zip(files, results):
            with self.subTest(id=name, file=file, dtype=dtype):
                if s is None:
                    self.assertIn(dtype, ("fp16", "bf16"), done.stderr)
                    self.assertEqual(done.returncode, 2, done.stderr)
                    self.assertRegex(done.stderr, r"\d")
                else:
                    self.check(file, s, TOLERANCE[dtype])

    def named(self, *names):
        """A named attention reduction is as exact as the automatic choice, or refuses where the range forbids it."""
        calls = [(row["id"], row["file"], reduction) for row in cases(*names) for reduction in ("reweight", "prescale")]
        results = self.together(lambda c: self.sum(c[1], "--reduction", c[2], "--dtype", "fp32"), calls)
        for (name, file, reduction), (done, s) in zip(calls, results):
            with self.subTest(id=name, file=file, reduction=reduction):
                if s is None:
                    self.assertIn(name, FAR, done.stderr)
                    self.assertEqual(done.returncode, 2, done.stderr)
                    self.assertRegex(done.stderr, r"tau max\S* = [\d.e+]+ .*(is over|over its bound of) [\d.e+]+")
                else:
                    self.check(file, s, TOLERANCE["fp32"])

    def test_ker_01_far_from_the_origin(self):
        self.accepted("ker-01")
        s = self.sum("ker-01-offset.h5")[1][:, 0]
        np.testing.assert_allclose(s, [4.213100399, 4.575802974, 4.703460274, 4.575802974, 4.213100399], rtol=0, atol=1e-9)

    def test_ker_02_two_far_clusters(self):
        self.accepted("ker-02")

    def test_ker_03_one_outlier(self):
        self.accepted("ker-03")

    def test_ker_04_large_units(self):
        self.accepted("ker-04")

    def test_ker_05_values_over_65504(self):
        self.accepted("ker-05")

    def test_ker_06_sharp_kernel(self):
        self.accepted("ker-06")

    def test_ker_07_weights_that_cancel(self):
        self.accepted("ker-07")

    def test_ker_08_result_over_65504(self):
        self.accepted("ker-08")

    def test_ker_09_one_pair(self):
        self.accepted("ker-09")

    def test_ker_09b_whole_rows_underflow(self):
        self.accepted("ker-09b")
        s = self.sum("ker-09b-far-query.h5")[1][:, 0]
        self.assertEqual(list(s[:2]), [0, 0])

    def test_ker_10_ker_10b_empty_operands(self):
        for row in cases("ker-10", "ker-10b"):
            with self.subTest(id=row["id"], file=row["file"]):
                done, s = self.sum(row["file"])
                if s is None:
                    self.assertIn(done.returncode, (2, 4))
                    self.assertIn("empty" if "empty" in done.stderr else "0", done.stderr)
                else:
                    with h5py.File(CASES / row["file"], "r") as case:
                        np.testing.assert_array_equal(s, case["s_ref"][:])

    def test_ker_11_dimension_300_without_a_matrix_of_all_pairs(self):
        self.accepted("ker-11")
        rng = np.random.default_rng(0)
        points = rng.normal(size=(20000, 300)).astype(np.float32) / 17
        path = self.write_h5("wide.h5", q=points, v=np.ones((20000, 1), np.float32))
        with h5py.File(path, "r+") as file:
            file.attrs["tau"] = 1.0
        out = self.folder / "out.h5"
        code, peak = self.peak_memory("sum", path, "-o", out)
        self.assertEqual(code, 0)
        self.assertLess(peak, 700e6, "all pairs would be 1.6 GB")
        with h5py.File(out, "r") as file:
            s = file["s"][:8, 0]
        x = points.astype(float)
        exact = np.exp(-0.5 * ((x[:8, None] - x[None]) ** 2).sum(-1)).sum(1)
        np.testing.assert_allclose(s, exact, rtol=4e-6)

    def test_ker_12_ker_12b_padding_leaves_the_scale(self):
        self.accepted("ker-12", "ker-12b")

    def test_ker_13_ker_13b_batches_equal_single_clouds(self):
        self.accepted("ker-13", "ker-13b")
        for row in cases("ker-13", "ker-13b"):
            with h5py.File(CASES / row["file"], "r") as case:
                q, k, v, tau = case["q"][:], case["k"][:], case["v"][:], case.attrs["tau"]
            batch = self.sum(row["file"])[1]
            for b in range(len(q)):
                path = self.write_h5(f"{row['id']}-{b}.h5", q=q[b], k=k[b], v=v[b])
                self.gaussflow("sum", path, "-o", self.folder / "one.h5", "--overwrite", "--tau", repr(float(tau)))
                with h5py.File(self.folder / "one.h5", "r") as file, self.subTest(id=row["id"], file=row["file"], cloud=b):
                    np.testing.assert_allclose(batch[b], file["s"][:], rtol=0, atol=1e-13 * np.abs(v).sum())

    def test_ker_15_a_nan_key_is_named(self):
        done, s = self.sum("ker-15-nan-key.h5")
        self.assertIsNone(s)
        self.assertEqual(done.returncode, 4)
        self.assertIn("row 5", done.stderr)
        self.assertIn("column 1", done.stderr)

    def test_ker_16_gradient_at_coincident_points(self):
        for dtype in ("fp64", "fp32"):
            with self.subTest(dtype=dtype):
                out = self.folder / f"{dtype}.h5"
                self.gaussflow("sum", CASES / "ker-16-grad-coincident.h5", "-o", out, "--gradient", "--dtype", dtype)
                with h5py.File(out, "r") as file, h5py.File(CASES / "ker-16-grad-coincident.h5", "r") as case:
                    self.check("ker-16-grad-coincident.h5", file["s"][:], TOLERANCE[dtype])
                    np.testing.assert_allclose(file["grad"][:], case["grad_ref"][:], rtol=0,
                                               atol=TOLERANCE[dtype] * np.abs(case["s_abs"][:]).max())

    def test_ker_17_bad_bandwidths(self):
        case = CASES / "ker-01-offset.h5"
        for tau in ("0", "-1", "nan", "inf", "-1e-3", "", "1,5", "abc", "1e999"):
            with self.subTest(tau=tau):
                self.refuses("sum", case, "-o", self.folder / "out.h5", f"--tau={tau}", code=2, words=["--tau"])
        for tau in (0.0, -1.0, np.nan, np.inf):
            with self.subTest(attribute=tau):
                path = self.write_h5("bad.h5", q=np.zeros((2, 1)), v=np.ones((2, 1)))
                with h5py.File(path, "r+") as file:
                    file.attrs["tau"] = tau
                self.refuses("sum", path, "-o", self.folder / "out.h5", code=4, words=["tau"])
        self.assertFalse((self.folder / "out.h5").exists())

    def test_ker_01_to_13b_by_named_reductions(self):
        self.named("ker-01", "ker-02", "ker-03", "ker-04", "ker-05", "ker-06", "ker-07", "ker-08", "ker-09", "ker-09b", "ker-12", "ker-12b",
                   "ker-13", "ker-13b")

    def peak_memory(self, *arguments):
        """(exit code, peak resident bytes) of one call."""
        script = ("import json, os, resource, subprocess, sys\n"
                  "code = subprocess.run(sys.argv[1:], capture_output=True).returncode\n"
                  "print(json.dumps([code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024]))")
        text = subprocess.run([sys.executable, "-c", script, PROGRAM, *map(str, arguments)], capture_output=True,
                              text=True, check=True, cwd=self.folder).stdout
        return tuple(json.loads(text))

    def test_att_01_memory_stays_linear(self):
        """60 000 equal points: s = 60000 in every row; all pairs would need 14 GB. Few columns, few seconds."""
        path = self.write_h5("many.h5", q=np.full((60000, 2), 0.25, np.float32), v=np.ones((60000, 3), np.float32))
        small = self.write_h5("few.h5", q=np.full((2, 2), 0.25, np.float32), v=np.ones((2, 3), np.float32))
        base = self.peak_memory("sum", small, "-o", "few-s.h5", "--tau", "1")[1]
        code, peak = self.peak_memory("sum", path, "-o", "s.h5", "--tau", "1")
        self.assertEqual(code, 0)
        self.assertLess(peak - base, 300e6)
        with h5py.File(self.folder / "s.h5", "r") as file:
            np.testing.assert_array_equal(file["s"][:], 60000)

    def test_att_04_rows_past_65535(self):
        for n in (65536, 65537):
            with self.subTest(n=n):
                path = self.write_h5(f"{n}.h5", q=np.zeros((n, 1), np.float32), v=np.ones((n, 1), np.float32))
                self.gaussflow("sum", path, "-o", "s.h5", "--overwrite", "--tau", "1")
                with h5py.File(self.folder / "s.h5", "r") as file:
                    np.testing.assert_array_equal(file["s"][:], n)


if __name__ == "__main__":
    unittest.main()
