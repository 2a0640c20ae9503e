"""Scans: several values of an option, and runs that differ in a setting."""

from __future__ import annotations

import math
from pathlib import Path

import numpy
import pytest

import tagq
from conftest import cli_json

#: Ticks of common instruments, of a recorder, and of a file of mode T3.
TICKS = ("1ps", "156.25ps", "96.97ps")


def pairs(seed: int, tick: str = "1ps", store: Path | None = None, visible: float = 1.0) -> tagq.Run:
    """Pairs between channels 1 and 2, with jitter, among other photons, and a third channel."""
    random = numpy.random.default_rng(seed)
    starts = numpy.cumsum(random.exponential(200, 4_000))
    stops = starts[random.random(len(starts)) < 0.5 * visible] + 12
    other = random.uniform(0, starts[-1], 3_000)
    times = numpy.concatenate([starts, stops + random.normal(0, 5, len(stops)), other, other[:500]])
    channels = numpy.repeat([1, 2, 2, 3], [len(starts), len(stops), len(other), 500])
    order = numpy.argsort(times)
    return tagq.from_arrays(numpy.floor(times[order]).astype("i8"), channels[order].astype("u2"), tick=tick, store=store)


@pytest.mark.parametrize("tick", TICKS)
@pytest.mark.parametrize("groups", [[(1, 2)], [(2, 1), (1, 3)], [(1, 2, 3)]])
def test_windows_equal_separate_queries(tick: str, groups: list[tuple[int, ...]]) -> None:
    run = pairs(1, tick)
    scan = run.scan("coincidences", groups=groups, window="0t..60t:13")
    windows = range(0, 61, 5)
    assert scan["window_s"].tolist() == pytest.approx([w * run.tick_s for window in windows for w in [window] * len(groups)])
    rows = scan.rows
    for number, window in enumerate(windows):
        alone = run.coincidences(groups, window=f"{window}t")
        for of, row in zip(alone.rows, rows[number * len(groups) :], strict=False):
            assert {key: row[key] for key in of} == of


@pytest.mark.parametrize("rule", ["all", "herald", "once"])
def test_delays_equal_separate_queries(rule: str) -> None:
    run = pairs(2)
    scan = run.scan("coincidences", 1, 2, window="4t", rule=rule, delays={2: "-40t..20t:31"})
    for number, delay in enumerate(range(-40, 21, 2)):
        alone = run.coincidences([(1, 2)], window="4t", rule=rule, delays={2: f"{delay}t"})
        assert scan["count"][number] == alone["count"][0], delay
        assert scan["delay_of_2_s"][number] == pytest.approx(delay * 1e-12)
    # Pairs are 12 ticks late.
    assert -14 <= scan["delay_of_2_s"][scan["count"].argmax()] * 1e12 <= -10


def test_pairs_are_brute_force_pairs() -> None:
    run = pairs(3)
    one, other = (run.time[run.channel == channel].astype(int) for channel in (1, 2))
    differences = (other[None, :] - one[:, None]).ravel()
    scan = run.scan("coincidences", 1, 2, window="0t..45t:10", delays={1: "7t"})
    expected = [int((abs(differences - 7) <= window).sum()) for window in range(0, 46, 5)]
    assert scan["count"].tolist() == expected


def test_a_fringe_over_runs(tmp_path: Path) -> None:
    phases = list(range(0, 720, 45))
    paths = []
    for seed, phase in enumerate(phases):
        path = tmp_path / f"phase={phase}.tagq"
        pairs(seed, store=path, visible=0.5 + 0.4 * math.cos(math.radians(phase - 30)))
        paths.append(path)
    runs = tagq.sum([tagq.open(path) for path in paths])
    words = {"window": "15t"}
    by_name = runs.scan("coincidences", 1, 2, x=r"phase=(\d+)", **words)
    assert by_name["phase"].tolist() == phases and by_name["run"].tolist() == [str(path) for path in paths]
    (tmp_path / "settings.csv").write_text("run,phase\n" + "".join(f"{path.name},{p}\n" for path, p in zip(paths, phases)))
    assert runs.scan("coincidences", 1, 2, x="phase", **words).rows == by_name.rows
    assert runs.scan("coincidences", 1, 2, x=("phase", phases), **words).rows == by_name.rows
    alone = [tagq.open(path).coincidences([(1, 2)], **words)["count"][0] for path in paths]
    assert by_name["count"].tolist() == alone
    fitted = by_name.fit("sin")
    assert abs(fitted["period"][0] - 360) < 4 * fitted["period_err"][0]
    assert abs(fitted["maximum"][0] - 30) < 4 * fitted["maximum_err"][0]
    command = ["coincidences", "1,2", "--window", "15t", "--x", r"phase=(\d+)", *paths]
    assert cli_json("scan", *command)["rows"] == by_name.rows
    assert cli_json("fit", "sin", "scan", *command)["rows"] == fitted.rows
    for name, result in (("scan.json", by_name), ("fit.json", fitted)):
        result.save(tmp_path / name)
        assert tagq.reproduce(tmp_path / name).rows == result.rows
    by_name.save(tmp_path / "scan.svg")
    assert "phase" in (tmp_path / "scan.svg").read_text()


def test_mistakes_are_named(tmp_path: Path) -> None:
    run = pairs(4)
    for words, wanted in (
        ({"window": "1ns"}, "nothing is scanned"),
        ({"window": "1ns..2ns:1"}, "number of values"),
        ({"window": "1ns..20t:3"}, "one unit"),
        ({"window": "1ns..2ns:3", "delays": {2: "0ns..1ns:3"}}, "both have several values"),
        ({"window": "1ns..2ns:3", "bin": "1ns"}, "one number for each"),
    ):
        with pytest.raises(tagq.TagqError, match=wanted):
            run.scan("coincidences", 1, 2, **words)
    with pytest.raises(tagq.TagqError, match="no column"):
        (tmp_path / "settings.csv").write_text("run,a\nx,1\n")
        tagq.sum([pairs(5, store=tmp_path / "x")]).scan("coincidences", 1, 2, x="b", window="1ns")
    with pytest.raises(tagq.TagqError, match="settings for"):
        tagq.sum([run]).scan("coincidences", 1, 2, x=("a", [1, 2]), window="1ns")
    with pytest.raises(tagq.QuestionError, match="name of a query"):
        run.scan(window="1ns..2ns:3")
