#!/usr/bin/env python3
"""Makes tests/data/iris2.h5: the two kinds of iris that overlap, 100 flowers with 4 features.

Source   R. A. Fisher: Iris, UCI Machine Learning Repository, 1936, doi:10.24432/C56C76, as iris.csv in scikit-learn
         (BSD 3-Clause).
Licence  CC BY 4.0.
Layout   /X [100, 4] fp64, /y [100] uint8 (0 versicolor, 1 virginica), /names [4]; and for tests of reading: /grouped (the same
         as features and signs -1, 1), /constant (a column of ones after the first), /three (three labels).

usage: make_iris2.py [WHEEL]     the scikit-learn wheel, fetched by pip when not given; needs numpy and h5py
"""

import pathlib
import sys

import h5py
import numpy as np

import scikit_learn

NAMES = ["sepal length (cm)", "sepal width (cm)", "petal length (cm)", "petal width (cm)"]
SHA256 = "f13ffa8fdd56fd8e6c8d16d4081a3fbd3114bcd0aae4256c43205169cd9d1449"

header, rows = scikit_learn.table("iris.csv", SHA256, *sys.argv[1:2])
assert header == ["150", "4", "setosa", "versicolor", "virginica"], header
values = np.array(rows)
values = values[values[:, 4] > 0]
with h5py.File(pathlib.Path(__file__).parents[2] / "tests" / "data" / "iris2.h5", "w") as file:
    x, y = values[:, :4], (values[:, 4] - 1).astype(np.uint8)
    for name, data in [("X", x), ("y", y), ("names", NAMES),
                       ("grouped/features", x), ("grouped/signs", 2 * y.astype(np.int8) - 1),
                       ("constant/X", np.insert(x, 1, 1, 1)), ("constant/y", y),
                       ("constant/names", NAMES[:1] + ["ones"] + NAMES[1:]),
                       ("three/X", x[:3]), ("three/y", np.arange(3))]:
        file.create_dataset(name, data=data)
    file.attrs["source"] = "Iris, UCI Machine Learning Repository, doi:10.24432/C56C76, by way of scikit-learn"
    file.attrs["licence"] = "CC BY 4.0"
    file.attrs["y"] = "0 versicolor, 1 virginica"
