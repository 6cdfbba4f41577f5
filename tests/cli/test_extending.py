"""The flow of docs/extending.md, one file and nothing else, is a flow like the others."""
import os
import subprocess
import unittest
from pathlib import Path

import numpy as np
from support import Case

EXTENDED = Path(os.environ["GAUSSFLOW_BUILD"]) / "tests" / "gaussflow_extended"


class Extending(Case):
    def extended(self, *arguments):
        return subprocess.run([EXTENDED, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True)

    def test_a_new_flow_is_listed_parsed_and_run(self):
        self.assertIn("particles climb the kernel density", self.extended("describe").stdout)
        self.assertIn("speed", self.extended("describe", "climb").stdout)
        rng = np.random.default_rng(0)
        self.write_h5("y.h5", samples=np.concatenate([rng.normal(size=(100, 2)) * 0.1, rng.normal(size=(100, 2)) * 0.1 + 4]))
        self.write("climb.yaml", "flow: {type: climb, speed: 1}\ntarget: {samples: y.h5}\nparticles: 40\nkernel: {tau: 4}\nstep: 300\nseed: 1\n")
        done = self.extended("run", "climb.yaml", "-o", "r")
        self.assertEqual(done.returncode, 0, done.stderr)
        x = self.samples("r")
        near = np.minimum(np.linalg.norm(x, axis=1), np.linalg.norm(x - 4, axis=1))
        self.assertLess(near.max(), 0.2)
        refused = self.extended("run", "climb.yaml", "-o", "s", "--set", "flow.speed=-1")
        self.assertEqual(refused.returncode, 3)
        self.assertIn("flow.speed must be > 0", refused.stderr)


if __name__ == "__main__":
    unittest.main()
