"""`gaussflow sum` beyond one array in memory and beyond the range of a type: keys in blocks, and what --explain says of them."""

import resource
import subprocess
import unittest

import h5py
import numpy as np

from support import PROGRAM, Case


class Sum(Case):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(5)
        self.q, self.k = rng.normal(size=(70, 3)), rng.normal(size=(1003, 3))
        self.v = rng.normal(size=(1003, 2))
        with h5py.File(self.file("in.h5"), "w") as f:
            f["q"], f["k"], f["v"] = self.q, self.k, self.v
            f.attrs["tau"] = 0.7

    def file(self, name):
        return self.folder / name

    def sum(self, *options, file="in.h5"):
        self.gaussflow("sum", file, "-o", "out.h5", *options)
        with h5py.File(self.file("out.h5")) as f:
            result = {name: f[name][()] for name in f}, dict(f.attrs)
        self.file("out.h5").unlink()
        return result

    def test_blocks_of_keys_give_the_sum_of_all(self):
        gap = self.q[:, None] - self.k[None]
        phi = np.exp(-0.35 * (gap**2).sum(2))
        want = phi @ self.v
        gradient = 0.7 * np.einsum("mn,nc,mnd->mcd", phi, self.v, -gap)
        scale = phi @ np.abs(self.v)
        for block in (1, 7, 500, 1003, 5000):
            for reduction in ("auto", "reweight", "reference"):
                arrays, attributes = self.sum("--block", str(block), "--gradient", "--reduction", reduction)
                self.assertLess(np.linalg.norm(arrays["s"] - want), 1e-14 * np.linalg.norm(scale))
                self.assertLess(np.abs(arrays["grad"] - gradient).max(), 1e-12)
                self.assertEqual(arrays["s"].dtype, np.float64)
                self.assertEqual(attributes["block"], block)

    def test_without_k_the_queries_are_read_in_blocks(self):
        with h5py.File(self.file("self.h5"), "w") as f:
            f["q"], f["v"] = self.k.astype("f4"), self.v.astype("f4")
            f.attrs["tau"] = 0.7
        whole, _ = self.sum(file="self.h5")
        blocks, _ = self.sum("--block", "100", file="self.h5")
        self.assertEqual(blocks["s"].dtype, np.float32)
        self.assertLess(np.abs(blocks["s"] - whole["s"]).max(), 1e-4)

    def test_batches_and_no_keys(self):
        with h5py.File(self.file("batch.h5"), "w") as f:
            f["q"], f["k"], f["v"] = self.q[None].repeat(2, 0), self.k[None].repeat(2, 0), self.v[None].repeat(2, 0)
            f.attrs["tau"] = 0.7
        blocks, _ = self.sum("--block", "100", file="batch.h5")
        whole, _ = self.sum()
        self.assertLess(np.abs(blocks["s"] - whole["s"]).max(), 1e-12)
        with h5py.File(self.file("none.h5"), "w") as f:
            f["q"], f["k"], f["v"] = self.q, np.zeros((0, 3)), np.zeros((0, 2))
        none, _ = self.sum("--block", "100", "--tau", "1", file="none.h5")
        self.assertTrue((none["s"] == 0).all() and none["s"].shape == (70, 2))

    def address_space(self):
        """Bytes of address space that the program takes for a small sum."""
        program = subprocess.Popen([PROGRAM, "sum", "in.h5", "-o", "small.h5"], cwd=self.folder)
        most = 0
        while program.poll() is None:
            with open(f"/proc/{program.pid}/status") as status:
                sizes = [int(line.split()[1]) for line in status if line.startswith("VmPeak")]
            most = max([most, *sizes])
        return most * 1024

    def test_keys_larger_than_memory_are_read_in_blocks_by_themselves(self):
        """Under a limit of the address space that holds no three copies of the keys: the same sum, and --explain says why."""
        n, limit = 3_000_000, self.address_space() + (200 << 20)
        with h5py.File(self.file("large.h5"), "w") as f:
            f["q"] = self.q[:5].astype("f4")
            f["k"] = np.zeros((n, 3), "f4")
            f["v"] = np.ones((n, 8), "f4")  # 132 MB in all
            f.attrs["tau"] = 0.7
        want = n * np.exp(-0.35 * (self.q[:5].astype("f4").astype("f8") ** 2).sum(1))
        done = self.gaussflow("sum", "large.h5", "-o", "out.h5", "--explain",
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        self.assertIn("they do not fit into memory", done.stdout)
        with h5py.File(self.file("out.h5")) as f:
            self.assertLess(np.abs(f["s"][()] / want[:, None] - 1).max(), 4e-6)

    def test_a_bad_block_names_the_entry(self):
        self.v[707, 1] = np.nan
        with h5py.File(self.file("nan.h5"), "w") as f:
            f["q"], f["k"], f["v"] = self.q, self.k, self.v
        self.refuses("sum", "nan.h5", "-o", "out.h5", "--tau", "1", "--block", "100", code=4, words=["row 707, column 1"])
        self.assertFalse(self.file("out.h5").exists())

    def write_values(self, name, dtype, v):
        """q = k = 0: every Φ is 1, s = Σ v."""
        v = np.asarray(v, dtype)
        with h5py.File(self.file(name), "w") as f:
            f["q"], f["k"], f["v"] = np.zeros((2, 1), dtype), np.zeros((len(v), 1), dtype), v
            f.attrs["tau"] = 1.0

    def test_fp64_asked_is_fp64_stored(self):
        x, v = self.k[:200].astype("f4"), self.v[:200].astype("f4")
        for dtype in ("f4", "f2"):
            with h5py.File(self.file("in.h5"), "w") as f:
                f["q"], f["v"] = x.astype(dtype), v.astype(dtype)
                f.attrs["tau"] = 0.7
                q, w = f["q"][()].astype(float), f["v"][()].astype(float)
            gap = q[:, None] - q[None]
            phi = np.exp(-0.35 * (gap**2).sum(2))
            gradient = 0.7 * np.einsum("mn,nc,mnd->mcd", phi, w, -gap)
            for more in ((), ("--block", "30")):
                arrays, _ = self.sum("--dtype", "fp64", "--gradient", *more)
                self.assertEqual([arrays[name].dtype for name in ("s", "grad")], [np.float64] * 2)
                self.assertLess(np.abs(arrays["s"] - phi @ w).max(), 1e-12)
                self.assertLess(np.abs(arrays["grad"] - gradient).max(), 1e-12)
                self.assertEqual(self.sum(*more)[0]["s"].dtype, np.float32)

    def test_parts_beyond_the_range_make_a_sum_within(self):
        for dtype, big, eps in (("f4", 3e38, 1.2e-7), ("f8", 1.7e308, 2.3e-16)):
            column = np.array([big] * 10 + [-big] * 10)
            self.write_values("in.h5", dtype, np.stack([column, np.arange(20) + 0.25], 1))
            for block in ((), ("--block", "1"), ("--block", "3"), ("--block", "11")):
                for reduction in ("auto", "reference", "reweight"):
                    with self.subTest(dtype=dtype, big=big, block=block, reduction=reduction):
                        s = self.sum("--reduction", reduction, *block)[0]["s"]
                        self.assertTrue(np.isfinite(s).all())
                        self.assertLess((np.abs(s[:, 0]) / big).max(), 20 * 16 * eps)
                        self.assertLess(np.abs(s[:, 1] - 195).max(), 195 * 16 * eps)

    def test_the_gradient_of_large_values_is_within_the_range_too(self):
        """Two keys at ±1 with v = ±big: ∇s(0) = τ Σ v k, whose terms are big; with v alike they cancel."""
        for dtype, big in (("f4", 3e38), ("f8", 1.5e308)):
            with h5py.File(self.file("in.h5"), "w") as f:
                f["q"], f["k"] = np.zeros((1, 1), dtype), np.array([[1], [-1]] * 4, dtype)
                f["v"] = np.full((8, 1), big / 8, dtype)
                f.attrs["tau"] = 1.0
            for block in ((), ("--block", "3")):
                arrays, _ = self.sum("--gradient", *block)
                self.assertLess(np.abs(arrays["grad"]).max(), 1e-6 * big)
                np.testing.assert_allclose(arrays["s"] / big, np.exp(-0.5), rtol=1e-6)
        with h5py.File(self.file("in.h5"), "w") as f:  # bounds beyond fp64 themselves
            f["q"], f["k"], f["v"] = np.full((1, 1), 1e290), np.full((3, 1), 1e290), np.full((3, 1), 5e307)
            f.attrs["tau"] = 1e18
        arrays, _ = self.sum("--gradient", "--reduction", "reference")
        self.assertEqual((arrays["s"][0, 0] / 5e307, arrays["grad"][0, 0]), (3, 0))

    def test_a_sum_beyond_its_type_is_an_error_with_its_size(self):
        self.write_values("in.h5", "f4", [[3e38]] * 3)
        for block in ((), ("--block", "2")):
            for reduction in ("auto", "reference", "reweight"):
                self.refuses("sum", "in.h5", "-o", "out.h5", "--reduction", reduction, *block, code=7,
                             words=["the sum has entries up to 9e38 in magnitude", "fp32 holds 3.4e38", "--dtype fp64"])
                self.assertFalse(self.file("out.h5").exists())
            s = self.sum("--dtype", "fp64", *block)[0]["s"]
            np.testing.assert_allclose(s, 9e38, rtol=1e-6)
        self.write_values("in.h5", "f8", [[1, 1e308]] * 20)
        for block in ((), ("--block", "7")):
            for reduction in ("auto", "reference"):
                self.refuses("sum", "in.h5", "-o", "out.h5", "--reduction", reduction, *block, code=7,
                             words=["up to 2e309 in magnitude", "fp64 holds 1.8e308", "divide v by a power of two"])

    def test_the_output_says_what_was_used(self):
        _, auto = self.sum()
        self.assertEqual([auto[name] for name in ("reduction", "method", "dtype")], ["auto", "direct", "fp64"])
        self.assertIn("fused kernel", auto["reason"])
        self.assertNotIn("backend", auto)
        _, half = self.sum("--dtype", "bf16")
        self.assertEqual([half[name] for name in ("reduction", "method", "dtype")], ["auto", "direct", "fp64"])
        self.assertIn("fp32 would round the points", half["reason"])
        _, named = self.sum("--reduction", "reweight")
        self.assertEqual([named[name] for name in ("reduction", "method", "backend")], ["reweight", "reweight", "flash"])
        self.assertIn("tau max", named["reason"])

    def test_explain_alone_refuses_what_the_sum_refuses(self):
        """Small sums that a bound does not vouch for are tried; larger ones have a bound that needs no trial."""
        rng = np.random.default_rng(0)
        small = rng.normal(size=(60, 2)) * 40
        for name, x in (("near.h5", small / 40), ("far.h5", small), ("large.h5", rng.normal(size=(3000, 2)) * 40)):
            self.write_h5(name, q=x, k=x + 1e-3 * rng.normal(size=x.shape), v=rng.normal(size=(len(x), 1)))
        codes = set()
        for name in ("near.h5", "far.h5", "large.h5"):
            for reduction in ("reweight", "prescale", "direct"):
                for dtype in ("fp32", "fp16"):
                    with self.subTest(name=name, reduction=reduction, dtype=dtype):
                        call = ("sum", name, "--tau", "1", "--reduction", reduction, "--dtype", dtype)
                        explained = self.gaussflow(*call, "--explain", code=None)
                        made = self.gaussflow(*call, "-o", f"{reduction}-{dtype}.h5", "--overwrite", code=None)
                        self.assertEqual(explained.returncode, made.returncode, explained.stdout + made.stderr)
                        self.assertEqual(explained.stderr, made.stderr)
                        self.assertEqual(explained.stdout == "", explained.returncode != 0)
                        codes.add(made.returncode)
        self.assertEqual(codes, {0, 2})

    def test_explain_tells_of_all_blocks(self):
        k = np.concatenate([np.random.default_rng(0).uniform(size=(60, 1)), np.linspace(0, 1e3, 40)[:, None] ** 2])
        self.write_h5("in.h5", q=np.zeros((3, 1)), k=k, v=np.ones((100, 1)))
        call = ("sum", "in.h5", "--tau", "1", "--block", "20", "--explain")
        lines = self.gaussflow(*call, "--dtype", "fp32").stdout.splitlines()
        self.assertEqual(lines[0], "keys in blocks of 20: as asked")
        self.assertRegex(lines[1], r"^direct in fp32, 3 of 5 blocks: ")
        self.assertRegex(lines[2], r"^direct in fp64, 2 of 5 blocks: .*\(the first of them\)$")
        self.assertEqual(len(lines), 3)
        self.refuses(*call, "--dtype", "fp32", "--reduction", "direct", code=2, words=["keys 60 to 79 of 100: "])
        self.gaussflow(*call, "--dtype", "fp32", "-o", "out.h5")
        with h5py.File(self.file("out.h5")) as f:
            self.assertEqual((f.attrs["method"], f.attrs["dtype"]), ("direct", "fp32, fp64"))
            self.assertIn("3 of 5 blocks", f.attrs["reason"])


if __name__ == "__main__":
    unittest.main()
