"""`gaussflow sum` beyond one array in memory: keys in blocks, and what --explain says of them."""

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


if __name__ == "__main__":
    unittest.main()
