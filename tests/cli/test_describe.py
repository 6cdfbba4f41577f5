"""What the program says of itself: keys, defaults, flows, targets, and the documentation made from them."""
import json
import unittest

from support import SOURCE, Case


class Describe(Case):
    def test_one_entry_for_each_file_of_flows(self):
        text = self.gaussflow("describe").stdout
        for file in (SOURCE / "flows").glob("*.cpp"):
            self.assertRegex(text, rf"(?m)^  {file.stem} ")
        for file in (SOURCE / "src/target/builtin").glob("*.cpp"):
            self.assertRegex(text, rf"(?m)^  {file.stem} ")

    def test_configuration_page_is_what_the_program_prints(self):
        printed = self.gaussflow("describe", "--markdown").stdout
        self.assertEqual((SOURCE / "docs/configuration.md").read_text(), printed,
                         "docs/configuration.md is old; write it anew: gaussflow describe --markdown > docs/configuration.md")

    def test_schema_is_json_and_knows_every_section(self):
        schema = json.loads(self.gaussflow("describe", "--schema").stdout)
        for section in ("flow", "target", "particles", "kernel", "step", "compute", "output", "checkpoint", "seed"):
            self.assertIn(section, schema["properties"])

    def test_every_key_can_be_described(self):
        schema = json.loads(self.gaussflow("describe", "--schema").stdout)
        for key in schema["properties"]:
            with self.subTest(key=key):
                self.assertIn(key, self.gaussflow("describe", key).stdout)
        for name, words in (("seed", ["integer", "required"]), ("meta", ["anything"]), ("name", ["text"]), ("tau", ["kernel.tau", "1/length"]),
                            ("kernel.tau", ["kernel.tau"]), ("flow.noise", ["flow.mmd.noise", "size"]), ("flow.mmd.noise.size", ["number"]),
                            ("particles.init", ["normal.mean"]), ("every", ["checkpoint.every"]), ("mean", ["target.gaussian.mean", "particles.init.normal.mean"])):
            with self.subTest(name=name):
                text = self.gaussflow("describe", name).stdout
                for word in words:
                    self.assertIn(word, text)
        self.refuses("describe", "sed", code=2, words=["did you mean 'seed'"])
        self.refuses("describe", "kernel.tua", code=2, words=["did you mean 'kernel.tau'"])
        self.refuses("describe", "zzzzzzzz", code=2, words=["gaussflow describe lists"])

    def test_every_example_is_a_config_that_runs(self):
        """`validate` makes its first steps. Outside of a clone only a file of data/, or a run, may be missing."""
        (self.folder / "data").symlink_to(SOURCE / "data")
        (self.folder / "elsewhere").mkdir()
        self.gaussflow("run", SOURCE / "configs/svgd_banana.yaml", "-o", "runs/svgd_banana", "-q", "--steps", "0")
        schema = json.loads(self.gaussflow("describe", "--schema").stdout)
        names = [f"flow.{p.stem}" for p in (SOURCE / "flows").glob("*.cpp")]
        names += [f"target.{p.stem}" for p in (SOURCE / "src/target/builtin").glob("*.cpp")]
        names += [f"particles.init.{start}" for start in ("default", "normal", "uniform", "samples", "file", "run")]
        names += [*schema["properties"], "flow.mmd.noise", "tau"]

        def check(name):
            file = "whole" if name is None else name
            example = self.gaussflow("describe", *([] if name is None else [name]), "--example").stdout
            self.write(f"{file}.yaml", example)
            self.gaussflow("validate", f"{file}.yaml")
            self.write(f"elsewhere/{file}.yaml", example)
            done = self.gaussflow("validate", f"elsewhere/{file}.yaml", code=None)
            if done.returncode != 0:
                self.assertEqual(done.returncode, 4, done.stderr)
                self.assertRegex(done.stderr, r"elsewhere/(data|runs)/")
            for part in (name or "").split(".")[-1:]:
                self.assertIn(part, example)
        self.together(check, [None, *names])

    def test_names_are_suggested(self):
        self.refuses("describe", "svdg", code=2, words=["did you mean 'svgd'"])

    def test_shipped_configs_are_right_and_make_three_steps(self):
        for config in sorted((SOURCE / "configs").glob("*.yaml")):
            with self.subTest(config=config.name):
                options = ["--device", "cpu", "--set", "compute.dtype=auto", "--set", "particles.count=50"] if config.name.startswith("gpu") else []
                self.gaussflow("validate", config, *options)
                self.gaussflow("run", config, "-o", config.stem, "-q", "--steps", "3", *options)
                self.assertEqual(self.status(config.stem)["status"], "finished")

    def test_the_resolved_config_runs_the_same(self):
        config = self.write("a.yaml", "flow: svgd\ntarget: {banana: {a: 2, b: 0.5}}\nparticles: 30\nstep: 20\nseed: 5\n")
        resolved = self.gaussflow("validate", config).stdout
        self.write("b.yaml", resolved)
        self.gaussflow("run", "a.yaml", "-o", "a", "-q")
        self.gaussflow("run", "b.yaml", "-o", "b", "-q")
        self.assertEqual(self.digest("a"), self.digest("b"))


if __name__ == "__main__":
    unittest.main()
