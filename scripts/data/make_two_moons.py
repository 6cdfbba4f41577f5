#!/usr/bin/env python3
"""Makes data/two_moons.h5: two interleaved half circles with noise, /x [2000, 2] fp64.

Unit half circles, the upper one around (0, 0) and the lower one around (1, 1/2), each point moved by N(0, 0.1^2); 1000 points
from each, in random order. Needs numpy and h5py.
"""

import pathlib

import h5py
import numpy as np

HALF = 1000
NOISE = 0.1

random = np.random.Generator(np.random.Philox(20))
angle = random.uniform(0, np.pi, (2, HALF))
upper = np.stack([np.cos(angle[0]), np.sin(angle[0])], 1)
lower = np.stack([1 - np.cos(angle[1]), 0.5 - np.sin(angle[1])], 1)
points = np.concatenate([upper, lower]) + NOISE * random.standard_normal((2 * HALF, 2))
points = random.permutation(points)
with h5py.File(pathlib.Path(__file__).parents[2] / "data" / "two_moons.h5", "w") as file:
    file.create_dataset("x", data=points)
    file.create_dataset("names", data=["x1", "x2"])
    file.attrs["source"] = "scripts/data/make_two_moons.py"
