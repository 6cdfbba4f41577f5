#!/usr/bin/env python3
"""Makes data/own_density.pt: a posterior of one's own, written in PyTorch and saved as TorchScript.

A decay a exp(-k t) was measured five times with error 0.15; x = (log a, log k) with prior N(0, 1). What the program needs is a
method log_prob(x [N, D]) -> [N] (or forward), and data in buffers so that it follows the dtype and device of the particles.
Moments by quadrature (printed at the end): mean (0.090517, -0.760675), sd (0.346821, 0.415793), correlation 0.8431.

Needs torch.
"""

import pathlib
import zipfile

import torch


class Decay(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("t", torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0], dtype=torch.float64))
        self.register_buffer("y", torch.tensor([0.72, 0.35, 0.41, 0.08, 0.19], dtype=torch.float64))

    @torch.jit.export
    def log_prob(self, x):
        model = torch.exp(x[:, :1] - torch.exp(x[:, 1:]) * self.t)
        return -0.5 * ((self.y - model) / 0.15).square().sum(1) - 0.5 * x.square().sum(1)


file = pathlib.Path(__file__).parents[2] / "data" / "own_density.pt"
torch.jit.script(Decay()).save(file)

# For the repository alone: without the debugging entry, which holds the path of this script.
with zipfile.ZipFile(file) as archive:
    entries = [(entry, archive.read(entry)) for entry in archive.infolist() if not entry.filename.endswith(".debug_pkl")]
with zipfile.ZipFile(file, "w") as archive:
    for entry, content in entries:
        archive.writestr(zipfile.ZipInfo(entry.filename), content)

# Trapezoid rule on a grid that holds all but 1e-9 of the mass.
a, k = torch.meshgrid(torch.linspace(-6, 6, 2401, dtype=torch.float64), torch.linspace(-8, 8, 3201, dtype=torch.float64), indexing="ij")
x = torch.stack([a.flatten(), k.flatten()], 1)
p = torch.softmax(Decay().log_prob(x), 0)
mean = p @ x
print("mean", mean.tolist(), "sd", (p @ (x - mean).square()).sqrt().tolist(), "correlation",
      ((p @ (x - mean).prod(1)) / (p @ (x - mean).square()).prod().sqrt()).item())
