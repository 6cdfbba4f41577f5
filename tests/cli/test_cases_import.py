"""HDF5 files that other programs misread. Each goes through `import` as a user would do it, and where it matters through `run`."""
import os
import subprocess
import sys
import unittest

import h5py
import numpy as np
from support import CASES, MANIFEST, Case, cases


class Import(Case):
    def load(self, row, *options, dataset=True):
        """(process, samples or None) of `gaussflow import` on a row's file, with any exit code but a crash."""
        out = self.folder / "out.h5"
        out.unlink(missing_ok=True)
        ref = f"{CASES / row['file']}:/{row['dataset']}" if dataset else CASES / row["file"]
        done = self.gaussflow("import", ref, "-o", out, *options, code=None)
        if done.returncode != 0:
            self.assertFalse(out.exists(), "a refused import must write nothing")
            self.assertNotEqual(done.returncode, 1, done.stderr)
            return done, None
        with h5py.File(out, "r") as file:
            return done, file["samples"][:]

    def right(self, row, samples):
        ref = row["ref"]
        self.assertEqual(samples.shape, (ref["n"], ref["d"]))
        np.testing.assert_array_equal(samples[0], ref["first"])
        np.testing.assert_array_equal(samples[-1], ref["last"])
        np.testing.assert_allclose(samples.mean(0), ref["mean"], rtol=1e-12, atol=1e-12 * np.abs(samples).max())

    def accepted(self, *names):
        for row in cases(*names):
            with self.subTest(id=row["id"], file=row["file"]):
                done, samples = self.load(row)
                self.assertEqual(done.returncode, 0, done.stderr)
                if "ref" in row:
                    self.right(row, samples)

    def rejected(self, *names, words=(), code=(4,)):
        """Refused in one message that names file, object and reason."""
        for row in cases(*names):
            with self.subTest(id=row["id"], file=row["file"], dataset=row["dataset"]):
                done, _ = self.load(row)
                self.assertIn(done.returncode, code, done.stderr)
                self.assertIn(row["file"], done.stderr)
                for word in words:
                    self.assertIn(word, done.stderr)

    def chosen(self, *names, words=()):
        """Right or refused with the reason, never the wrong reading."""
        for row in cases(*names):
            with self.subTest(id=row["id"], file=row["file"]):
                done, samples = self.load(row)
                if samples is not None:
                    self.right(row, samples)
                else:
                    self.assertEqual(done.returncode, 4, done.stderr)
                    for word in (row["file"], *words):
                        self.assertIn(word, done.stderr)

    def self_sums(self, row):
        """Sums with q = k = the imported samples, v = 1, tau = 1."""
        self.load(row)
        with h5py.File(self.folder / "out.h5", "r") as file:
            x = file["samples"][:]
        sums = {}
        for dtype in ("fp64", "fp32"):
            path = self.write_h5("q.h5", q=x, v=np.ones((len(x), 1)))
            self.gaussflow("sum", path, "-o", "s.h5", "--overwrite", "--tau", "1", "--dtype", dtype)
            with h5py.File(self.folder / "s.h5", "r") as file:
                sums[dtype] = file["s"][:, 0]
        return sums

    def first_sums_of_a_run(self, row, steps=0):
        """The witness of equal clouds is zero only if both are read alike and to full precision: mmd2 of a run on the file."""
        ref = f"{CASES / row['file']}:/{row['dataset']}"
        self.write("m.yaml", f"flow: mmd\ntarget: {{samples: '{ref}'}}\nparticles: {{init: {{file: '{ref}'}}, dtype: fp64}}\nkernel: {{tau: 1}}\n"
                             f"step: {steps}\nseed: 1\n")
        return self.gaussflow("run", "m.yaml", "-o", "r", "-q", "--overwrite")

    def test_each_row_is_as_marked_in_one_message_with_nothing_written(self):
        """By `import` and, where it is refused, by `run` too. Of the rows that leave a choice these five are read."""
        def check(row):
            ref, folder = f"{CASES / row['file']}:/{row['dataset']}", self.folder / str(id(row))
            folder.mkdir()
            done = self.gaussflow("import", ref, "-o", "out.h5", code=None, cwd=folder)
            if row["expect"] == "accept" or row["id"] in ("hdf-01", "hdf-02", "hdf-08", "hdf-20b", "hdf-22"):
                self.assertEqual(done.returncode, 0, done.stderr)
            if row["expect"] == "reject":
                self.assertNotEqual(done.returncode, 0, row)
            if done.returncode == 0:
                return
            (folder / "m.yaml").write_text(f"flow: mmd\ntarget: {{samples: '{ref}'}}\nparticles: 5\nstep: 1\nseed: 1\n")
            for message in (done, self.gaussflow("run", "m.yaml", "-o", "r", code=None, cwd=folder)):
                self.assertIn(message.returncode, (4, 9), message.stderr)
                self.assertRegex(message.stderr, r"\Agaussflow: [^\n]+\n\Z")
                self.assertIn(row["file"], message.stderr)
                self.assertNotRegex(message.stderr, r":\s*$")
            self.assertEqual([p.name for p in folder.iterdir()], ["m.yaml"])
        rows = [row for row in MANIFEST if row["id"].startswith("hdf-")]
        self.assertGreaterEqual(len(rows), 44)
        self.together(check, rows)

    def test_hdf_01_reversed_axes(self):
        self.accepted("hdf-01")

    def test_hdf_02_rank_1_is_one_column(self):
        self.accepted("hdf-02")

    def test_hdf_03_hdf_03b_scalars_and_null_dataspaces(self):
        self.rejected("hdf-03", "hdf-03b", words=["samples"])

    def test_hdf_04_hdf_04b_no_rows_no_columns(self):
        self.rejected("hdf-04", "hdf-04b", words=["samples"])

    def test_hdf_05_a_chain_with_unfilled_rows(self):
        self.chosen("hdf-05", words=["mcmc/chain"])
        done, samples = self.load(cases("hdf-05")[0], dataset=False)
        self.assertIsNone(samples, "without a name it must not be the chain's log_prob")
        for word in ("2 datasets", "/mcmc/chain", "/mcmc/log_prob"):
            self.assertIn(word, done.stderr)

    def test_hdf_06_half_precision_floats(self):
        self.accepted("hdf-06")

    def test_hdf_07_hdf_07b_other_byte_order(self):
        self.accepted("hdf-07", "hdf-07b")

    def test_hdf_08_large_integers_keep_their_differences(self):
        self.accepted("hdf-08")
        row, = cases("hdf-08")
        for dtype, sums in self.self_sums(row).items():
            np.testing.assert_allclose(sums, row["self_sum_tau1"], rtol=1e-12 if dtype == "fp64" else 4e-6)

    def test_hdf_09_nan_rows_are_counted(self):
        self.rejected("hdf-09", words=["samples", "2", "17"])

    def test_hdf_10_fill_values(self):
        self.chosen("hdf-10", words=["samples", "2", "3"])

    def test_hdf_11_an_unknown_filter(self):
        self.chosen("hdf-11", words=["samples", "32000"])

    def test_hdf_12_virtual_sources_that_are_gone(self):
        self.rejected("hdf-12", words=["samples"])

    def test_hdf_13_compounds(self):
        self.chosen("hdf-13", words=["samples", "x", "y"])

    def test_hdf_14_hdf_14b_masks_and_text(self):
        self.rejected("hdf-14", "hdf-14b", words=["samples"])

    def test_hdf_15_a_group_is_no_dataset(self):
        self.rejected("hdf-15", words=["X", "data", "indices", "indptr", "group"])

    def test_hdf_16_hdf_16b_references_opaque_and_ragged(self):
        self.rejected("hdf-16", "hdf-16b", words=["samples"])

    def test_hdf_17_dangling_links_and_misspelt_names(self):
        self.rejected("hdf-17", words=["sample"])
        misspelt = next(row for row in cases("hdf-17") if row["dataset"] == "sample")
        with h5py.File(CASES / misspelt["file"], "r") as file:
            names = [name for name in file if file.get(name) is not None]
        done, _ = self.load(misspelt)
        for name in names:
            self.assertIn(name, done.stderr)

    def test_hdf_18_truncated_and_not_hdf5(self):
        self.rejected("hdf-18")

    def test_hdf_19_left_open_by_a_dead_writer(self):
        row, = cases("hdf-19")
        done, samples = self.load(row)
        if samples is not None:
            self.right(row, samples)
        else:
            self.assertEqual(done.returncode, 4)
            self.assertIn("h5clear", done.stderr)

    def test_hdf_20_hdf_20b_file_format_versions(self):
        self.accepted("hdf-20b")
        row, = cases("hdf-20")
        done, samples = self.load(row)
        if samples is not None:
            self.right(row, samples)
        else:
            self.assertEqual(done.returncode, 4)
            self.assertRegex(done.stderr, "newer|version")

    def test_hdf_21_columns_of_very_different_scale(self):
        self.accepted("hdf-21")
        row, = cases("hdf-21")
        for dtype, sums in self.self_sums(row).items():
            np.testing.assert_allclose(sums, 1, rtol=4e-6)
        self.first_sums_of_a_run(row)
        self.assertTrue(np.isfinite(float(self.metrics("r")["mmd2"])))

    def test_hdf_22_timestamps_keep_their_differences(self):
        row, = cases("hdf-22")
        for dtype, sums in self.self_sums(row).items():
            np.testing.assert_allclose(sums, row["self_sum_tau1"], rtol=1e-12 if dtype == "fp64" else 4e-6)
        with h5py.File(CASES / row["file"], "r") as file:
            x = file["samples"][:].astype("f8").ravel()
        rounded = x[x.astype("f4").astype("f8") != x]
        done = self.gaussflow("import", f"{CASES / row['file']}:{row['dataset']}", "-o", self.folder / "note.h5")
        self.assertIn(f"{len(rounded)} numbers beyond 2^24 that fp32 particles would round, {(rounded % 1 == 0).sum()} of them whole", done.stderr)

    def test_hdf_23_hdf_23b_names(self):
        self.accepted("hdf-23", "hdf-23b")
        row, = cases("hdf-23b")
        for form in (row["dataset"], "/" + row["dataset"], "//" + row["dataset"], row["dataset"] + "/", "/" + row["dataset"].replace("/", "//")):
            with self.subTest(form=form):
                done = self.gaussflow("import", f"{CASES / row['file']}:{form}", "-o", self.folder / "o.h5", "--overwrite")
                with h5py.File(self.folder / "o.h5", "r") as file:
                    self.right(row, file["samples"][:])
        for row in cases("hdf-23", "hdf-23b"):
            self.first_sums_of_a_run(row)
            self.assertLess(float(self.metrics("r")["mmd2"]), 1e-12)

    def test_hdf_24_a_declared_size_over_the_memory(self):
        row, = cases("hdf-24")
        done, _ = self.load(row)
        self.assertIn(done.returncode, (4, 9), done.stderr)
        for word in (row["file"], "samples"):
            self.assertIn(word, done.stderr)
        self.assertRegex(done.stderr, r"\d+(\.\d+)? ?[GT]i?B|8589934592")

    def test_hdf_25_hdf_25b_which_dataset(self):
        for name, words in (("hdf-25", ["train", "test"]), ("hdf-25b", ["run1/samples", "run2/samples"])):
            row, = cases(name)
            with self.subTest(id=name):
                done, _ = self.load(row, dataset=False)
                self.assertEqual(done.returncode, 4)
                for word in words:
                    self.assertIn(word, done.stderr)
                self.accepted(name)

    def test_hdf_26_complex_numbers(self):
        self.rejected("hdf-26", words=["samples", "complex"])

    def test_hdf_27_hdf_27b_chunks_and_filters(self):
        self.accepted("hdf-27", "hdf-27b")

    def test_hdf_28_locked_and_read_only(self):
        """Another process writes the file and holds its lock; then a folder and file without any right to write."""
        path = self.write_h5("busy.h5", samples=np.arange(6.0).reshape(3, 2))
        script = ("import h5py, sys; f = h5py.File(sys.argv[1], 'r+'); f.flush(); print('open', flush=True); sys.stdin.read()")
        holder = subprocess.Popen([sys.executable, "-c", script, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            holder.stdout.readline()
            done = self.gaussflow("import", path, "-o", self.folder / "out.h5", code=None)
        finally:
            holder.communicate("")
        if done.returncode == 0:
            with h5py.File(self.folder / "out.h5", "r") as file:
                np.testing.assert_array_equal(file["samples"][:], np.arange(6.0).reshape(3, 2))
        else:
            self.assertEqual(done.returncode, 4)
            self.assertIn("busy.h5", done.stderr)
            self.assertRegex(done.stderr, "another process|locked|in use")
        self.gaussflow("import", path, "-o", self.folder / "out.h5", "--overwrite")
        closed = self.folder / "closed"
        closed.mkdir()
        (self.folder / "busy.h5").rename(closed / "y.h5")
        (closed / "y.h5").chmod(0o444)
        before = os.stat(closed / "y.h5").st_mtime_ns
        closed.chmod(0o555)
        try:
            self.gaussflow("import", closed / "y.h5", "-o", self.folder / "out2.h5")
            self.assertEqual(os.stat(closed / "y.h5").st_mtime_ns, before)
            self.assertEqual([p.name for p in closed.iterdir()], ["y.h5"])
        finally:
            closed.chmod(0o755)


if __name__ == "__main__":
    unittest.main()
