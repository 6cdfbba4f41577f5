#!/usr/bin/env python3
"""Makes data/clusters_32d.h5: /x [1600, 32] fp32, eight equal clusters of sd 0.3 around corners drawn from {-1, 1}^32.

Needs numpy and h5py.
"""

import pathlib

import h5py
import numpy as np

rng = np.random.default_rng(32)
corners = rng.choice([-1.0, 1.0], size=(8, 32))
x = np.repeat(corners, 200, axis=0) + 0.3 * rng.normal(size=(1600, 32))
with h5py.File(pathlib.Path(__file__).parents[2] / "data" / "clusters_32d.h5", "w") as file:
    file["x"] = rng.permutation(x).astype(np.float32)
