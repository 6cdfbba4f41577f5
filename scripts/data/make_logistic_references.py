#!/usr/bin/env python3
"""Makes data/breast_cancer_reference.h5 and tests/data/iris2_reference.h5: posterior moments of the two logistic regressions.

Model    intercept first, features with mean 0 and sd 1 (ddof 0), prior N(0, I), labels 0 and 1.
Method   Hamiltonian Monte Carlo in numpy, sharing no code with the program: coordinates whitened by the Laplace approximation,
         96 chains, jittered step and path length, accepted by Metropolis. Prints split R-hat and the Monte Carlo error.
Layout   /mean /sd /mode [D] fp64, /mcse [D] the Monte Carlo error of the mean, /names [D].

usage: make_logistic_references.py [DRAWS]     draws a chain, 20000 unless given (a few minutes); needs numpy and h5py
"""

import pathlib
import sys

import h5py
import numpy as np

ROOT = pathlib.Path(__file__).parents[2]
CHAINS = 96
WARM_UP = 300


def mode_and_hessian(log_posterior_terms, dim):
    w = np.zeros(dim)
    for _ in range(100):
        gradient, hessian = log_posterior_terms(w)
        step = np.linalg.solve(hessian, gradient)
        w += step
        if np.abs(step).max() < 1e-13:
            return w, hessian
    sys.exit("no mode found")


def sample(features, labels, draws, random):
    """Draws [draws, chains, D] and the mode."""
    dim = features.shape[1]
    signed = features * (2 * labels - 1)[:, None]

    def newton_terms(w):
        p = 1 / (1 + np.exp(signed @ w))
        return signed.T @ p - w, (signed * (p * (1 - p))[:, None]).T @ signed + np.eye(dim)

    mode, hessian = mode_and_hessian(newton_terms, dim)
    factor = np.linalg.inv(np.linalg.cholesky(hessian)).T  # w = mode + factor u, u about N(0, I)
    design = signed @ factor
    offset = signed @ mode

    def log_density_and_gradient(u):
        z = u @ design.T + offset
        w = mode + u @ factor.T
        value = -np.logaddexp(0, -z).sum(1) - 0.5 * (w * w).sum(1)
        return value, (0.5 * (1 - np.tanh(0.5 * z))) @ design - w @ factor

    u = 1.5 * random.standard_normal((CHAINS, dim))
    value, gradient = log_density_and_gradient(u)
    kept = np.empty((draws, CHAINS, dim))
    accepted = 0.0
    for t in range(WARM_UP + draws):
        epsilon = 0.35 * random.uniform(0.7, 1.3)
        leaps = random.integers(3, 6)
        momentum = random.standard_normal(u.shape)
        energy = value - 0.5 * (momentum * momentum).sum(1)
        position, slope = u, gradient
        for _ in range(leaps):
            momentum = momentum + 0.5 * epsilon * slope
            position = position + epsilon * momentum
            new_value, slope = log_density_and_gradient(position)
            momentum = momentum + 0.5 * epsilon * slope
        change = new_value - 0.5 * (momentum * momentum).sum(1) - energy
        take = np.log(random.uniform(size=CHAINS)) < change
        u = np.where(take[:, None], position, u)
        value = np.where(take, new_value, value)
        gradient = np.where(take[:, None], slope, gradient)
        if t >= WARM_UP:
            kept[t - WARM_UP] = mode + u @ factor.T
            accepted += take.mean() / draws
    print(f"  accepted {accepted:.3f}")
    return kept, mode


def summarise(kept):
    draws, chains, dim = kept.shape
    halves = np.concatenate([kept[: draws // 2], kept[draws // 2: 2 * (draws // 2)]], 1)
    within = halves.var(0, ddof=1).mean(0)
    between = halves.mean(0).var(0, ddof=1)
    r_hat = np.sqrt(1 + between / within)
    mean = kept.mean((0, 1))
    squares = ((kept - mean) ** 2).mean(0)
    sd = np.sqrt(squares.mean(0))
    # Chains are independent.
    mcse = kept.mean(0).std(0, ddof=1) / np.sqrt(chains)
    mcse_sd = squares.std(0, ddof=1) / np.sqrt(chains) / (2 * sd)
    print(f"  split R-hat at most {r_hat.max():.6f}, errors at most {(mcse / sd).max():.5f} sd in the means,"
          f" {(mcse_sd / sd).max():.5f} in the sds")
    return mean, sd, mcse


def main():
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 20000
    for seed, source, target in [(1, "data/breast_cancer", "data/breast_cancer_reference"),
                                 (2, "tests/data/iris2", "tests/data/iris2_reference")]:
        with h5py.File(ROOT / f"{source}.h5") as file:
            x, y, names = file["X"][:], file["y"][:].astype(float), list(file["names"].asstr())
        features = np.c_[np.ones(len(x)), (x - x.mean(0)) / x.std(0)]
        print(source)
        kept, mode = sample(features, y, draws, np.random.Generator(np.random.Philox(seed)))
        mean, sd, mcse = summarise(kept)
        with h5py.File(ROOT / f"{target}.h5", "w") as file:
            for key, value in [("mean", mean), ("sd", sd), ("mode", mode), ("mcse", mcse)]:
                file.create_dataset(key, data=value)
            file.create_dataset("names", data=["intercept"] + names)
            file.attrs["source"] = f"scripts/data/make_logistic_references.py: {CHAINS} chains of HMC, {draws} draws each"


if __name__ == "__main__":
    main()
