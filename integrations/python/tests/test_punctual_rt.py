"""Every documented call. PUNCTUAL names the program; without it only what needs none is tried.

python3 -m unittest discover -s tests      (or pytest)
"""

import json
import os
import signal
import stat
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path
from unittest import mock

import punctual_rt

PROGRAM = os.environ.get("PUNCTUAL")


class Axes:
    """Stands in for matplotlib's where that is not installed."""

    def __init__(self):
        self.lines, self.calls = [], []

    def plot(self, x, y, label, **_):
        self.lines.append((label, list(x), list(y)))

    def __getattr__(self, name):
        return lambda *words, **more: self.calls.append(name)


def script(folder, text):
    """A program that stands in for punctual."""
    path = Path(folder, "stands-in")
    path.write_text(f"#!/bin/sh\n{text}\n", "utf-8")
    path.chmod(stat.S_IRWXU)
    return str(path)


def interrupt(folder, times):
    """Ctrl-C for this process only, once it waits for the program, and again when that ends."""

    def run():
        for names in [("begun", "waiting"), ("ending",)][:times]:
            while not all(Path(folder, name).exists() for name in names):
                time.sleep(0.01)
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


class WithoutTheProgram(unittest.TestCase):
    def interrupted(self, text, times):
        """The names of the files that the program leaves, if it is interrupted so many times."""
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            with tempfile.TemporaryDirectory() as folder:
                program = script(folder, f"cd '{folder}'; {text}; echo > begun; while :; do sleep 0.02; done")
                original = subprocess.Popen.communicate

                def communicate(child):
                    Path(folder, "waiting").touch()
                    return original(child)

                thread = interrupt(folder, times)
                with mock.patch.object(subprocess.Popen, "communicate", communicate), self.assertRaises(KeyboardInterrupt):
                    punctual_rt.measure(program=program)
                thread.join()
                return sorted(path.name for path in Path(folder).iterdir())
        finally:
            signal.signal(signal.SIGINT, before)

    def test_a_measurement_that_is_interrupted_ends_in_order(self):
        left = self.interrupted("trap 'sleep 1; echo > ended; exit 3' INT", 1)
        self.assertEqual(left, ["begun", "ended", "stands-in", "waiting"])

    def test_a_second_interrupt_kills(self):
        left = self.interrupted("trap 'echo > ending' INT", 2)
        self.assertEqual(left, ["begun", "ending", "stands-in", "waiting"])

    def test_what_is_no_report_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            for answer in ("plain text", "[]", "{}", "\\377"):
                with self.assertRaisesRegex(punctual_rt.PunctualError, "no report"):
                    punctual_rt.read("run", program=script(folder, f"printf '{answer}'"))

    def test_words_and_answers_are_passed_as_they_are(self):
        with tempfile.TemporaryDirectory() as folder:
            document = {"result": {"run_directory": "r", "verdict": {"headline": "spät"}}, "exit_code": 0}
            answer = json.dumps(document, ensure_ascii=False)
            program = script(folder, f"printf '%s\\n' \"$@\" > '{folder}/words'\ncat <<'END'\n{answer}\nEND")
            report = punctual_rt.read("--help", program=program)
            self.assertEqual(Path(folder, "words").read_text().split(), ["report", "--json", "--", "--help"])
            self.assertEqual((report.headline, report.run), ("spät", Path.cwd() / "--help"))
            report = punctual_rt.measure("--cpus", 2, Path("a"), program=program, out=Path("r"))
            self.assertEqual(Path(folder, "words").read_text().split(), ["measure", "--cpus", "2", "a", "--json", "--out", "r"])
            with self.assertRaisesRegex(punctual_rt.PunctualError, "cannot be run"):
                punctual_rt.read("a\0b", program=program)

    def test_a_missing_program_is_named(self):
        with self.assertRaisesRegex(punctual_rt.PunctualError, "no-such-punctual cannot be run") as caught:
            punctual_rt.read("run", program="no-such-punctual")
        self.assertIsNone(caught.exception.exit_code)

    def test_marks_are_one_line_each(self):
        with tempfile.NamedTemporaryFile() as file:
            with punctual_rt.Marker(file.name) as marker:
                for name, value in [("setpoint", None), ("Zähler", 2**64 - 1), ("a b\nc\t", 40), ("", 1), ("x" * 63 + "ß", 0)]:
                    self.assertTrue(marker.mark(name, value))
                self.assertTrue(marker.late() and marker.late("axis 2"))
            lines = ["setpoint", "Zähler 18446744073709551615", "a_b_c_ 40", "_ 1", "x" * 63 + " 0", "late", "late axis_2"]
            self.assertEqual(Path(file.name).read_text("utf-8"), "".join(f"punctual: {line}\n" for line in lines))
            self.assertEqual((marker.written, marker.failed, marker.problem), (7, 0, None))
            with self.assertRaisesRegex(ValueError, "0 to"):
                marker.mark("x", -1)
            marker.close()

    def test_marks_that_cannot_be_written_are_counted(self):
        for path in ("/nonexistent/trace_marker", "/dev/full"):
            with punctual_rt.Marker(path) as marker:
                self.assertFalse(marker.mark("a") or marker.mark("b", 1))
                self.assertEqual((marker.written, marker.failed), (0, 2))
                self.assertIn("marks are not", marker.problem)

    def test_values_of_an_application_are_kept_apart(self):
        def phase(number, value):
            return {"id": f"{number}-{value}", "load": "idle", "value": value, "cpus": []}

        cycles = {"load": "idle", "thread": "a", "cycles": 4, "ran_ns": 9, "blocked_ns": 0, "behind_ns": 1, "delays": [{"class": "irq", "ns": 5}]}
        explained = {"phase": "1", "cpu": 0, "latency_ns": 7, "victim": {"verdict": "CPU0 7 ns late"}}
        result = {"phases": [phase(1, "response(a)"), phase(1, "cpu(a)")], "application": {"cycles": [cycles]}, "explained": [explained]}
        result["verdict"] = {"headline": "late", "outcome": "fail"}
        report = punctual_rt.Report("run", {"result": result, "exit_code": 1})
        self.assertEqual(report.values(), ["response(a)", "cpu(a)"])
        with self.assertRaisesRegex(ValueError, r"one of response\(a\), cpu\(a\)"):
            punctual_rt.plot(report, Axes())
        rows = {row["where"]: row["ns"] for row in report.cycles()}
        self.assertEqual(rows, {"ran": 9, "blocked": 0, "behind": 1, "irq": 5})
        self.assertEqual(report.causes(), [{"phase": "1", "cpu": 0, "latency_ns": 7, "verdict": "CPU0 7 ns late"}])


