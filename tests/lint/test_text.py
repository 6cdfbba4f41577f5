"""What every tracked text must keep: small files, no machine paths, a run bit where one is needed."""
import os
import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(os.environ["GAUSSFLOW_SOURCE"])


def tracked():
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    return [ROOT / name for name in done.stdout.splitlines() if (ROOT / name).is_file()]


class Text(unittest.TestCase):
    def test_no_absolute_home_or_temporary_paths(self):
        wrong = []
        for path in tracked():
            if path.suffix in (".h5", ".h5ad", ".mat", ".pt", ".npz", ".npy"):
                continue
            for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                if re.search(r"(?<![\w.])/(root|home/\w+)/", line):
                    wrong.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}")
        self.assertEqual(wrong, [])

    def test_scripts_can_be_run(self):
        for name in ("scripts/setup", "scripts/build", "scripts/gaussflow", "scripts/test", ".ci/run"):
            self.assertTrue(os.access(ROOT / name, os.X_OK), name)

    def test_files_are_one_subject_long(self):
        long = [f"{p.relative_to(ROOT)}: {n} lines" for p in tracked() if p.suffix in (".cpp", ".hpp", ".py")
                and (n := len(p.read_text().splitlines())) > 600]
        self.assertEqual(long, [])


if __name__ == "__main__":
    unittest.main()
