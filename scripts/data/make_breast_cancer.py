#!/usr/bin/env python3
"""Makes data/breast_cancer.h5: Wisconsin diagnostic breast cancer, 569 tumours with 30 features.

Source   W. H. Wolberg, O. L. Mangasarian, W. N. Street: Breast Cancer Wisconsin (Diagnostic), UCI Machine Learning Repository,
         1995, doi:10.24432/C5DW2B, as breast_cancer.csv in scikit-learn (BSD 3-Clause).
Licence  CC BY 4.0.
Layout   /X [569, 30] fp64, /y [569] uint8 (1 benign, 0 malignant), /names [30].

usage: make_breast_cancer.py [WHEEL]     the scikit-learn wheel, fetched by pip when not given; needs numpy and h5py
"""

import pathlib
import sys

import h5py
import numpy as np

import scikit_learn

MEASURES = ["radius", "texture", "perimeter", "area", "smoothness", "compactness", "concavity", "concave points", "symmetry",
            "fractal dimension"]
NAMES = [f"mean {m}" for m in MEASURES] + [f"{m} error" for m in MEASURES] + [f"worst {m}" for m in MEASURES]
SHA256 = "fed3eb72d0575ef6192293f5093c6e801b1476b577d0386bf4455504522172ed"

header, rows = scikit_learn.table("breast_cancer.csv", SHA256, *sys.argv[1:2])
assert header == ["569", "30", "malignant", "benign"], header
values = np.array(rows)
with h5py.File(pathlib.Path(__file__).parents[2] / "data" / "breast_cancer.h5", "w") as file:
    file.create_dataset("X", data=values[:, :30])
    file.create_dataset("y", data=values[:, 30].astype(np.uint8))
    file.create_dataset("names", data=NAMES)
    file.attrs["source"] = "Breast Cancer Wisconsin (Diagnostic), UCI Machine Learning Repository, doi:10.24432/C5DW2B, by way of scikit-learn"
    file.attrs["licence"] = "CC BY 4.0"
    file.attrs["y"] = "1 benign, 0 malignant"
