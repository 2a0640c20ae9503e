"""Comparison of tagq with other systems in one run: `cargo xtask rivals` prepares and starts it.

Every system gets the same columns, not split into channels. If a system needs the split, it is timed, and so
is the addition of a delay. Reading the columns into memory, compiling, and creating DuckDB's table and
Polars' frame are not timed. Rounds are interleaved: each query runs on every system in turn, over several
rounds, and the median is the result. Answers are compared with those of tagq, which its tests compare with
its oracle. If a system counts by another rule, its answer is compared with tagq's count by that rule.
"""

import argparse
import os
import platform
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from statistics import median

import arrays
import columns
import frames
import loops
import numpy as np
import ours
import pytimetags
import tables
import tomtags
import tttrlibs
from questions import QUESTIONS

RIVALS = [loops, arrays, frames, tables, tomtags, pytimetags, tttrlibs]
PACKAGES = ["numba", "numpy", "polars", "duckdb", "tomtag", "pytimetag", "tttrlib"]
ROOT = Path(__file__).resolve().parents[2]
# Lines of docs/benchmarks.md before and after the table.
BEGIN, END = "<!-- rivals -->", "<!-- /rivals -->"
WARM_ROWS = 100_000


class Suite:
    def __init__(self, arguments):
        self.store = arguments.store
        self.program = arguments.programs / "tagq"
        self.library = ours.Library(arguments.programs / "tagq-timed", self.store)
        whole = columns.read(self.store)
        self.columns = whole.first(arguments.rows or len(whole))
        self.all = "all" if len(self.columns) == len(whole) else len(self.columns)
        self.rival_rows = arguments.rival_rows
        self.inputs = {}
        # Seconds of each round, and rows, by query and name.
        self.seconds, self.rows, self.notes = {}, {}, {}

    def rows_of(self, rival, question):
        own = getattr(rival, "ROWS", {}).get(question.key, self.rival_rows)
        return min(len(self.columns), self.rival_rows, own)

    def input_of(self, rival, rows):
        """Returns the input of a system, which is created once."""
        if not hasattr(rival, "prepared"):
            return self.columns.first(rows)
        key = rival.NAME, rows
        if key not in self.inputs:
            self.inputs[key] = rival.prepared(self.columns.first(rows))
        return self.inputs[key]

    def timed(self, question, name, rows, seconds):
        self.seconds.setdefault((question.key, name), []).append(seconds)
        self.rows[question.key, name] = rows

    def warm(self):
        """Compiles code, loads libraries, and creates the inputs."""
        for question in QUESTIONS:
            self.library.ask(question.line, self.all)
            for rival in RIVALS:
                if function := getattr(rival, question.key, None):
                    function(self.input_of(rival, min(WARM_ROWS, len(self.columns))))
                    self.input_of(rival, self.rows_of(rival, question))

    def round(self, first):
        for question in QUESTIONS:
            seconds, counts = self.library.ask(question.line, self.all)
            self.timed(question, "library", len(self.columns), seconds)
            if self.all == "all":
                seconds, by_program = ours.run_program(self.program, question.program, self.store)
                self.timed(question, "program", len(self.columns), seconds)
                assert np.array_equal(by_program, counts), f"{question.words}: program and library"
            for rival in RIVALS:
                function = getattr(rival, question.key, None)
                if function is None:
                    continue
                rows = self.rows_of(rival, question)
                given = self.input_of(rival, rows)
                start = time.perf_counter()
                answer = function(given)
                self.timed(question, rival.NAME, rows, time.perf_counter() - start)
                if first:
                    self.compare(question, rival, np.ravel(answer), rows)
            print(".", end="", file=sys.stderr, flush=True)

    def compare(self, question, rival, answer, rows):
        rows = self.all if rows == len(self.columns) else rows

        def ask(line):
            return self.library.ask(line, rows)[1]

        if np.array_equal(answer, ask(question.line)):
            return
        why, agrees = getattr(rival, "RULES", {}).get(question.key, ("", None))
        if agrees is None or not agrees(ask, answer):
            raise SystemExit(f"{question.words}: {rival.NAME} differs: {answer.sum()} {answer[:5]}")
        self.notes.setdefault(f"{rival.NAME}: {why}", []).append(question.words)

    def rate(self, question, name):
        """Returns rows per second."""
        seconds = self.seconds.get((question.key, name))
        return seconds and self.rows[question.key, name] / median(seconds)

    def table(self):
        names = ["library", "program"] + [rival.NAME for rival in RIVALS]
        lines = [
            "| M rows/s | tagq, library | tagq, program | "
            + " | ".join(names[2:])
            + " | library : fastest rival |",
            "|---|" + "--:|" * (len(names) + 1),
        ]
        for question in QUESTIONS:
            cells = []
            for name in names:
                rate = self.rate(question, name)
                few = rate and name in names[2:] and self.rows[question.key, name] < self.rival_rows
                cells.append(f"{figure(rate / 1e6)}{'*' if few else ''}" if rate else "–")
            rates = [(self.rate(question, name) or 0, name) for name in names[2:]]
            fastest, name = max(rates)
            ratio = self.rate(question, "library") / fastest
            lines.append(f"| {question.words} | {' | '.join(cells)} | {figure(ratio)} ({name}) |")
        fewer = sorted(
            f"{name} {question.words} ({self.rows[question.key, name] / 1e6:g} M)"
            for question in QUESTIONS
            for name in names
            if self.rows.get((question.key, name), self.rival_rows) < self.rival_rows
        )
        lines += ["", *([f"\\* over fewer rows: {'; '.join(fewer)}.", ""] if fewer else [])]
        lines += ["All answers are equal to tagq's, but for these, which were compared by their own rule:", ""]
        lines += [f"- {why} ({', '.join(where)})." for why, where in self.notes.items()]
        return "\n".join(lines)

    def record(self):
        """Writes the record in the format of benches/record.rs."""
        cpu = processor()
        slug = "".join(letter if letter.isalnum() else "-" for letter in cpu.lower())
        path = ROOT / "benches/record" / slug / f"{time.strftime('%F', time.gmtime())}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        about = f"{cpu},{commit()},{answer_of('rustc', '--version')}"
        with path.open("a") as file:
            if file.tell() == 0:
                print("bench,case,rows,cache,seconds,cpu,commit,rustc", file=file)
            for (key, name), seconds in self.seconds.items():
                words = next(q.words for q in QUESTIONS if q.key == key).replace(",", "")
                rows = self.rows[key, name]
                print(f"rivals,{name}: {words},{rows},warm,{median(seconds):.6f},{about}", file=file)


