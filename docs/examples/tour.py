"""Thirty steps through tagq in Python, each of which asserts what it found: python3 tour.py RUN FOLDER.

RUN is a run of photon pairs on the channels 1 to 4, such as data/fixtures/pairs; FOLDER is where files are made.
"""

from __future__ import annotations

import datetime
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import duckdb
import matplotlib
import numpy
import pandas
import polars
import pyarrow
import pyarrow.parquet

from dask.base import compute
from dask.delayed import delayed

import tagq

matplotlib.use("agg")
import matplotlib.pyplot as plt  # noqa: E402


def pairs_of(run: tagq.Run, window: str) -> int:
    """Counts the pairs of the channels 1 and 2, also in another process."""
    return int(run.coincidences(window=window, groups=(1, 2))["count"][0])


def main(source: Path, folder: Path) -> None:
    # 1. Open a run. Its facts need no counting.
    run = tagq.open(source)
    assert len(run) == run.facts["tags"] == len(run.time) > 10_000

    # 2. Rates are a table: a column by its name, a row by its number.
    rates = run.rates()
    assert rates["count"].sum() == len(run) and rates[0].channel == rates["channel"][0]

    # 3. The sum of the rows is a result, too.
    total = rates.total
    assert total is not None and total[0].count == len(run)

    # 4. A duration is a text, a timedelta of Python or NumPy, whole ticks, or seconds by their own keyword.
    forms = [
        run.coincidences(window="2us", groups=[(1, 2)]),
        run.coincidences(window=datetime.timedelta(microseconds=2), groups=[(1, 2)]),
        run.coincidences(window=numpy.timedelta64(2, "us"), groups=[(1, 2)]),
        run.coincidences(window_s=2e-6, groups=[(1, 2)]),
        run.coincidences(window="12800t", groups=[(1, 2)]),
    ]
    assert len({int(form["count"][0]) for form in forms}) == 1

    # 5. Channels stand alone or in a list, as numbers or names.
    assert run.rates(channels=3)["count"].tolist() == run.rates(channels=[3])["count"].tolist()
    assert run.rates(channels="3")["count"].tolist() == run.rates(channels=numpy.array([3]))["count"].tolist()

    # 6. Polars, pandas and pyarrow take a result as it is.
    pairs = run.coincidences(window="2ns")
    assert polars.DataFrame(pairs)["count"].sum() == pandas.DataFrame(pairs)["count"].sum() == pairs["count"].sum()
    assert pyarrow.table(pairs).num_rows == len(pairs)

    # 7. DuckDB queries the variable by its name.
    (best,) = duckdb.execute("select channels from pairs order by count desc limit 1").fetchall()
    assert list(best[0]) == pairs[int(pairs["count"].argmax())].channels

    # 8. NumPy makes a structured array of a result, and a plain one of numbers.
    g2 = run.g2(1, 2, bin="1ns", range="20ns")
    assert numpy.asarray(g2)["g2"].max() == g2["g2"].max()
    assert numpy.asarray(g2, dtype=float).shape == (len(g2), len(g2.columns))

    # 9. Delays: find the peak, and align the channels with it.
    found = run.delays([1, 2], range="1us")
    delays = {int(of["channel"]): f"{of['ticks']}t" for of in found.query["delays"]}
    aligned = run.g2(1, 2, bin="1ns", range="20ns", delays=delays)
    assert abs(aligned["delay_s"][aligned["g2"].argmax()]) < 2e-9

    # 10. Errors stand beside values; errors from blocks need no assumption about the light.
    blocks = run.coincidences(window="2ns", groups=[(1, 2)], errors="blocks")
    assert blocks["count"][0] == pairs_of(run, "2ns") and blocks["rate_err_hz"][0] > 0

    # 11. A trace has a row for each bin of time.
    trace = run.rates(bin="10ms", channels=[1, 2])
    assert trace["count"].sum() == run.rates(channels=[1, 2])["count"].sum()

    # 12. Group a trace in Polars.
    highest = trace.to_polars().group_by("channel").agg(polars.col("rate_hz").max()).sort("channel")
    assert highest["channel"].to_list() == [1, 2]

    # 13. A part of the run: from, to, the last of it.
    first, last = run.rates(to="100ms")["count"].sum(), run.rates(from_s=0.1)["count"].sum()
    assert first + last == len(run) and run.rates(last="10ms")["count"].sum() < len(run)

    # 14. Tags are arrays, mapped from the file.
    time, channel = run.time, run.channel
    assert not time.flags.writeable and (numpy.diff(time) >= 0).all() and channel.max() == 4

    # 15. A run is a table of its tags, which DuckDB reads in batches.
    (of_sql,) = duckdb.execute("select count(*) from run where channel = 1").fetchall()
    assert of_sql[0] == (channel == 1).sum()

    # 16. A lazy frame reads only the blocks that its filter needs.
    counters = tagq.ScanCounters()
    lazy = tagq.scan(run, counters=counters).filter(polars.col("channel") == 2)
    assert lazy.collect().height == (channel == 2).sum() and counters.blocks_read >= 1

    # 17. Rows at a time, found by the index.
    assert run.lookup("1ms") == numpy.searchsorted(time, time[0] + round(1e-3 / run.tick_s))

    # 18. The list of the coincidences is a stream of Arrow.
    tuples = run.tuples(window="2ns", groups=(1, 2))
    batches = pyarrow.RecordBatchReader.from_stream(tuples)
    assert sum(batch.num_rows for batch in batches) == pairs_of(run, "2ns")

    # 19. Results and tags in files.
    g2.save(folder / "g2.parquet")
    assert pyarrow.parquet.read_table(folder / "g2.parquet").num_rows == len(g2)
    assert run.export(folder / "tags.parquet", channels=[1, 2]) == polars.read_parquet(folder / "tags.parquet").height

    # 20. Another format, from which the same run is read.
    assert tagq.convert(source, folder / "all.tags.zst") == len(run)
    assert numpy.array_equal(tagq.open(folder / "all.tags.zst").time, time)

    # 21. Simulated light of known truth: 50 thousand pairs a second, half of the photons detected.
    made = tagq.simulate(folder / "made.tags.zst", rate="50kHz", efficiency=0.5, duration="2s", delays={2: "5ns"})
    simulated = tagq.open(folder / "made.tags.zst")
    assert made == len(simulated)
    heralding = simulated.coincidences(window="1ns", groups=[(1, 2)], delays={2: "-5ns"})["p_a_given_b"][0]
    assert abs(heralding - 0.5) < 0.02

    # 22. Several runs asked as one: counts and live times are added up.
    with tagq.open([source, folder / "all.tags.zst"]) as both:
        assert both.rates()["count"].sum() == 2 * len(run) and len(both.runs) == 2

    # 23. A run of arrays, and one of a table.
    mine = tagq.from_arrays(time, channel, tick="156.25ps")
    assert mine.coincidences(window="2ns")["count"].tolist() == pairs["count"].tolist()
    assert len(tagq.from_table(polars.DataFrame(run).head(100), tick="156.25ps")) == 100

    # 24. Record from Python, and follow while it grows.
    with tagq.Recorder(folder / "live.tagq", "1ps", every="0s") as recorder:
        recorder.append(numpy.array([10, 25, 25]), numpy.array([1, 2, 1]))
        live = tagq.open(folder / "live.tagq")
        recorder.append(numpy.array([40, 55]), numpy.array([1, 2]))
        assert live.refresh() and len(live) == 5

    # 25. Watch a query: an answer now, and one with each commit.
    answers = [int(answer["count"].sum()) for answer in live.watch("rates", channels=[1, 2], timeout="200ms")]
    assert answers[-1] == 5

    # 26. Figures on axes of matplotlib, beside others of your own.
    page, axes = plt.subplots(1, 2, figsize=(11, 4))
    aligned.plot(ax=axes[0], title="aligned")
    pairs.plot(ax=axes[1])
    axes[0].axvline(0.0, color="black")
    page.savefig(folder / "both.png")
    assert axes[0].get_xlabel() == "delay τ (ns)" and axes[0].get_title() == "aligned"

    # 27. A figure of its own, and the picture of the program.
    panels = trace.plot(size=(8, 5))
    panels[0].figure.savefig(folder / "trace.png")
    g2.save(folder / "g2.svg", limits=(0, 20))
    assert len(panels) == 2 and (folder / "g2.svg").read_text().startswith("<?xml")

    # 28. Threads: queries leave the interpreter free.
    windows = ["1ns", "2ns", "4ns", "8ns"]
    expected = [pairs_of(run, window) for window in windows]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda window: pairs_of(run, window), windows)) == expected

    # 29. Processes: a run is pickled by its store and its commit.
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as processes:
        assert list(processes.map(pairs_of, [run] * 4, windows)) == expected

    # 30. Dask: threads, and a graph of calls.
    tasks = [delayed(pairs_of)(run, window) for window in windows]
    assert list(compute(*tasks, scheduler="threads")) == expected

    print("30 steps")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
