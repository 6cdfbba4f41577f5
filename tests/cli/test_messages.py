"""What a person reads when a command is not right: the commands in a message work when they are pasted, a missing name is
suggested, and everything that is wrong is said at once."""
import shlex
import signal
import unittest

import numpy as np
from support import SOURCE, Case

GOOD = "flow: svgd\ntarget: {gaussian: {mean: [0, 0], sd: [1, 1]}}\nparticles: 10\nstep: {count: 3, method: euler, size: 0.1}\nseed: 1\n"


class Messages(Case):
    def setUp(self):
        super().setUp()
        self.write("c.yaml", GOOD)

    def pasted(self, text, start, *more, code=0):
        """Runs the command that stands in `text` from `start` to the end of its line."""
        line = next(line for line in text.splitlines() if start in line)
        words = shlex.split(line[line.index(start):].split("   [")[0])
        self.assertEqual(words[0], "gaussflow")
        return self.gaussflow(*words[1:], *more, code=code)

    def test_suggested_commands_can_be_pasted(self):
        for run in ("my runs/a b", "it's", "$HOME;x", "tab\there"):
            with self.subTest(run=run):
                done = self.gaussflow("run", "c.yaml", "-o", run)
                self.pasted(done.stderr, "gaussflow inspect")
                self.pasted(done.stderr, "gaussflow resume", "-q")
                done = self.refuses("run", "c.yaml", "-o", run, code=8)
                self.pasted(done.stderr, "gaussflow resume")
                done = self.gaussflow("resume", run)
                line = next(line for line in done.stderr.splitlines() if "To go on" in line)
                self.gaussflow(*shlex.split(line.split("To go on: ")[1].replace("--extend-by N", "--extend-by 1"))[1:], "-q")

    def test_the_command_after_a_stop_can_be_pasted(self):
        self.write("long.yaml", GOOD.replace("count: 3", "count: 100000000"))
        process = self.start("run", "long.yaml", "-o", "a b")
        self.wait_for(lambda: (self.folder / "a b/status.json").exists())
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(60), 75)
        text = process.stderr.read()
        self.pasted(text, "gaussflow resume", "-q", "--until-step", "0")

    def test_a_config_for_other_settings_can_be_pasted(self):
        self.gaussflow("run", "c.yaml", "-o", "a, b: {c}", "-q")
        done = self.refuses("resume", "a, b: {c}", "--set", "seed=2", "--until-step", "5", code=5)
        init = done.stderr.splitlines()[-1].split("particles.init: ")[1]
        self.write("next.yaml", GOOD.replace("particles: 10", f"particles: {{init: {init}}}"))
        self.gaussflow("run", "next.yaml", "-o", "next", "-q")

    def test_a_run_without_checkpoints_says_how_to_start_anew(self):
        self.gaussflow("run", "c.yaml", "-o", "a b", "-q")
        for file in self.checkpoints("a b"):
            file.write_bytes(b"")
        for _ in range(2):  # the first one puts them aside
            done = self.refuses("resume", "a b", code=5)
        command = done.stderr.splitlines()[-1].split("anew: ")[1].replace("CONFIG", "c.yaml")
        self.gaussflow(*shlex.split(command)[1:], "-q")

    def test_a_file_in_place_of_a_folder(self):
        self.write("file", "mine")
        for more in ((), ("--overwrite",), ("--resume", "auto")):
            self.refuses("run", "c.yaml", "-o", "file", *more, code=6, words=["file is a file, a run needs a folder"])
        self.refuses("resume", "file", code=5, words=["there is no run folder file"])
        self.assertEqual((self.folder / "file").read_text(), "mine")

    def test_the_conversion_of_a_table_can_be_pasted(self):
        np.savetxt(self.folder / "my table.csv", np.random.default_rng(0).normal(size=(20, 2)), delimiter=",")
        np.save(self.folder / "my array.npy", np.zeros((20, 2)))
        np.savez(self.folder / "my arrays.npz", samples=np.zeros((20, 2)))
        for name in ("my table.csv", "my array.npy", "my arrays.npz"):
            with self.subTest(name=name):
                self.write("m.yaml", f"flow: mmd\ntarget: {{samples: {name}}}\nparticles: 10\nstep: 2\nseed: 1\n")
                done = self.refuses("run", "m.yaml", "-o", "never", code=4)
                self.pasted(done.stderr, "gaussflow import")
                (self.folder / "samples.h5").unlink()

    def test_a_missing_name_is_suggested(self):
        (self.folder / "configs").mkdir()
        (self.folder / "c.yaml").rename(self.folder / "configs/quickstart.yaml")
        for verb in ("run", "validate"):
            self.refuses(verb, "configs/quickstrat.yaml", code=3, words=["did you mean 'configs/quickstart.yaml'"])
        self.gaussflow("run", "configs/quickstart.yaml", "-q")
        self.refuses("resume", "runs/quickstrat", code=5, words=["did you mean 'runs/quickstart'"])
        self.refuses("inspect", "runs/quickstrat", code=4, words=["did you mean 'runs/quickstart'"])
        self.refuses("inspect", "runs/quickstart/sample.h5", code=4, words=["did you mean 'runs/quickstart/samples.h5'"])
        self.write("n.yaml", GOOD.replace("particles: 10", "particles: {init: {run: runs/quickstrat}}"))
        self.refuses("run", "n.yaml", "-o", "never", code=4, words=["particles.init.run", "did you mean 'runs/quickstart'"])
        self.write("t.yaml", "flow: svgd\ntarget: {torchscript: {file: my.pt, dim: 2}}\nparticles: 9\nstep: 1\nseed: 1\n")
        self.write("mi.pt", "")
        self.refuses("run", "t.yaml", "-o", "never", code=4, words=["my.pt does not exist", "did you mean 'mi.pt'"])

    def test_errors_of_the_file_and_of_the_flags_come_together(self):
        self.write("bad.yaml", GOOD.replace("seed: 1", "seed: -1\nkernel: {tua: 2}"))
        done = self.refuses("validate", "bad.yaml", "--set", "step.count", "--set", "particles.count=many", "--set", "flow=svdg", code=3)
        for word in ("bad.yaml:5:", "seed must be", "unknown key 'tua'", "no '=' in it", "particles.count must be", "did you mean 'svgd'"):
            self.assertIn(word, done.stderr)
        self.gaussflow("run", "c.yaml", "-o", "r", "-q")
        done = self.refuses("resume", "r", "--set", "step.count", "--set", "checkpoint.keep=0", code=3)
        for word in ("no '=' in it", "checkpoint.keep must be"):
            self.assertIn(word, done.stderr)

    def test_a_name_does_not_lead_out_of_runs(self):
        (self.folder / "work").mkdir()
        for name in ("../evil", "a/b", "/tmp/gaussflow-evil", ".", "..", "", "x" * 300, "a\\nb"):
            with self.subTest(name=name):
                text = GOOD.replace("seed", f'name: "{name}"\nkernel: {{tau: -1}}\nseed')
                self.write("work/c.yaml", text)
                self.refuses("run", "c.yaml", code=3, words=["c.yaml:5:", "name must be able to name a folder", "kernel.tau"], cwd=self.folder / "work")
                self.write("work/c.yaml", GOOD)
                if name:
                    self.refuses("run", "c.yaml", "--set", f'name="{name}"', code=3, words=["--set name="], cwd=self.folder / "work")
        for config in ("..yaml", "...yaml"):
            self.write(f"work/{config}", GOOD)
            self.refuses("run", config, code=3, words=[config, "name"], cwd=self.folder / "work")
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["c.yaml", "work"])
        self.assertEqual(sorted(p.name for p in (self.folder / "work").iterdir()), ["...yaml", "..yaml", "c.yaml"])
        for name in ("a b", "\u00e9", "..a", "-x", "2"):
            self.write("work/c.yaml", GOOD.replace("seed", f'name: "{name}"\nseed'))
            self.gaussflow("run", "c.yaml", "-q", cwd=self.folder / "work")
            self.assertTrue((self.folder / "work/runs" / name / "samples.h5").exists())

    def test_a_bandwidth_out_of_range_says_the_range(self):
        for key, value in (("tau", "1e300"), ("tau", "1e-300"), ("sigma", "1e-200"), ("sigma", "1e300"), ("h", "1e-200"), ("h", "1e300")):
            self.write("k.yaml", GOOD + f"kernel: {{{key}: {value}}}\n")
            self.refuses("run", "k.yaml", "-o", "never", code=3, words=[f"kernel.{key} must be in [1e-", value])
        for key, values in (("tau", ("1e-60", "1e30")), ("sigma", ("1e-15", "1e30")), ("h", ("1e-30", "1e60"))):
            for value in values:
                self.write("k.yaml", GOOD + f"kernel: {{{key}: {value}}}\n")
                self.gaussflow("run", "k.yaml", "-o", f"{key}{value}", "-q", "--set", "particles.dtype=fp64")

    def test_the_right_form_of_a_nested_key_is_said(self):
        rest = "particles: 20\nseed: 1\n"
        flow, target = "flow: svgd\n", "target: banana\n"
        for text, words in ((target + "flow: {svgd: {precondition: none}}\n", ["m.yaml:2:8: unknown key 'svgd' in flow", "write flow: {type: svgd, …}, its keys beside it"]),
                            (flow + "target: {type: gaussian, mean: [0, 0]}\n", ["m.yaml:2:10: target has no type", "write target: {gaussian: {…}}, its keys inside"]),
                            (flow + target + "step: {adam: {size: 0.1}}\n", ["unknown key 'adam' in step", "did you mean 'method: adam'?"]),
                            (flow + target + "step_sise: 0.1\n", ["unknown key 'step_sise'", "did you mean 'step.size'?"]),
                            (flow + target + "sise: 0.1\n", ["did you mean 'step.size'?"]),
                            (flow + target + "kernel: {step: 3}\n", ["unknown key 'step' in kernel", "'step' is a section of its own, a level further out"])):
            self.write("m.yaml", text + rest)
            self.refuses("validate", "m.yaml", code=3, words=words)

    def test_a_flag_is_named_as_it_was_typed(self):
        self.write("m.yaml", "flow: svgd\ntarget: banana\nparticles: 20\nseed: 1\n")
        for flags, words in ((("--device", "tpu"), ["--device tpu: compute.device must be", "| --device tpu\n", "         ^~~\n"]),
                             (("--checkpoint-every", "5x"), ["--checkpoint-every 5x: checkpoint.every must be"]),
                             (("--threads", "99999"), ["--threads 99999: compute.threads must be in [1, 4096]"]),
                             (("--set", "step.sise=3"), ["--set step.sise=3: unknown key 'sise'"])):
            done = self.refuses("validate", "m.yaml", *flags, code=3, words=words)
            self.assertEqual("--set" in done.stderr, "--set" in flags)
        for flags in (("--steps", "9000000000000000"), ("--seed", "9223372036854775807")):
            done = self.gaussflow("run", "m.yaml", *flags, "--dry-run", code=3 if flags[0] == "--steps" else None)
            self.assertNotIn("--set", done.stderr)

    def test_labels_of_one_class_and_counts_of_one(self):
        self.write_h5("l.h5", X=np.random.default_rng(0).normal(size=(30, 2)), y=np.ones(30))
        self.write("m.yaml", "flow: svgd\ntarget: {logistic: l.h5}\nparticles: 1\nstep: 1\nseed: 1\n")
        done = self.gaussflow("run", "m.yaml", "-o", "r")
        self.assertIn("note: l.h5:/y holds 30 labels, all of one class: nothing tells classes apart, only the prior bounds the coefficients\n", done.stderr)
        self.assertIn("1 particle after 1 step of svgd onto logistic\n", done.stderr)
        self.assertNotIn(" 1 particles", done.stderr)


if __name__ == "__main__":
    unittest.main()
