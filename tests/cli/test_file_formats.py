"""docs/file_formats.md names every dataset and attribute that the files hold, and no other."""
import re
import unittest

import h5py
import numpy as np
from support import SOURCE, Case


def documented():
    """{heading: names in the first column of its last table}."""
    found = {}
    for section in re.split(r"^## ", (SOURCE / "docs/file_formats.md").read_text(), flags=re.M)[1:]:
        rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `/")]
        found[section.splitlines()[0]] = {name for cell in rows for name in re.findall(r"`(/[^`]*)`", cell)}
    return found


def contents(file):
    """Every path to a dataset, hard links each by themselves, and every attribute."""
    names = set()

    def visit(group, path):
        names.update(f"{path or '/'}@{name}" for name in group.attrs)
        for name, item in group.items():
            if isinstance(item, h5py.Group):
                visit(item, f"{path}/{name}")
            else:
                names.add(f"{path}/{name}")
                names.update(f"{path}/{name}@{attribute}" for attribute in item.attrs)
    with h5py.File(file, "r") as opened:
        visit(opened, "")
    return {re.sub(r"^/(state/slots|observables)/[^/]+", r"/\1/<name>", name) for name in names}


class FileFormats(Case):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(0)
        self.write_h5("y.h5", samples=rng.normal(size=(40, 2)), w=rng.uniform(1, 2, size=20), q=rng.normal(size=(5, 2)), v=np.ones((5, 1)))
        self.write("mmd.yaml", "flow: mmd\ntarget: {samples: y.h5}\nparticles: {count: 20, weights: y.h5:/w}\nstep: 10\nseed: 1\n")
        self.write("svgd.yaml", "flow: svgd\ntarget: banana\nparticles: 20\nstep: {count: 10, method: nesterov, size: 0.01}\nseed: 1\n")
        for run in ("mmd", "svgd"):
            self.gaussflow("run", f"{run}.yaml", "-o", run, "-q")

    def compare(self, heading, *patterns):
        files = [file for pattern in patterns for file in self.folder.glob(pattern)]
        self.assertTrue(files)
        self.assertEqual(documented()[heading], set.union(*map(contents, files)))

    def test_files_of_runs(self):
        self.compare("samples.h5", "*/samples.h5")
        self.compare("Checkpoints", "*/checkpoints/ckpt-*.h5")
        self.compare("Trajectories", "*/trajectory/seg-*.h5")

    def test_files_of_import_and_sum(self):
        np.savetxt(self.folder / "t.csv", np.ones((5, 2)), delimiter=",", header="a,b", comments="")
        self.gaussflow("import", "t.csv", "-o", "imported.h5")
        self.compare("What is read as samples", "imported.h5")
        self.gaussflow("sum", "y.h5", "-o", "sum.h5", "--tau", "1", "--gradient")
        self.gaussflow("sum", "y.h5", "-o", "sum-blocks.h5", "--tau", "1", "--block", "2")
        self.gaussflow("sum", "y.h5", "-o", "sum-attention.h5", "--tau", "1", "--reduction", "reweight")
        self.compare("The output of `gaussflow sum`", "sum*.h5")


if __name__ == "__main__":
    unittest.main()
