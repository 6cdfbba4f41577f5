"""The dependency direction of the layers, and third parties kept to their one place."""
import os
import re
import unittest
from pathlib import Path

ROOT = Path(os.environ["GAUSSFLOW_SOURCE"])

# A layer may include itself and everything named here.
ALLOWED = {
    "core": set(),
    "kernel": {"core"},
    "config": {"core"},
    "io": {"core"},
    "target": {"core", "kernel", "config", "io"},
    "flow": {"core", "kernel", "config", "io", "target"},
    "flows": {"core", "kernel", "config", "target", "flow"},
    "run": {"core", "kernel", "config", "io", "target", "flow"},
    "app": {"core", "kernel", "config", "io", "target", "flow", "run"},
}

# What may be named only in some places.
CONFINED = {
    r"yaml-cpp/": ("src/config/",),
    r"<hdf5\.h>|H5\w+public\.h": ("src/io/",),
    r"<zip\.h>": ("src/io/",),
    r"CLI/": ("src/app/",),
    r"scaled_dot_product": ("src/kernel/", "include/gaussflow/kernel/", "bench/"),
    r"hwy/": ("src/kernel/direct/",),
    r"openssl/": ("src/core/",),
}


def sources():
    for folder in ("include", "src", "flows"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".hpp", ".cpp", ".h"):
                yield path


def layer(path):
    parts = path.relative_to(ROOT).parts
    if parts[0] == "flows":
        return "flows"
    return parts[2] if parts[0] == "include" else parts[1]


class Layers(unittest.TestCase):
    def test_includes_follow_the_direction(self):
        wrong = []
        for path in sources():
            own = layer(path)
            for target in re.findall(r'#include "(?:gaussflow/)?(\w+)/', path.read_text()):
                if target in ALLOWED and target != own and target not in ALLOWED[own]:
                    wrong.append(f"{path.relative_to(ROOT)} ({own}) includes {target}")
        self.assertEqual(wrong, [])

    def test_third_parties_stay_in_their_place(self):
        wrong = []
        for path in sources():
            name = str(path.relative_to(ROOT))
            text = "\n".join(line for line in path.read_text().splitlines() if not line.lstrip().startswith("//"))
            for pattern, places in CONFINED.items():
                found = re.search(pattern, text)
                if found and not name.startswith(places):
                    wrong.append(f"{name} names {found.group()}")
        self.assertEqual(wrong, [])

    def test_public_headers_are_light(self):
        """ATen/core/Tensor.h costs 2 s to compile, ATen/ATen.h or torch/*.h 6 to 27 s."""
        wrong = [str(p.relative_to(ROOT)) for p in sorted((ROOT / "include").rglob("*.hpp"))
                 if re.search(r"#include <(torch/|ATen/ATen\.h|ATen/Functions\.h)", p.read_text())]
        self.assertEqual(wrong, [])

    def test_flows_do_not_touch_files_or_print(self):
        wrong = [p.name for p in (ROOT / "flows").glob("*.cpp") if re.search(r"std::cout|fmt::print|fstream|io::", p.read_text())]
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