@unittest.skipUnless(PROGRAM, "PUNCTUAL=/path/punctual is not set")
class WithTheProgram(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.run_directory = Path(cls.folder.name) / "run"
        cls.report = punctual_rt.measure(
            "--duration", "1s", "--load", "idle", "--claim", "max < 60s", out=cls.run_directory, program=PROGRAM
        )

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_a_run_is_read_again_as_it_was_answered(self):
        again = punctual_rt.read(self.run_directory, program=PROGRAM)
        self.assertEqual((again.headline, again.outcome), (self.report.headline, self.report.outcome))
        self.assertIn(again.exit_code, punctual_rt.ANSWERS)
        self.assertIn(again.headline, repr(again))

    def test_histograms_have_every_sample(self):
        loads = self.report.loads()
        self.assertTrue(loads and all((row["load"], row["value"]) == ("idle", "wakeup") for row in loads))
        self.assertEqual((self.report.values(), self.report.cycles()), (["wakeup"], []))
        rows = self.report.histograms()
        for row in loads:
            bins = [b for b in rows if (b["phase"], b["cpu"]) == (row["phase"], row["cpu"])]
            self.assertEqual(sum(b["count"] for b in bins), row["ran"])
            self.assertTrue(any(b["low_ns"] <= row["max_ns"] < b["low_ns"] + b["width_ns"] for b in bins))

    def test_the_worst_come_first(self):
        worst = [row["latency_ns"] for row in self.report.worst()]
        self.assertEqual(worst, sorted(worst, reverse=True))
        self.assertEqual(worst[0], max(row["max_ns"] for row in self.report.loads()))
        self.assertEqual(len(self.report.causes()), len(self.report.result["explained"]))

    def test_a_plot_has_a_line_for_each(self):
        by_load, by_cpu = punctual_rt.plot(self.report, Axes()), punctual_rt.plot(self.report, Axes(), by="cpu")
        self.assertEqual([line[0] for line in by_load.lines], ["idle"])
        self.assertEqual(len(by_cpu.lines), len(self.report.loads()))
        self.assertEqual(punctual_rt.plot(self.report, Axes(), label="new").lines[0][0], "new idle")
        self.assertIn("set_yscale", by_load.calls)
        with self.assertRaises(ValueError):
            punctual_rt.plot(self.report, Axes(), by="moon")

    def test_tables(self):
        for name in ("pandas", "polars"):
            try:
                __import__(name)
            except ImportError:
                continue
            rows = self.report.histograms()
            self.assertEqual(len(getattr(rows, f"to_{name}")()), len(rows))

    def test_wrong_usage_raises_with_the_sentence(self):
        with self.assertRaisesRegex(punctual_rt.PunctualError, "--claim") as caught:
            punctual_rt.prove("--claim", "moon < 1", program=PROGRAM)
        self.assertEqual(caught.exception.exit_code, 2)


if __name__ == "__main__":
    unittest.main()
