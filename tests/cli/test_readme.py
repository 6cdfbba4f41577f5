"""The commands of the README and of docs/sum.md run as printed and print what they show.

Blocks after `<!-- test -->` are run in one copy of the clone's configs and data; `…` stands for any lines, or any text in a
line. Numbers are compared to 3 % or 0.02, durations, speeds and memory not at all.
"""
import os
import re
import subprocess
import sys
import unittest

from support import PROGRAM, SOURCE, Case

VOLATILE = [(r"[\d.]+ (ms|s|min|h)\b", "TIME"), (r"[\d.e+]+ steps/s", "SPEED"), (r"[\d.]+ [kMG]?B\b", "BYTES")]
NUMBER = r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.])"


def blocks(page):
    text = (SOURCE / page).read_text()
    return re.findall(r"<!-- test -->\n```(\w+)\n(.*?)```", text, re.S)


def same_line(shown, printed):
    for pattern, word in VOLATILE:
        shown, printed = re.sub(pattern, word, shown), re.sub(pattern, word, printed)
    if "…" in shown:
        return re.fullmatch(".*".join(map(re.escape, shown.split("…"))), printed) is not None
    if re.sub(NUMBER, "#", shown).split() != re.sub(NUMBER, "#", printed).split():
        return False
    return all(abs(float(a) - float(b)) <= max(0.02, 0.03 * abs(float(a)))
               for a, b in zip(re.findall(NUMBER, shown), re.findall(NUMBER, printed)))


def same(shown, printed):
    """Do the printed lines match, with "…" for any number of lines?"""
    if not shown:
        return not printed
    if shown[0] == "…":
        return any(same(shown[1:], printed[i:]) for i in range(len(printed) + 1))
    return bool(printed) and same_line(shown[0], printed[0]) and same(shown[1:], printed[1:])


class Readme(Case):
    def run_blocks(self, page, count, behind=""):
        """Runs the blocks of a page, `behind` after each of Python."""
        for name in ("configs", "data"):
            os.symlink(SOURCE / name, self.folder / name)
        (self.folder / "scripts").mkdir()
        os.symlink(PROGRAM, self.folder / "scripts/gaussflow")
        self.assertGreaterEqual(len(blocks(page)), count)
        for kind, block in blocks(page):
            if kind == "python":
                subprocess.run([sys.executable, "-c", block + behind], cwd=self.folder, check=True, stdout=subprocess.DEVNULL)
                continue
            for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
                command, _, shown = part.partition("\n")
                with self.subTest(command=command):
                    done = subprocess.run(["bash", "-c", command], cwd=self.folder, capture_output=True, text=True, timeout=300)
                    self.assertIn(done.returncode, (0, 137, -9), done.stderr)  # 9: KILL
                    printed = (done.stdout + done.stderr).splitlines()
                    self.assertTrue(same(shown.splitlines(), printed), f"shown:\n{shown}\nprinted:\n" + "\n".join(printed))

    def test_blocks_do_what_they_show(self):
        self.run_blocks("README.md", 4, "\nassert x.shape == (500, 2)")
        self.assertEqual(self.digest("runs/straight"), self.digest("runs/killed"))

    def test_blocks_of_the_page_of_sum(self):
        self.run_blocks("docs/sum.md", 3)

    def test_links_lead_somewhere(self):
        for page in [SOURCE / "README.md", *sorted((SOURCE / "docs").glob("*.md"))]:
            for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", re.sub(r"```.*?```", "", page.read_text(), flags=re.S)):
                self.assertTrue((page.parent / target).exists(), f"{page.name} links to {target}")


if __name__ == "__main__":
    unittest.main()
