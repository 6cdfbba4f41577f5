"""Labels and features of `logistic` as people store them: the certain readings give the same posterior, the others say what to
write."""
import unittest

import h5py
import numpy as np
from support import Case


class Labels(Case):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(2)
        self.x = rng.normal(size=(40, 3))
        self.y = (self.x @ [1, -1, 0.5] + rng.logistic(size=40) > 0).astype(np.uint8)

    def arrange(self, target="l.h5", **datasets):
        self.write_h5("l.h5", **datasets)
        self.write("c.yaml", f"flow: svgd\ntarget: {{logistic: {target}}}\nparticles: 10\nstep: 3\nseed: 1\n")

    def end(self, **arguments):
        self.arrange(**arguments)
        self.gaussflow("run", "c.yaml", "-o", "r", "-q", "--overwrite")
        return self.samples("r")

    def refused(self, *words, **arguments):
        self.arrange(**arguments)
        self.refuses("run", "c.yaml", "-o", "never", code=4, words=["l.h5", *words])
        self.assertFalse((self.folder / "never").exists())

    def test_certain_readings_are_the_same_data(self):
        right = self.end(X=self.x, y=self.y)
        for name, y in {"column": self.y[:, None], "row": self.y[None], "bool": self.y.astype(bool), "bool column": self.y.astype(bool)[:, None],
                        "signs": 2 * self.y.astype(int) - 1, "float": self.y.astype(float), "signs column": (2.0 * self.y - 1)[:, None]}.items():
            with self.subTest(name=name):
                np.testing.assert_array_equal(self.end(X=self.x, y=y), right)
        np.testing.assert_array_equal(self.end(X=self.x.T, y=self.y, target="{file: l.h5, transpose: true}"), right)

    def test_the_others_say_what_is_wrong(self):
        self.refused("[3, 40]", "40 labels", "target.transpose: true", X=self.x.T, y=self.y)
        self.refused("39 labels", "[40, 3]", "one label for each row", X=self.x, y=self.y[:-1])
        self.refused("label 0 is 2" if self.y[0] else "label 0 is", "labels are 0 and 1, or -1 and 1", X=self.x, y=self.y + 1)
        self.refused("/y", "holds text", "labels are numbers", X=self.x, y=np.array([b"M" if v else b"B" for v in self.y]))
        self.refused("/y", "[40, 2]", "one for each row", X=self.x, y=np.eye(2)[self.y])
        self.refused("not finite", X=self.x, y=np.where(self.y, 1, np.nan))

    def test_datasets_of_other_names_are_suggested(self):
        self.refused("l.h5:/y is not there", "/label is meant, set target.y: /label", X=self.x, label=self.y, other=np.zeros(7))
        self.refused("/label is meant, set target.y: /label", X=self.x.T, label=self.y, other=np.zeros(7))
        self.refused("/flag or /label", "target.y", X=self.x, label=self.y[:, None], flag=self.y.astype(bool), other=np.zeros(7))
        self.refused("l.h5:/X is not there", "/features is meant, set target.X: /features", features=self.x, y=self.y)
        self.refused("l.h5:/y is not there", "the file holds", X=self.x)
        self.arrange(X=self.x, label=self.y)
        self.gaussflow("run", "c.yaml", "-o", "r", "-q", "--set", "target.y=/label")
        with h5py.File(self.folder / "l.h5", "w") as file:
            file["g/X"], file["g/t"] = self.x, self.y
        self.refuses("run", "c.yaml", "-o", "never", "--set", "target.logistic=l.h5:/g", code=4, words=["/g/t is meant, set target.y: /g/t"])
        self.gaussflow("run", "c.yaml", "-o", "g", "-q", "--set", "target.logistic=l.h5:/g", "--set", "target.y=/g/t")


if __name__ == "__main__":
    unittest.main()
