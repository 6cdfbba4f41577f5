"""What `gaussflow sum` reads: .npz as HDF5, one axis as one column, tau as an attribute, an array or an option; what it refuses."""

import unittest

import h5py
import numpy as np

from support import Case


class SumInput(Case):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(3)
        self.arrays = {"q": rng.normal(size=(7, 2)), "k": rng.normal(size=(30, 2)), "v": rng.normal(size=(30, 3))}

    def write(self, name, arrays, tau=0.5):
        path = self.folder / name
        if name.endswith(".npz"):
            np.savez(path, **arrays, **({} if tau is None else {"tau": tau}))
        else:
            with h5py.File(path, "w") as f:
                for key, value in arrays.items():
                    f[key] = value
                if tau is not None:
                    f.attrs["tau"] = tau
        return path

    def sum(self, name, *options):
        """({name: array}, stderr)."""
        done = self.gaussflow("sum", name, "-o", "out.h5", "--overwrite", *options)
        with h5py.File(self.folder / "out.h5") as f:
            return {key: f[key][()] for key in f}, done.stderr

    def test_npz_gives_the_bits_of_hdf5(self):
        for dtype, kind in (("f8", "plain"), ("f8", "batch"), ("f4", "fortran"), (">f4", "self"), ("f2", "plain"), ("i4", "batch"), ("u8", "plain")):
            arrays = {key: np.abs(4 * value).astype(dtype) for key, value in self.arrays.items()}
            if kind == "batch":
                arrays = {key: np.stack([value, value[::-1], value]) for key, value in arrays.items()}
            if kind == "fortran":
                arrays = {key: np.asfortranarray(value) for key, value in arrays.items()}
            if kind == "self":
                arrays = {"q": arrays["k"], "v": arrays["v"]}
            self.write("a.h5", arrays)
            self.write("a.npz", arrays)
            for options in ((), ("--gradient", "--block", "11")):
                if options and dtype == "u8":
                    continue  # HDF5 is not read in blocks then
                with self.subTest(dtype=dtype, kind=kind, options=options):
                    want, got = self.sum("a.h5", *options)[0], self.sum("a.npz", *options)[0]
                    self.assertEqual(want.keys(), got.keys())
                    for key in want:
                        np.testing.assert_array_equal(want[key], got[key])
                        self.assertEqual(want[key].dtype, got[key].dtype)

    def test_npz_without_tau_or_with_bad_arrays(self):
        self.write("a.npz", self.arrays, None)
        self.refuses("sum", "a.npz", "-o", "no.h5", code=4, words=["a.npz has no array 'tau': add --tau"])
        self.sum("a.npz", "--tau", "2")
        for tau, words in ((np.ones(2), "'tau' has shape [2], one number is needed"), (-1.0, "finite and > 0, got -1"), (np.inf, "not finite")):
            self.write("a.npz", self.arrays, tau)
            self.refuses("sum", "a.npz", "-o", "no.h5", code=4, words=["tau", words])
        bad = {**self.arrays, "v": self.arrays["v"].copy()}
        bad["v"][4, 1] = np.nan
        self.write("a.npz", bad)
        self.refuses("sum", "a.npz", "-o", "no.h5", code=4, words=["a.npz:/v", "1 of 90", "row 4, column 1"])
        self.write("a.npz", {"q": self.arrays["q"], "w": self.arrays["v"]})
        self.refuses("sum", "a.npz", "-o", "no.h5", code=4, words=["has no array 'v'", "it holds q, w"])
        self.write("a.npz", {**self.arrays, "k": np.zeros((0, 2)), "v": np.zeros((0, 3))})
        self.assertTrue((self.sum("a.npz")[0]["s"] == 0).all())

    def test_single_arrays_and_tables_say_what_works(self):
        np.save(self.folder / "a.npy", self.arrays["q"])
        np.savetxt(self.folder / "a.csv", self.arrays["q"], delimiter=",")
        for name, kind in (("a.npy", "a single NumPy array"), ("a.csv", "text")):
            done = self.refuses("sum", name, "-o", "no.h5", "--tau", "1", code=4, words=[f"{name} is {kind}", "HDF5"])
            call = done.stderr.split("in Python, ")[1].strip()
            arrays = {key: self.arrays[key] for key in "qkv"}
            exec(call.replace("'arrays.npz'", repr(str(self.folder / "arrays.npz"))), {"numpy": np, **arrays})
            self.sum("arrays.npz")

    def test_one_axis_is_one_column_with_a_note(self):
        flat = {"q": self.arrays["q"][:, 0], "k": self.arrays["k"][:, 0], "v": self.arrays["v"][:, 0]}
        column = {key: value[:, None] for key, value in flat.items()}
        for kind in ("h5", "npz"):
            self.write(f"flat.{kind}", flat)
            self.write(f"column.{kind}", column)
            for options in ((), ("--block", "7"), ("--gradient",)):
                got, notes = self.sum(f"flat.{kind}", *options)
                want, none = self.sum(f"column.{kind}", *options)
                self.assertEqual(none, "")
                for key in want:
                    np.testing.assert_array_equal(want[key], got[key])
                for name, n in (("q", 7), ("k", 30), ("v", 30)):
                    self.assertIn(f"note: flat.{kind}:/{name} has one axis: read as [{n}, 1]\n", notes)
        self.write("v.h5", {**self.arrays, "v": flat["v"]})
        np.testing.assert_allclose(self.sum("v.h5")[0]["s"], self.sum("v.h5", "--block", "4")[0]["s"], rtol=1e-13)
        self.write("v.h5", {**self.arrays, "v": 1.0})
        self.refuses("sum", "v.h5", "-o", "no.h5", code=4, words=["v.h5:/v", "single number"])

    def test_tau_that_is_no_number_is_told_as_what_it_is(self):
        for tau, words in (("0.7", ["'tau' is text", "0.7", "one number is needed"]), ([1.0, 2.0], ["'tau' is fp64 of shape [2]", "one number"]),
                           (None, ["has no root attribute 'tau'", "--tau"])):
            self.write("a.h5", self.arrays, tau)
            self.refuses("sum", "a.h5", "-o", "no.h5", code=4, words=["a.h5", *words])
            self.sum("a.h5", "--tau", "1")
        for tau in ([0.7], np.float32(0.7), 1):
            self.write("a.h5", self.arrays, tau)
            self.sum("a.h5")

    def test_tau_options_out_of_range(self):
        self.write("a.h5", self.arrays)
        for tau, words in (("inf", "only finite numbers"), ("nan", "only finite numbers"), ("1e400", "too large or too small for a 64-bit float"),
                           ("1e-400", "too large or too small for a 64-bit float"), ("0", "got '0'"), ("-2", "got '-2'"),
                           ("0,5", "decimals are written with a point")):
            self.refuses("sum", "a.h5", "-o", "no.h5", f"--tau={tau}", code=2, words=["--tau must be finite and > 0", words])


if __name__ == "__main__":
    unittest.main()
