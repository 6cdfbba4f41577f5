"""Configs that other programs misread: each is accepted with its right reading or refused with the line."""
import shutil
import subprocess
import unittest

import numpy as np
from support import Case

GOOD = """flow: svgd
target: {gaussian: {mean: [0, 0], sd: [1, 1]}}
particles: 10
step: {count: 3, method: euler, size: 0.1}
kernel: {tau: 0.5}
seed: 1
"""


class Config(Case):
    def resolved(self, text, name="c.yaml"):
        """The accepted config as JSON text of `validate`."""
        import json
        self.write(name, text)
        return json.loads(self.gaussflow("validate", name, "--json").stdout)["config"]

    def rejects(self, text, *words, name="c.yaml"):
        """Exit code 3, a message with the file's name and `words`, and no run folder."""
        self.write(name, text)
        done = self.refuses("run", name, "-o", "never", code=3, words=[name, *words])
        self.assertFalse((self.folder / "never").exists())
        return done

    def replaced(self, old, new):
        self.assertIn(old, GOOD)
        return GOOD.replace(old, new)

    def test_cfg_01_duplicate_keys_name_both_lines(self):
        self.rejects(GOOD + "seed: 2\n", ":7:", "line 6", "seed")
        self.rejects(self.replaced("{tau: 0.5}", "\n  tau: 1\n  tau: 2"), ":7:", "line 6", "tau")
        self.rejects(self.replaced("{tau: 0.5}", "{tau: 1, tau: 2}"), "tau")
        self.rejects(self.replaced("{tau: 0.5}", "{tau: 1, 'tau': 2}"), "tau")

    def test_cfg_02_exponent_forms(self):
        config = self.resolved(self.replaced("size: 0.1", "size: 1e-3").replace("tau: 0.5", "tau: 1e2").replace("count: 3", "count: 1e3"))
        self.assertEqual((config["step"]["size"], config["kernel"]["tau"], config["step"]["count"]), (1e-3, 100, 1000))
        config = self.resolved(self.replaced("size: 0.1", "size: 1E-3").replace("tau: 0.5", "tau: +1.e+2").replace("count: 3", "count: 2_000"))
        self.assertEqual((config["step"]["size"], config["kernel"]["tau"], config["step"]["count"]), (1e-3, 100, 2000))
        self.rejects(self.replaced("count: 3", "count: 1.5e0"), ":4:", "count")
        self.rejects(self.replaced("count: 3", "count: 1e-3"), ":4:", "count")

    def test_cfg_03_leading_zeros_are_not_octal(self):
        for text in ("0100", "0x10", "0o17", "0b1", "1,000"):
            with self.subTest(text=text):
                self.rejects(self.replaced("count: 3", f"count: '{text}'" if "," in text else f"count: {text}"), ":4:", "count")

    def test_cfg_04_misspelt_keys_are_named_with_the_nearest(self):
        for old, new, key, nearest in [("size: 0.1", "sise: 0.1", "sise", "size"), ("tau: 0.5", "tua: 0.5", "tua", "tau"),
                                       ("particles: 10", "particels: 10", "particels", "particles"), ("flow: svgd", "flow: svdg", "svdg", "svgd"),
                                       ("gaussian:", "gausian:", "gausian", "gaussian"), ("method: euler", "method: eular", "eular", "euler")]:
            with self.subTest(key=key):
                self.rejects(self.replaced(old, new), key, f"did you mean '{nearest}'")

    def test_cfg_05_bad_text_never_becomes_a_default(self):
        for old, new, line in [("tau: 0.5", "tau: abc", 5), ("seed: 1", "seed: -5", 6), ("count: 3", "count: ten", 4),
                               ("size: 0.1", "size: 0,1x", 4), ("tau: 0.5", "tau: [1]", 5), ("tau: 0.5", "tau: {a: 1}", 5),
                               ("seed: 1", "seed:", 6), ("seed: 1", "seed: ~", 6), ("seed: 1", "seed: 1.5", 6), ("particles: 10", "particles: true", 3)]:
            with self.subTest(new=new):
                done = self.rejects(self.replaced(old, new))
                self.assertRegex(done.stderr, rf"c\.yaml:{line}:\d+: ")

    def test_cfg_06_not_finite_or_out_of_range(self):
        for old, new in [("tau: 0.5", f"tau: {bad}") for bad in (".nan", ".inf", "-.inf", "0", "-1", "nan", "1e999", "-0.0")] + \
                        [("size: 0.1", f"size: {bad}") for bad in (".nan", ".inf", "0", "-0.1")]:
            with self.subTest(new=new):
                done = self.rejects(self.replaced(old, new), new.split(":")[0])
                self.assertRegex(done.stderr, r"c\.yaml:[45]:\d+: ")

    def test_cfg_07_merge_keys_are_refused_or_merged(self):
        self.write("c.yaml", "meta: {base: &b {tau: 7}}\n" + self.replaced("{tau: 0.5}", "{<<: *b}"))
        done = self.gaussflow("validate", "c.yaml", "--json", code=None)
        if done.returncode == 0:
            self.assertIn('"tau": 7', done.stdout)
        else:
            self.assertEqual(done.returncode, 3)
            self.assertIn("<<", done.stderr)
        self.assertEqual(self.resolved("meta: {base: &b {tau: 7}}\n" + self.replaced("{tau: 0.5}", "*b"))["kernel"]["tau"], 7)

    def test_cfg_08_a_second_document_is_refused(self):
        self.rejects(GOOD + "---\nseed: 2\n", "document")
        self.resolved("---\n" + GOOD + "...\n")

    def test_cfg_09_empty_configs(self):
        for text in ("", "# x\n", "\n\n", "---\n", "~\n", "[]\n", "text\n", "{}\n"):
            with self.subTest(text=text):
                self.rejects(text)

    def test_cfg_10_tabs_and_missing_spaces(self):
        done = self.rejects(GOOD + "output:\n\tmetrics: 1\n")
        self.assertRegex(done.stderr, r"c\.yaml:[78]:")
        done = self.rejects(GOOD + "name:x\n")
        self.assertRegex(done.stderr, r"c\.yaml:[67]:")
        for text in (GOOD + "name: [1, 2\n", GOOD + "name: 'x\n", GOOD + "}\n", GOOD + "name: *nobody\n", GOOD + "name: \"\\q\"\n", "\0", "&a [*a]\n"):
            with self.subTest(text=text[-12:]):
                self.rejects(text)

    def test_cfg_11_booleans(self):
        for text, value in (("no", False), ("off", False), ("yes", True), ("on", True), ("true", True), ("False", False)):
            with self.subTest(text=text):
                self.assertIs(self.resolved(self.replaced("size: 0.1", f"restart: {text}"))["step"]["restart"], value)
        for text in ("'no'", "0", "1", "nope", "''"):
            with self.subTest(text=text):
                self.rejects(self.replaced("size: 0.1", f"restart: {text}"), ":4:", "restart")

    def test_cfg_12_zero_and_negative_intervals(self):
        self.rejects(self.replaced("count: 3", "count: -5"), ":4:", "count")
        self.rejects(GOOD + "checkpoint: 0steps\n", ":7:")
        self.rejects(GOOD + "checkpoint: 0\n", ":7:")
        self.rejects(GOOD + "checkpoint: {keep: 0}\n", ":7:", "keep")
        self.write("c.yaml", GOOD + "output: {metrics: 0, trajectory: 0}\ncheckpoint: never\n")
        self.gaussflow("run", "c.yaml", "-o", "none", "-q")
        self.assertFalse((self.folder / "none/metrics.csv").exists())
        self.write("c.yaml", GOOD)
        self.gaussflow("run", "c.yaml", "-o", "zero", "-q", "--steps", "0")
        self.assertEqual(self.samples("zero").shape, (10, 2))
        self.assertEqual(self.status("zero")["status"], "finished")
        self.gaussflow("run", "c.yaml", "-o", "three", "-q")
        import h5py
        with h5py.File(sorted((self.folder / "three/trajectory").glob("*.h5"))[0], "r") as file:
            np.testing.assert_array_equal(file["particles/all/position/value"][0], self.samples("zero"))

    def test_cfg_13_huge_numbers(self):
        self.rejects(self.replaced("count: 3", "count: 99999999999999999999"), ":4:", "count")
        self.rejects(self.replaced("particles: 10", "particles: 1000000000000"), ":3:", "particles")
        self.rejects(self.replaced("seed: 1", "seed: 18446744073709551616"), ":6:", "seed")
        # Within the range, but more than this machine has: said before anything is allocated or written.
        self.write("c.yaml", self.replaced("particles: 10", "particles: 1000000000").replace("[0, 0]", str([0] * 1000)).replace("[1, 1]", str([1] * 1000)))
        done = self.refuses("run", "c.yaml", "-o", "never", code=9, words=["memory"])
        self.assertFalse((self.folder / "never").exists())

    @unittest.skipUnless(shutil.which("localedef"), "no localedef to make a locale with")
    def test_cfg_14_a_locale_with_decimal_comma(self):
        made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", str(self.folder / "de_DE.UTF-8")], capture_output=True, text=True)
        if not (self.folder / "de_DE.UTF-8").exists():
            self.skipTest(f"localedef cannot make de_DE.UTF-8: {made.stderr.strip()[:100]}")
        german = {"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8", "LOCPATH": str(self.folder)}
        self.write("c.yaml", GOOD)
        self.gaussflow("run", "c.yaml", "-o", "c", env={"LC_ALL": "C"})
        done = self.gaussflow("run", "c.yaml", "-o", "german", env=german)
        self.assertEqual(self.digest("c"), self.digest("german"))
        self.assertNotRegex(done.stderr, r"\d,\d")
        for name in ("metrics.csv", "config.resolved.yaml"):
            strip = (lambda t: [",".join(f for i, f in enumerate(line.split(",")) if i != 2) for line in t.splitlines()]) if name.endswith("csv") else (lambda t: t)
            self.assertEqual(strip((self.folder / "c" / name).read_text()), strip((self.folder / "german" / name).read_text()).copy()
                             if name.endswith("csv") else (self.folder / "german" / name).read_text())
        self.gaussflow("run", "c.yaml", "-o", "half", "--set", "kernel.tau=0.25", env=german)
        self.assertEqual(float(self.metrics("half")["tau"][0]), 0.25)
        self.write("table.csv", "0.5,1.5\n-2.25,1e-3\n")
        self.gaussflow("import", "table.csv", "-o", "table.h5", env=german)
        import h5py
        with h5py.File(self.folder / "table.h5", "r") as file:
            np.testing.assert_array_equal(file["samples"][:], [[0.5, 1.5], [-2.25, 1e-3]])

    def test_cfg_15_paths_are_relative_to_the_config(self):
        rng = np.random.default_rng(0)
        (self.folder / "my project/data set").mkdir(parents=True)
        (self.folder / "elsewhere").mkdir()
        self.write_h5("my project/data set/y 1.h5", samples=rng.normal(size=(20, 2)))
        self.write("my project/m.yaml", "flow: mmd\ntarget: {samples: data set/y 1.h5}\nparticles: 10\nstep: 2\nseed: 1\n")
        self.gaussflow("run", "../my project/m.yaml", "-o", "r", "-q", cwd=self.folder / "elsewhere")
        self.gaussflow("resume", "elsewhere/r", "-q", "--until-step", "3")
        self.gaussflow("run", "my project/m.yaml", "-o", "set", "-q", "--set", "target.samples.file=my project/data set/y 1.h5")
        self.write("my project/m.yaml", "flow: mmd\ntarget: {samples: ~/y.h5}\nparticles: 10\nstep: 2\nseed: 1\n")
        self.write_h5("home.h5", samples=rng.normal(size=(20, 2)))
        (self.folder / "home").mkdir()
        (self.folder / "home.h5").rename(self.folder / "home/y.h5")
        done = self.gaussflow("run", "my project/m.yaml", "-o", "tilde", "-q", env={"HOME": str(self.folder / "home")}, code=None)
        if done.returncode != 0:
            self.assertIn(done.returncode, (3, 4))
            self.assertIn("~/y.h5", done.stderr)

    def test_cfg_16_shapes_inside_the_config(self):
        for target, word in [("{mean: [0, 0, 0], sd: [1, 1]}", "3"), ("{mean: [0, 0], sd: [1, 1, 1]}", "3"), ("{mean: [0, 0], cov: [[1, 0.5], [0.4, 1]]}", "symmetric"),
                             ("{mean: [0, 0], cov: [[1, 2], [2, 1]]}", "positive"), ("{mean: [0, 0], cov: [[1, 0], [0]]}", "cov"),
                             ("{mean: [0, 0], sd: [1, 0]}", "sd"), ("{mean: [0, 0], sd: [1, -1]}", "sd"), ("{mean: [], sd: []}", "mean"), ("{mean: [0, .nan], sd: [1, 1]}", "mean"),
                             ("{mean: [0, 0], cov: [[1, 0], [0, 1]], sd: [1, 1]}", "sd")]:
            with self.subTest(target=target):
                self.rejects(self.replaced("{mean: [0, 0], sd: [1, 1]}", target), word)
        self.write("c.yaml", self.replaced("particles: 10", "particles: {count: 10, init: {normal: {mean: [0, 0, 0]}}}"))
        self.refuses("run", "c.yaml", "-o", "never", code=3, words=["3 numbers", "dimension 2"])

    def test_cfg_17_byte_order_marks_line_ends_and_no_final_newline(self):
        digests = set()
        forms = {"plain": GOOD.encode(), "bom": b"\xef\xbb\xbf" + GOOD.encode(), "crlf": GOOD.replace("\n", "\r\n").encode(),
                 "unfinished": GOOD.rstrip().encode(), "all": b"\xef\xbb\xbf" + GOOD.rstrip().replace("\n", "\r\n").encode()}
        for name, text in forms.items():
            self.write(f"{name}.yaml", text)
            self.gaussflow("run", f"{name}.yaml", "-o", name, "-q")
            digests.add(self.digest(name))
        self.assertEqual(len(digests), 1)
        self.rejects(GOOD.encode("utf-16"))
        self.rejects(GOOD.replace("seed", "s\xe9ed").encode("latin-1"))


if __name__ == "__main__":
    unittest.main()
