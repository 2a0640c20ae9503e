"""First answers in one run: `cargo xtask rivals first` prepares and starts it.

A recording that was never read is asked one question. tagq is the command from start to end, which makes its store, too; ptufile
and tttrlib read the file to arrays, and NumPy searches them as a user would. `zstd -dc` only decompresses. Files and stores are in
memory. Rounds are interleaved, and medians are the result. Answers are equal.
"""

import argparse
import csv
import os
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median

import numpy as np
import ptufile
import tttrlib

WINDOW = 2_000
"""2 ns in ticks of 1 ps."""
PAIRS = "--channels 1,2,3,4 --rate 1MHz --dark 3MHz --jitter 50ps"
DECAY = "--channels 1,2 --fluorescence 3ns --rate 4MHz --pulsed 12.5ns --tick 100ps"
COINCIDENCES = ("coincidences", "--window", "2ns", "--group", "1,2")


@dataclass(frozen=True)
class Case:
    """A recording, how it is simulated, and the question."""

    name: str
    file: str
    simulated: str
    question: tuple


CASES = [
    Case("PTU of mode T2, one pair within 2 ns", "t2.ptu", f"{PAIRS} --tick 1ps", COINCIDENCES),
    Case("PTU of mode T3, micro times of one channel", "t3.ptu", DECAY, ("micro", "1", "--bin", "1t")),
    Case(".tags.zst of one frame, one pair within 2 ns", "one.tags.zst", f"{PAIRS} --frames 1", COINCIDENCES),
    Case(".tags.zst of 2,000 frames, one pair within 2 ns", "many.tags.zst", f"{PAIRS} --frames 2000", COINCIDENCES),
]


def pairs(time, channel):
    """Counts pairs by the difference of two searches."""
    starts, stops = (time[channel == label] for label in (1, 2))
    after = np.searchsorted(stops, starts + WINDOW, "right")
    return int((after - np.searchsorted(stops, starts - WINDOW)).sum())


def by_ptufile(case, path):
    with ptufile.PtuFile(path) as file:
        records = file.decode_records()
    channel = records["channel"]
    if case.file == "t2.ptu":
        return pairs(records["time"].astype(np.int64), channel + 1)
    return np.bincount(records["dtime"][channel == 0].astype(np.int64))


def by_tttrlib(case, path):
    data = tttrlib.TTTR(str(path), "PTU")
    channel = np.asarray(data.routing_channels)
    if case.file == "t2.ptu":
        return pairs(np.asarray(data.macro_times).astype(np.int64), channel + 1)
    return np.bincount(np.asarray(data.micro_times)[channel == 0])


RIVALS = {"ptufile": by_ptufile, "tttrlib": by_tttrlib}


class Suite:
    def __init__(self, program, folder, tags):
        self.program, self.folder = program, folder
        self.seconds, self.tags = {}, {}
        for case in CASES:
            rate = 8e6 if case.file == "t3.ptu" else 16e6
            words = [*case.simulated.split(), "--duration", f"{tags / rate:.3f}s", "--seed", "7"]
            subprocess.run([program, "simulate", "--quiet", *words, folder / case.file], check=True)

    def timed(self, case, name, function):
        start = time.perf_counter()
        result = function()
        self.seconds.setdefault((case, name), []).append(time.perf_counter() - start)
        return result

    def ask(self, case):
        path = self.folder / case.file
        asked = [self.program, *case.question, "--format", "csv", "--quiet", "--no-cache", path]
        done = self.timed(case, "tagq", lambda: subprocess.run(asked, capture_output=True, check=True))
        lines = [line for line in done.stdout.decode().splitlines() if not line.startswith("#")]
        return [int(row["count"]) for row in csv.DictReader(lines)]

    def round(self):
        for case in CASES:
            path = self.folder / case.file
            shutil.rmtree(f"{path}.tagq", ignore_errors=True)
            found = self.ask(case)
            if case.file.endswith(".zst"):
                unpacked = ["zstd", "-dc", path]
                self.timed(
                    case, "zstd -dc", lambda: subprocess.run(unpacked, stdout=subprocess.DEVNULL, check=True)
                )
                continue
            for name, function in RIVALS.items():
                expected = np.trim_zeros(np.ravel(self.timed(case, name, lambda: function(case, path))))
                assert np.array_equal(np.trim_zeros(found), expected), (case.name, name)

    def table(self):
        names = ["ptufile", "tttrlib", "zstd -dc"]
        lines = ["| | tagq, s | " + " | ".join(names) + " |", "|---|--:|" + "--:|" * len(names)]
        for case in CASES:
            own = median(self.seconds[case, "tagq"])
            cells = []
            for name in names:
                seconds = self.seconds.get((case, name))
                cells.append(f"{median(seconds):.2f} ({median(seconds) / own:.1f})" if seconds else "–")
            lines.append(f"| {case.name} | {own:.3f} | {' | '.join(cells)} |")
        return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(prog="cargo xtask rivals first", description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=Path, required=True, help="the folder of tagq")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tags", type=float, default=50e6, help="of each recording")
    arguments = parser.parse_args()
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        suite = Suite(arguments.programs / "tagq", Path(folder), arguments.tags)
        for _ in range(arguments.rounds):
            suite.round()
    packages = ", ".join(f"{name} {version(name)}" for name in RIVALS)
    print(f"{arguments.tags / 1e6:g} M tags each; {arguments.rounds} rounds; {packages}; in brackets: times as long as tagq\n")
    print(suite.table())


if __name__ == "__main__":
    main()
