"""Formatting is clang-format's business."""
import os
import shutil
import subprocess
import unittest
from pathlib import Path

ROOT = Path(os.environ["GAUSSFLOW_SOURCE"])


class Format(unittest.TestCase):
    @unittest.skipUnless(shutil.which("clang-format"), "clang-format is not installed")
    def test_all_sources_are_formatted(self):
        files = [str(p) for folder in ("include", "src", "flows", "tests", "bench")
                 for p in sorted((ROOT / folder).rglob("*")) if p.suffix in (".hpp", ".cpp", ".h")]
        done = subprocess.run(["clang-format", "--dry-run", "-Werror", *files], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, "run: clang-format -i on these\n" + done.stderr[:4000])


if __name__ == "__main__":
    unittest.main()
