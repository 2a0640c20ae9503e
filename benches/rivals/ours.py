"""tagq: its library, called through tagq-timed, and its program."""

import csv
import subprocess
import time

import numpy as np


class Library:
    """A child process that keeps the store mapped and reports the time of each answer."""

    def __init__(self, program, store):
        self.child = subprocess.Popen(
            [program, store], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, line, rows="all"):
        """Returns the seconds and the counts."""
        print(rows, line, file=self.child.stdin, flush=True)
        seconds, *counts = self.child.stdout.readline().split()
        return float(seconds), np.array(counts, np.int64)


def run_program(program, words, store):
    """Returns the seconds from start to end, and the counts."""
    asked = [program, *words.split(), "--format", "csv", "--quiet", "--no-cache", store]
    start = time.perf_counter()
    done = subprocess.run(asked, capture_output=True, check=True)
    seconds = time.perf_counter() - start
    lines = [line for line in done.stdout.decode().splitlines() if not line.startswith("#")]
    rows = csv.DictReader(lines)
    # Rates contain rows of all channels together.
    return seconds, np.array([int(row["count"]) for row in rows if row.get("channel") != ""])
