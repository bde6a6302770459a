"""Runs the examples of docs/python.md in order, with shorter times, and compares the page with what the package has.

Needs PUNCTUAL=/path/punctual, root, pandas, polars and matplotlib.
"""

import inspect
import os
import re
import stat
import sys
import tempfile
import unittest
from pathlib import Path

import punctual_rt

PAGE = Path(__file__).resolve().parents[3] / "docs/python.md"
PROGRAM = os.environ.get("PUNCTUAL")

#: A real-time program with a cycle: time.sleep() is clock_nanosleep(2).
LOOP = f"""#!{sys.executable}
import os, time
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
while True:
    time.sleep(0.001)
"""


def examples():
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


class Documented(unittest.TestCase):
    def test_every_call_is_on_the_page(self):
        text = PAGE.read_text()
        names = set(punctual_rt.__all__) - {"Report", "Rows"}
        for kind in (punctual_rt.Report, punctual_rt.Rows, punctual_rt.Marker):
            own = [name for name, _ in inspect.getmembers(kind) if name in vars(kind) and not name.startswith("_")]
            names.update(own)
        names -= {"PLACES", "close"}
        missing = sorted(name for name in names if not re.search(rf"\b{name}\b", text))
        self.assertEqual(missing, [])

    def test_the_pictures_are_there(self):
        for name in re.findall(r"\]\((\S+\.png)\)", PAGE.read_text()):
            self.assertEqual((PAGE.parent / name).read_bytes()[:4], b"\x89PNG", name)
            self.assertTrue(any(f'savefig("{name}")' in example for example in examples()), name)

    @unittest.skipUnless(PROGRAM, "PUNCTUAL=/path/punctual is not set")
    def test_the_examples_run(self):
        import matplotlib

        matplotlib.use("Agg")
        place = os.environ.get("PICTURES")
        with tempfile.TemporaryDirectory() as folder:
            before, path = os.getcwd(), os.environ["PATH"]
            os.chdir(folder)
            try:
                os.symlink(os.path.abspath(os.path.join(before, PROGRAM)), "punctual")
                os.environ["PATH"] = f"{folder}:{path}"
                Path("my-loop").write_text(LOOP)
                os.chmod("my-loop", stat.S_IRWXU)
                space = {}
                for example in examples():
                    example = example if place else re.sub(r'"\d+s"', '"2s"', example)
                    exec(compile(example, str(PAGE), "exec"), space)  # pylint: disable=exec-used
                made = sorted(Path().glob("*.png"))
                self.assertEqual(len(made), 5)
                for picture in made if place else []:
                    Path(place, picture.name).write_bytes(picture.read_bytes())
            finally:
                os.chdir(before)
                os.environ["PATH"] = path


if __name__ == "__main__":
    unittest.main()
