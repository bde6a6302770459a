"""Wakeup latencies measured by punctual.

The program measures and reads its run directories; this module calls it and hands out what it answers:

>>> import punctual_rt
>>> report = punctual_rt.prove("--duration", "30s", "--claim", "max < 200us")   # doctest: +SKIP
>>> report.headline, report.exit_code                                           # doctest: +SKIP
>>> report.histograms().to_pandas()                                             # doctest: +SKIP

There is no real-time loop here: the interpreter allocates, and its lock is no mutex with priority inheritance.
"""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Optional, Union

__all__ = ["Marker", "PunctualError", "Report", "Rows", "measure", "plot", "prove", "read"]
__version__ = "0.1.0"

#: Exit codes of `punctual`: 0 pass, 1 a claim fails, 3 inconclusive. Each comes with a report.
ANSWERS = (0, 1, 3)

_PathLike = Union[str, "os.PathLike[str]"]


class PunctualError(Exception):
    """The program gave no result: wrong usage (2), or not possible in this environment (4).

    ``exit_code`` is that of the program, ``None`` if it could not be started.
    """

    def __init__(self, message: str, exit_code: Optional[int] = None) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class Rows(list):
    """A list of dictionaries with the same keys, convertible to tables."""

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame``; needs pandas."""
        import pandas

        return pandas.DataFrame(list(self))

    def to_polars(self) -> Any:
        """A ``polars.DataFrame``; needs polars."""
        import polars

        return polars.DataFrame(list(self))


class Report:
    """The output of `punctual report --format json` for a run (schema: docs/schemas, ``punctual.report/1``)."""

    def __init__(self, run: _PathLike, document: dict, program: str = "punctual") -> None:
        #: Absolute, so that it is found after os.chdir(), too.
        self.run = Path(os.path.abspath(run))
        #: The whole document.
        self.document = document
        self._program = program

    @property
    def result(self) -> dict:
        return self.document["result"]

    @property
    def exit_code(self) -> int:
        """0: every claim holds, 1: one fails, 3: inconclusive."""
        return self.document["exit_code"]

    @property
    def outcome(self) -> str:
        """``pass``, ``fail`` or ``inconclusive``."""
        return self.result["verdict"]["outcome"]

    @property
    def headline(self) -> str:
        return self.result["verdict"]["headline"]

    def values(self) -> "list[str]":
        """What was measured: ``wakeup``, or for an application ``response(THREAD)``, ``jitter(THREAD)``, ``cpu(THREAD)``, ``chain(A > B)``."""
        return list(dict.fromkeys(self._values().values()))

    def _values(self) -> "dict[str, str]":
        """The value of each phase."""
        return {phase["id"]: phase.get("value") or "wakeup" for phase in self.result["phases"]}

    def loads(self) -> Rows:
        """One row for each load, value and CPU: counts, and latencies (of an application: the value) in ns.

        ``p99`` and ``p99.9`` are ``None`` where there are too few samples.
        """
        values = self._values()
        rows = Rows()
        for phase in self.result["phases"]:
            for cpu in phase["cpus"]:
                quantiles = {q["name"]: q.get("value_ns") for q in cpu["raw"]["quantiles"]}
                rows.append(
                    {
                        "phase": phase["id"],
                        "load": phase["load"],
                        "value": values[phase["id"]],
                        "cpu": cpu["cpu"],
                        "released": cpu["released"],
                        "ran": cpu["ran"],
                        "skipped": cpu["skipped"],
                        "min_ns": cpu["min_ns"],
                        "mean_ns": cpu["mean_ns"],
                        "max_ns": cpu["max_ns"],
                        "p99_ns": quantiles.get("p99"),
                        "p99.9_ns": quantiles.get("p99.9"),
                    }
                )
        return rows

    def worst(self) -> Rows:
        """The recorded worst wakeups, worst first: phase, CPU, cycle, latency in ns, time (UTC)."""
        keys = ("phase", "cpu", "cycle", "latency_ns", "release_utc")
        return Rows({key: one[key] for key in keys} for one in self.result["worst"])

    def causes(self) -> Rows:
        """Verdicts of the late wakeups that were traced: phase, CPU, latency in ns, and the explanation of each. Of an application's cycles
        see :meth:`cycles`."""
        return Rows(
            {
                "phase": explained["phase"],
                "cpu": explained["cpu"],
                "latency_ns": explained["latency_ns"],
                "verdict": explained["victim"]["verdict"],
            }
            for explained in self.result["explained"]
        )

    def cycles(self) -> Rows:
        """Of an application: where the time of its cycles went, a row for each load, thread and place: ``ran``, ``blocked``, ``behind`` (the
        cycle before), or what ran instead. ``ns`` of a load and thread add up to its responses. Empty for other runs."""
        rows = Rows()
        for one in (self.result.get("application") or {}).get("cycles", []):
            spent = [(name, one[f"{name}_ns"]) for name in ("ran", "blocked", "behind")]
            spent += [(delay["class"], delay["ns"]) for delay in one["delays"]]
            for where, ns in spent:
                rows.append({"load": one["load"], "thread": one["thread"], "cycles": one["cycles"], "where": where, "ns": ns})
        return rows

    def histograms(self) -> Rows:
        """One row for each bin: phase, load, value, cpu, low_ns, width_ns, count. As measured, without corrections."""
        values = self._values()
        text = _call(self._program, ["report", "--format", "csv", "--", self.run])[1]
        rows = Rows()
        for row in csv.DictReader(io.StringIO(text)):
            if row["kind"] != "raw":
                continue
            rows.append(
                {
                    "phase": row["phase"],
                    "load": row["load"],
                    "value": values[row["phase"]],
                    "cpu": int(row["cpu"]),
                    "low_ns": int(row["low_ns"]),
                    "width_ns": int(row["width_ns"]),
                    "count": int(row["count"]),
                }
            )
        return rows

    def __repr__(self) -> str:
        return f"<Report of {self.run}: {self.headline}>"


def read(run: _PathLike, program: str = "punctual") -> Report:
    """Reads a run directory, or a file that `punctual import` reads.

    Raises PunctualError if it cannot be read.
    """
    return Report(run, _document(program, ["report", "--json", "--", run]), program)


def prove(*options: object, out: Optional[_PathLike] = None, program: str = "punctual") -> Report:
    """`punctual prove OPTIONS`: measures this machine for the time given in the options and returns the report.

    ``out`` is the run directory to create; by default one below ./punctual-runs. Raises PunctualError if nothing was
    measured. Ctrl-C ends the measurement in order, which takes a few seconds: what was changed on the machine is undone,
    and read() reads the run so far; a second Ctrl-C kills the program.
    """
    return _measured("prove", options, out, program)


def measure(*options: object, out: Optional[_PathLike] = None, program: str = "punctual") -> Report:
    """`punctual measure OPTIONS`, as :func:`prove`."""
    return _measured("measure", options, out, program)


def plot(report: Report, axes: Any = None, by: str = "load", value: Optional[str] = None, label: str = "") -> Any:
    """Histograms as this field draws them: latency against the number of wakeups, both ends visible on a logarithmic axis.

    ``by`` is ``load`` or ``cpu``: a line for each, with ``label`` before its name, for several reports in one picture; without a label the
    report's headline is the title. ``value`` is one of ``report.values()``, needed if there
    are several. Returns matplotlib's axes; needs matplotlib unless ``axes`` is given.
    """
    if by not in ("load", "cpu"):
        raise ValueError(f"by={by!r}: load or cpu")
    values = report.values()
    if value is None and len(values) == 1:
        value = values[0]
    if value not in values:
        raise ValueError(f"value={value!r}: one of {', '.join(values)}")
    if axes is None:
        import matplotlib.pyplot

        axes = matplotlib.pyplot.subplots()[1]
    lines: dict = {}
    for row in report.histograms():
        if row["value"] != value:
            continue
        bins = lines.setdefault(row[by], {})
        edges = (row["low_ns"], row["low_ns"] + row["width_ns"])
        bins[edges] = bins.get(edges, 0) + row["count"]
    for name, bins in lines.items():
        # Nothing is drawn where there is no wakeup, because a line would suggest one.
        x, y, end = [], [], None
        for (low, high), count in sorted(bins.items()):
            if end is not None and low > end:
                x.append(float("nan"))
                y.append(float("nan"))
            x += [low / 1000, high / 1000]
            y += [count, count]
            end = high
        axes.plot(x, y, marker=".", markersize=2, linewidth=1, label=f"{label} {f'CPU {name}' if by == 'cpu' else name}".strip())
    axes.set_yscale("log")
    axes.set_xlabel("latency, µs" if value == "wakeup" else f"{value}, µs")
    axes.set_ylabel("wakeups" if value == "wakeup" else "cycles")
    if not label:
        axes.set_title("\n".join(textwrap.wrap(report.headline, 90)), fontsize="small")
    if lines:
        axes.legend()
    return axes


class Marker:
    """Writes marks into the kernel's trace, ``punctual: NAME`` or ``punctual: NAME VALUE``, by one write(2) to trace_marker each.

    They are what `Marks` of punctual-rt writes; traces show them beside the scheduler's events. Where they cannot be written (no tracefs, no
    permission, tracing is off) they are counted in ``failed``, and ``problem`` has the reason.
    """

    PLACES = ("/sys/kernel/tracing/trace_marker", "/sys/kernel/debug/tracing/trace_marker")

    def __init__(self, path: Optional[_PathLike] = None) -> None:
        #: Marks in the trace, and marks that could not be written.
        self.written, self.failed = 0, 0
        #: Why a mark is not in the trace; ``None`` if all are.
        self.problem: Optional[str] = None
        self._fd = -1
        for place in [path] if path is not None else self.PLACES:
            try:
                self._fd = os.open(place, os.O_WRONLY | os.O_CLOEXEC)
            except OSError as error:
                self.problem = self.problem or f"marks are not written, only counted: {error}"
            else:
                self.problem = None
                break

    def mark(self, name: str, value: Optional[int] = None) -> bool:
        """False if it was not written. Spaces and control characters in the name become ``_``, and it is cut after 64 bytes; ``value`` is
        from 0 to 2**64 - 1."""
        if value is not None and not 0 <= value < 1 << 64:
            raise ValueError(f"value={value}: 0 to 2**64 - 1")
        return self._write(self._word(name) + ("" if value is None else f" {value}"))

    def late(self, name: Optional[str] = None) -> bool:
        """Says that the program is late: ``punctual: late`` or ``punctual: late NAME``. ``punctual watch --app`` then keeps and explains the
        events before it. False if it was not written."""
        return self._write("late" if name is None else f"late {self._word(name)}")

    @staticmethod
    def _word(name: str) -> str:
        word = "".join("_" if c == " " or ord(c) < 0x20 or ord(c) == 0x7F else c for c in name or "_")
        return word.encode("utf-8", "replace")[:64].decode("utf-8", "ignore")

    def _write(self, text: str) -> bool:
        line = f"punctual: {text}\n"
        try:
            os.write(self._fd, line.encode("utf-8"))
        except OSError as error:
            self.failed += 1
            self.problem = self.problem or f"marks are not in the trace: write: {error}"
            return False
        self.written += 1
        return True

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> "Marker":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _measured(command: str, options: Sequence[object], out: Optional[_PathLike], program: str) -> Report:
    words = [command, *options, "--json"]
    if out is not None:
        words += ["--out", out]
    document = _document(program, words)
    # When `report` reads the directory, the document also has the histograms.
    return Report(document["result"]["run_directory"], document, program)


def _document(program: str, words: Iterable[object]) -> dict:
    code, text = _call(program, words)
    try:
        document = json.loads(text)
    except ValueError:
        document = None
    if not isinstance(document, dict) or "result" not in document:
        raise PunctualError(f"{program} answered no report, but {text[:100]!r}: is it punctual?", code)
    return document


def _call(program: str, words: Iterable[object]) -> "tuple[int, str]":
    words = [os.fspath(word) if isinstance(word, os.PathLike) else str(word) for word in words]
    try:
        child = subprocess.Popen([program, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except (OSError, ValueError) as error:
        raise PunctualError(f"{program} cannot be run: {error}; install punctual, or name it: program='/path/punctual'") from error
    try:
        out, said = child.communicate()
    except BaseException:
        # Like Ctrl-C in a terminal, which the program may also have received: it undoes its changes and completes the
        # run.
        try:
            child.send_signal(signal.SIGINT)
            child.communicate()
        except BaseException:
            child.kill()
            child.communicate()
            raise
        raise
    # The program writes UTF-8 in every locale.
    if child.returncode not in ANSWERS or not out:
        reason = said.decode("utf-8", "replace").strip() or f"ended with {child.returncode}"
        raise PunctualError(f"{program} {' '.join(words)}: {reason}", child.returncode)
    return child.returncode, out.decode("utf-8", "replace")
