"""Measures time and memory of passing tags to other libraries: hand_over.py STORE, a store of many tags."""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

import numpy
import polars
import pyarrow
from polars import col

import tagq

ROUNDS = 21


def memory() -> dict[str, int]:
    """Returns the memory of this process in KiB: private, and all resident pages."""
    lines = Path("/proc/self/status").read_text().splitlines()
    words = dict(line.split(":", 1) for line in lines)
    return {name: int(words[name].split()[0]) for name in ("RssAnon", "VmRSS")}


def measured(name: str, work, keep: list) -> None:
    work()  # imports and first calls
    before = memory()
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        keep.append(work())
        times.append(time.perf_counter() - start)
    after = memory()
    grown = ", ".join(f"{key} {after[key] - before[key]:+,} KiB" for key in before)
    print(f"{name:34} {1e3 * statistics.median(times):10.3f} ms (median of {ROUNDS}); all kept: {grown}")


def main() -> None:
    start = time.perf_counter()
    run = tagq.open(sys.argv[1])
    print(f"{'open':34} {1e3 * (time.perf_counter() - start):10.3f} ms; {len(run):,} tags")
    kept: list = []
    measured("polars.DataFrame(run.tags())", lambda: polars.DataFrame(run.tags()), kept)
    measured("pyarrow.table(run.tags())", lambda: pyarrow.table(run.tags()), kept)
    measured("run.time, run.channel", lambda: (run.time, run.channel), kept)
    frame, table, (times, _) = kept[0], kept[ROUNDS], kept[-1]
    address = times.__array_interface__["data"][0]
    assert frame["time"].to_numpy(allow_copy=False).__array_interface__["data"][0] == table["time"].chunk(0).buffers()[1].address == address
    assert len(frame) == len(table) == len(run)
    first, last = run.span
    part = (last - first) // 100
    low = first + 40 * part
    wanted = col("time").is_between(low, low + part, closed="left")
    counters = tagq.ScanCounters()
    found = tagq.scan(run, counters=counters).filter(wanted).collect()
    assert len(found) == numpy.searchsorted(times, low + part) - numpy.searchsorted(times, low)
    share = counters.blocks_read / counters.blocks
    print(f"scan of 1 % of the time: {len(found):,} tags from {counters} = {100 * share:.2f} %")
    measured("the same scan", lambda: tagq.scan(run).filter(wanted).collect(), [])
    eager = polars.DataFrame(run.tags())
    measured("a filter of all tags, for comparison", lambda: eager.filter(wanted), [])


main()