def figure(value):
    """Formats three digits."""
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.1f}" if value >= 9.95 else f"{value:.2f}"


def answer_of(*command):
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT).stdout.strip()


def commit():
    return answer_of("git", "describe", "--always", "--dirty", "--exclude", "*")


def processor():
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(": ")[1] for line in lines if line.startswith("model name")), "unknown")


def main():
    parser = argparse.ArgumentParser(prog="cargo xtask rivals", description=__doc__.splitlines()[0])
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--programs", type=Path, required=True, help="the folder of tagq and tagq-timed")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, help="over the first rows only")
    parser.add_argument(
        "--rival-rows", type=int, default=25_000_000, help="rows for the others at most, from the first on"
    )
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    parser.add_argument("--record", action="store_true", help="add the figures to benches/record")
    arguments = parser.parse_args()
    begun = time.monotonic()
    suite = Suite(arguments)
    suite.warm()
    for number in range(arguments.rounds):
        suite.round(first=number == 0)
    print(file=sys.stderr)
    versions = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    text = "\n".join(
        [
            f"tagq over {len(suite.columns):,} rows, the others over the first"
            f" {min(len(suite.columns), arguments.rival_rows):,}; medians of {arguments.rounds} rounds, interleaved; {processor()},"
            f" {os.cpu_count()} cores; tagq {commit()}, {answer_of('rustc', '--version')}; Python"
            f" {platform.python_version()}, {versions}; {time.strftime('%F', time.gmtime())}.",
            "",
            suite.table(),
        ]
    )
    print(text)
    print(f"\n{time.monotonic() - begun:.0f} s", file=sys.stderr)
    if arguments.write:
        page = ROOT / "docs/benchmarks.md"
        before, rest = page.read_text().split(BEGIN)
        page.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}")
    if arguments.record:
        suite.record()


main()
