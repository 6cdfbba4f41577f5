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
