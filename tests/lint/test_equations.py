"""docs/equations.md names functions that are declared and test cases that run."""
import os
import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(os.environ["GAUSSFLOW_SOURCE"])
BUILD = Path(os.environ["GAUSSFLOW_BUILD"])


class Equations(unittest.TestCase):
    def test_each_row_has_its_function_and_its_test(self):
        rows = re.findall(r"^\| (.+?) \| `(\w+)` \| (\w+): (.+?) \|$", (ROOT / "docs/equations.md").read_text(), re.M)
        self.assertGreaterEqual(len(rows), 10)
        headers = "\n".join(p.read_text() for p in (ROOT / "include").rglob("*.hpp"))
        cases = {}
        for equation, function, module, case in rows:
            with self.subTest(equation=equation):
                self.assertRegex(headers, rf"\b{function}\(", f"no header declares {function}")
                if module not in cases:
                    done = subprocess.run([BUILD / "tests" / f"test_{module}", "--list-test-cases"], capture_output=True, text=True, check=True)
                    cases[module] = done.stdout.splitlines()
                self.assertIn(case, cases[module], f"test_{module} has no such test case")


if __name__ == "__main__":
    unittest.main()
