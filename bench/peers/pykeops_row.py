#!/usr/bin/env python3
"""PyKeOps rows for bench_gauss_sum: the same sum, the same sizes, the same columns of CSV.

Set up as its documentation says is fastest on a CPU: a Genred formula, compiled and warm, keys reduced over. PyKeOps
compiles without machine flags; run a second time with CXXFLAGS="-march=native -ffast-math" for what it can do:

    python3 -m venv venv && venv/bin/pip install numpy pykeops
    OMP_NUM_THREADS=2 venv/bin/python bench/peers/pykeops_row.py --n 4096
    OMP_NUM_THREADS=2 CXXFLAGS="-march=native -ffast-math" venv/bin/python bench/peers/pykeops_row.py --n 4096 --name pykeops-native
"""

import argparse
import os
import statistics
import time

import numpy as np


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=4096)
    parser.add_argument("--shapes", default="3,1:3,4:10,11:32,1:32,33:64,65:128,129")
    parser.add_argument("--dtype", choices=["fp32", "fp64"], default="fp32")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--name", default="pykeops")
    args = parser.parse_args()

    # A build with other flags is another build: PyKeOps itself keys its cache by formula alone.
    import pykeops

    pykeops.set_build_folder(os.path.join(pykeops.get_build_folder(), args.name))
    from pykeops.numpy import Genred

    dtype = {"fp32": "float32", "fp64": "float64"}[args.dtype]
    threads = os.environ.get("OMP_NUM_THREADS", str(os.cpu_count()))
    print("row,dtype,n,D,C,threads,wall_s,cpu_s,Gpairs_per_s,ratio_to_flash,cpu_ratio_to_flash,share_of_fma_peak,error")
    for shape in args.shapes.split(":"):
        dim, channels = map(int, shape.split(","))
        random = np.random.default_rng(1)
        scale = dim**-0.5
        q = (random.standard_normal((args.n, dim)) * scale).astype(dtype)
        k = (random.standard_normal((args.n, dim)) * scale).astype(dtype)
        v = random.standard_normal((args.n, channels)).astype(dtype)
        half_tau = np.array([0.5], dtype)
        gauss_sum = Genred(
            "Exp(-S * SqDist(x, y)) * v",
            ["S = Pm(1)", f"x = Vi({dim})", f"y = Vj({dim})", f"v = Vj({channels})"],
            reduction_op="Sum",
            axis=1,
        )
        got = gauss_sum(half_tau, q, k, v, backend="CPU")  # compiles
        rows = slice(0, 64)
        q64, k64, v64 = q[rows].astype(np.float64), k.astype(np.float64), v.astype(np.float64)
        phi = np.exp(-0.5 * ((q64[:, None, :] - k64[None, :, :]) ** 2).sum(-1))
        error = np.linalg.norm(got[rows] - phi @ v64, axis=0) / np.linalg.norm(phi @ np.abs(v64), axis=0)
        wall, processor = [], []
        for _ in range(args.repeats):
            w, p = time.perf_counter(), time.process_time()
            gauss_sum(half_tau, q, k, v, backend="CPU")
            wall.append(time.perf_counter() - w)
            processor.append(time.process_time() - p)
        w, p = statistics.median(wall), statistics.median(processor)
        print(f"{args.name},{args.dtype},{args.n},{dim},{channels},{threads},{w:.6g},{p:.6g},{args.n**2 / w * 1e-9:.4g},,,,{error.max():.2e}", flush=True)


if __name__ == "__main__":
    main()
