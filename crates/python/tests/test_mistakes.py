"""Typical mistakes: the type of the exception and the first line of its message, which says what is wrong, where, and what
to write instead."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy
import pytest

import tagq

TIME, CHANNEL = numpy.array([10, 25, 40]), numpy.array([1, 2, 1])


def closed(run: tagq.Run) -> tagq.Run:
    run.close()
    return run


def late_append(folder: Path) -> None:
    with tagq.Recorder(folder / "late.tagq", "1ps") as recorder:
        recorder.append(TIME, CHANNEL)
    recorder.append(TIME, CHANNEL)


def text(folder: Path) -> Path:
    path = folder / "text.tsv"
    path.write_text("1\t10\n2\t25\n")
    return path


def bright(folder: Path) -> tagq.Run:
    path = folder / "bright.tags.zst"
    tagq.simulate(path, channels=[1, 2, 3], coherent=True, rate="100kHz")
    return tagq.open(path)


Call = Callable[[tagq.Run, Path], object]
#: What is written, the exception, and how its message begins; FOLDER stands for the folder of the test.
MISTAKES: list[tuple[str, Call, type[Exception], str]] = [
    (
        "more than a day of work",
        lambda run, folder: bright(folder).histogram2d(1, 2, 3, range="1h"),
        tagq.TagqError,
        "this would take about ",
    ),
    (
        "a number for a switch",
        lambda run, folder: tagq.open(folder, long=1),  # type: ignore[arg-type]
        TypeError,
        "long: True or False is wanted",
    ),
    (
        "more than a day of simulation",
        lambda run, folder: tagq.simulate(folder / "never.tags.zst", duration="4611686018427387904t"),
        tagq.TagqError,
        "this would take about ",
    ),
    (
        "a number for a duration",
        lambda run, folder: run.coincidences(window=2e-9),  # type: ignore[arg-type]
        TypeError,
        'window: a duration is a text with its unit, as "2ns" or "13t", or a timedelta, not float; seconds are window_s=2e-9',
    ),
    (
        "a text for seconds",
        lambda run, folder: run.g2(1, 2, bin_s="1ns"),  # type: ignore[arg-type]
        TypeError,
        "bin_s: a number of seconds is wanted, as 2e-9, not str",
    ),
    (
        "a duration without a unit",
        lambda run, folder: run.coincidences(window="2"),
        ValueError,
        "window: `2` has no unit; write 2ns, 2ps, 2us or 2t (whole ticks)",
    ),
    (
        "a channel that no tag has a name for",
        lambda run, folder: run.rates(channels="Alice"),
        ValueError,
        "no channel is called `Alice`; names are given by `tagq.toml` in the run's folder, or setup=\"FILE\"",
    ),
    (
        "a column that is not there",
        lambda run, folder: run.rates()["counts"],
        KeyError,
        "'no column is called counts; they are channel, count, rate_hz, rate_err_hz; did you mean count?'",
    ),
    (
        "a misspelt keyword",
        lambda run, folder: run.g2(1, 2, rnage="2ns"),  # type: ignore[arg-type]
        TypeError,
        "g2() got an unexpected keyword argument 'rnage'; did you mean range?",
    ),
    (
        "a number for a path",
        lambda run, folder: tagq.open(3),  # type: ignore[call-overload]
        TypeError,
        'path: a path is wanted, as "run/" or a pathlib.Path, not int',
    ),
    (
        "a path that does not exist",
        lambda run, folder: tagq.open(folder / "none"),
        FileNotFoundError,
        "FOLDER/none: no such file or folder",
    ),
    (
        "a closed run",
        lambda run, folder: closed(run).rates(),
        tagq.ClosedError,
        "this run was closed; open it again with tagq.open",
    ),
    (
        "too many bins",
        lambda run, folder: run.g2(1, 2, bin="1t", range="10s"),
        ValueError,
        "128000000001 bins would take 5722.0 GiB of memory, and at most 1.0 GiB is used: `bin` 906.25ns would work",
    ),
    (
        "pairs of channels as a list of lists",
        lambda run, folder: run.g2([[1, 2]]),
        TypeError,
        "start: a channel is a whole number or a name, not list",
    ),
    (
        "a window below zero",
        lambda run, folder: run.coincidences(window="-2ns"),
        ValueError,
        "`-2ns` is negative; write it without the minus sign, as 2ns",
    ),
    (
        "no channels",
        lambda run, folder: run.rates(channels=[]),
        ValueError,
        "channels: the list is empty; leave it out for all channels, or name some, as [3, 15]",
    ),
    (
        "a group of one channel",
        lambda run, folder: run.coincidences(window="2ns", groups=[(1,)]),
        ValueError,
        "groups: a group of one channel; a group has 2 to 16, as [(3, 15)]",
    ),
    (
        "a tick without a unit",
        lambda run, folder: tagq.from_arrays(TIME, CHANNEL, tick="156.25"),
        ValueError,
        "tick: `156.25` has no unit; write 156.25ps",
    ),
    (
        "a number for a tick",
        lambda run, folder: tagq.from_arrays(TIME, CHANNEL, tick=1e-12),  # type: ignore[arg-type]
        TypeError,
        'tick: a text is wanted, as "156.25ps", not float',
    ),
    (
        "times out of order",
        lambda run, folder: tagq.from_arrays(TIME[::-1], CHANNEL, tick="1ps"),
        ValueError,
        'row 1: time 25 ticks comes after 40 ticks; a store holds rows in order of time; sort them first, as by numpy.argsort(time, kind="stable")',
    ),
    (
        "times as floats",
        lambda run, folder: tagq.from_arrays(TIME * 1.0, CHANNEL, tick="1ps"),
        TypeError,
        "time is float64, and floats cannot hold what is counted exactly: divide by the tick, numpy.rint, and astype('int64')",
    ),
    (
        "arrays of other lengths",
        lambda run, folder: tagq.from_arrays(TIME, CHANNEL[:2], tick="1ps"),
        ValueError,
        "channel: 2 channels for 3 times; a tag has one of each",
    ),
    (
        "a recorder after its end",
        lambda run, folder: late_append(folder),
        tagq.ClosedError,
        "this recorder was closed; make another one of the same path to continue",
    ),
    (
        "an unknown format",
        lambda run, folder: run.rates().save(folder / "rates.xlsx"),
        ValueError,
        "FOLDER/rates.xlsx: its name does not say what to write; it ends with .txt, .json, .csv, .arrow, .parquet, .tif, .svg, .png or .html",
    ),
    (
        "a file that is there",
        lambda run, folder: run.rates().save(text(folder).rename(folder / "rates.csv")),
        tagq.TagqError,
        "FOLDER/rates.csv: is there already; replace=True replaces it if it is a file",
    ),
    (
        "a kind that is none",
        lambda run, folder: run.watch("g3"),  # type: ignore[call-overload]
        ValueError,
        "'g3' is no query; watch coincidences, histogram, g2, histogram2d, image, micro, rates, delays or a function; did you mean g2?",
    ),
    (
        "a range that is reversed",
        lambda run, folder: run.g2(1, 2, bin="1ns", range=("10ns", "-10ns")),
        ValueError,
        "a range of differences from 64 to -64 ticks is empty; the first must be below the second",
    ),
    (
        "a text without a tick",
        lambda run, folder: tagq.open(text(folder)),
        ValueError,
        'FOLDER/text.tsv: the tick is missing: the file does not say the unit of its times; add tick="1ps", or what the unit is',
    ),
    (
        "ends of an axis the wrong way round",
        lambda run, folder: run.g2(1, 2, bin="5ns", range="50ns").plot(limits=(2, 1)),
        ValueError,
        "the axis cannot go from 2 to 1: write limits=(LO, HI) with LO below HI, and LO above zero with log_y=True",
    ),
    (
        "one path in a list of numbers",
        lambda run, folder: tagq.open([1]),  # type: ignore[list-item]
        TypeError,
        'path: a path is wanted, as "run/" or a pathlib.Path, not int',
    ),
    (
        "a store for several runs",
        lambda run, folder: tagq.open([folder], store=folder / "s"),  # type: ignore[call-overload]
        ValueError,
        'store: each of several runs has its own; tagq.ingest(paths, store="DIR") makes one run of them',
    ),
    # Made up after the messages were written.
    (
        "a list for a duration",
        lambda run, folder: run.coincidences(window=["2ns"]),  # type: ignore[arg-type]
        TypeError,
        'window: a duration is a text with its unit, as "2ns" or "13t", or a timedelta, not list; seconds are window_s=2e-9',
    ),
    (
        "negative seconds",
        lambda run, folder: run.coincidences(window_s=-2e-9),
        ValueError,
        "`-2ns` is negative; write it without the minus sign, as 2ns",
    ),
    (
        "one option in two ways",
        lambda run, folder: run.coincidences(window="2ns", window_s=2e-9),
        ValueError,
        "window: `window` and `window_s` are one option; give one of them",
    ),
    (
        "delays as a list",
        lambda run, folder: run.coincidences(window="2ns", delays=[15, "4ns"]),  # type: ignore[arg-type]
        TypeError,
        'delays: a dict is wanted, as {15: "-4ns"}',
    ),
    (
        "delays that are to be found without pairs",
        lambda run, folder: run.rates(delays="auto"),
        ValueError,
        "delays are found from the peaks between channels that belong together: of coincidences, histograms and g2",
    ),
    (
        "another word for auto",
        lambda run, folder: run.g2(1, 2, delays="find"),  # type: ignore[arg-type]
        TypeError,
        'delays: a dict is wanted, as {15: "-4ns"}',
    ),
    (
        "groups as the command line has them",
        lambda run, folder: run.coincidences("1,2", window="2ns"),
        TypeError,
        "groups: a list of groups of channels is wanted, as [(3, 15)], not str",
    ),
    (
        "a channel that is no whole number",
        lambda run, folder: run.g2(1.0, 2),  # type: ignore[arg-type]
        TypeError,
        "start: a channel is a whole number or a name, not float",
    ),
    (
        "a channel below zero",
        lambda run, folder: run.g2(-1, 2),
        ValueError,
        "start: -1 is no channel; channels are numbers from 0 to 65535",
    ),
    (
        "a rule that is none",
        lambda run, folder: run.coincidences(window="2ns", rule="first"),  # type: ignore[arg-type]
        ValueError,
        "rule: `first` is none of all, herald, per-herald, once, cluster, grid",
    ),
    (
        "a quantity of another query",
        lambda run, folder: run.rates().plot(quantity="car"),
        ValueError,
        "there is no quantity `car` in this answer; it has rate_hz",
    ),
    (
        "a size in inches",
        lambda run, folder: run.rates().save(folder / "a.svg", size=(10, 8)),
        ValueError,
        "a figure is 240 to 8000 pixels wide and high",
    ),
    (
        "a size as the command line has it",
        lambda run, folder: run.rates().save(folder / "a.svg", size="1200x800"),  # type: ignore[arg-type]
        TypeError,
        "size: two numbers are wanted, as (1200, 800), not '1200x800'",
    ),
    (
        "a word for a flag",
        lambda run, folder: run.rates().save(folder / "a.svg", dark="yes"),  # type: ignore[arg-type]
        TypeError,
        "dark: True or False is wanted, not 'yes'",
    ),
    (
        "no path",
        lambda run, folder: tagq.open(None),  # type: ignore[call-overload]
        TypeError,
        'path: a path is wanted, as "run/" or a pathlib.Path, not NoneType',
    ),
    (
        "no threads",
        lambda run, folder: tagq.open(folder, threads=0),
        TypeError,
        "threads: a whole number above zero is wanted",
    ),
    (
        "bins of no width",
        lambda run, folder: run.rates(bin="0s"),
        ValueError,
        "`0s` is 0 ticks of 156.25 ps; use 156.25ps (1t)",
    ),
    (
        "a tick without a unit",
        lambda run, folder: tagq.from_arrays(TIME, CHANNEL, tick="1"),
        ValueError,
        "tick: `1` has no unit; write 1ps",
    ),
    (
        "a form that tags are not written in",
        lambda run, folder: run.export(folder / "x.xyz"),
        ValueError,
        "FOLDER/x.xyz: its name does not say what to write; it ends with .tags, .tsv, .csv, .ptu or .swabian,",
    ),
]


@pytest.mark.parametrize(("ask", "error", "message"), [pytest.param(*of[1:], id=of[0]) for of in MISTAKES])
def test_a_typical_mistake(run: tagq.Run, tmp_path: Path, ask: Call, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as raised:
        ask(run, tmp_path)
    first = str(raised.value).splitlines()[0].replace(str(tmp_path), "FOLDER")
    assert first.startswith(message), first

    # Python has no arguments of the command line, except in whole commands.
    for place, piece in enumerate(first.split("`")):
        assert "--" not in piece or (place % 2 == 1 and piece.startswith("tagq ")), first


def test_there_are_enough() -> None:
    assert len(MISTAKES) >= 40
