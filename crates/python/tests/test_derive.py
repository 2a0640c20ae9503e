"""Channels made from channels, and gates: compared with plain NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest

import tagq

#: A gap longer than every window and dead time of the definitions, in ticks.
PAUSE = 100_000


def recorded(seed: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Bursts and single tags of the channels 1 to 4, many at equal times."""
    random = numpy.random.default_rng(seed)
    gaps = random.choice([0, 1, 3, 20, 150, PAUSE], size=5_000, p=[0.2, 0.2, 0.2, 0.2, 0.19, 0.01])
    return numpy.cumsum(gaps), random.integers(1, 5, size=len(gaps)).astype("u2")


def of(run: tagq.Run, channel: int) -> numpy.ndarray:
    return run.time[run.channel == channel]


def label(run: tagq.Run, name: str) -> int:
    return next(channel["channel"] for channel in run.facts["channels"] if channel.get("name") == name)


def near(a: numpy.ndarray, b: numpy.ndarray, low: int, high: int) -> numpy.ndarray:
    """Whether a tag of ``b`` is from ``low`` up to, not including, ``high`` after each tag of ``a``."""
    return numpy.array([bool(numpy.any((b - time >= low) & (b - time < high))) for time in a])


def dead(a: numpy.ndarray, time: int) -> list[int]:
    kept: list[int] = []
    for now in a.tolist():
        if not kept or now - kept[-1] >= time:
            kept.append(now)
    return kept


def once(a: list[int], b: list[int], window: int) -> list[int]:
    """One-to-one: the earliest unused tags of both are a match, or the earlier one is dropped."""
    found, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        if abs(a[i] - b[j]) <= window:
            found.append(max(a[i], b[j]))
            i, j = i + 1, j + 1
        elif a[i] < b[j]:
            i += 1
        else:
            j += 1
    return sorted(found)


@pytest.mark.parametrize("seed", range(5))
def test_operators_are_those_of_plain_numpy(seed: int, tmp_path: Path) -> None:
    time, channel = recorded(seed)
    run = tagq.from_arrays(time, channel, tick="1ps", store=tmp_path / "run.tagq")
    made = run.derive(any_="1 | 2", pair="1 & 2 within 10ps", third="3 / 3", dead="1 dead 20ps")
    # Tags less than 5 ps before the last one are not decided.
    ahead = run.derive(near="3 if 4 in 0ps..5ps", far="3 unless 4 in 0ps..5ps")
    a, b, c, d = (of(run, number) for number in (1, 2, 3, 4))
    expected = {
        "any_": sorted(numpy.concatenate([a, b]).tolist()),
        "pair": once(a.tolist(), b.tolist(), 10),
        "third": c[::3].tolist(),
        "dead": dead(a, 20),
        "near": [at for at in c[near(c, d, 0, 5)].tolist() if at <= time[-1] - 4],
        "far": [at for at in c[~near(c, d, 0, 5)].tolist() if at <= time[-1] - 4],
    }
    for name, wanted in expected.items():
        assert 0 < len(wanted), name
        of_run = ahead if name in ("near", "far") else made
        assert of(of_run, label(of_run, name)).tolist() == wanted, name
    for number in (1, 2, 3, 4):
        assert of(made, number).tolist() == of(run, number).tolist()
    assert made.facts["live_s"] == run.facts["live_s"]


@pytest.mark.parametrize("seed", range(5))
def test_gates_keep_the_tags_inside(seed: int, tmp_path: Path) -> None:
    time, channel = recorded(seed)
    run = tagq.from_arrays(time, channel, tick="1ps", store=tmp_path / "run.tagq")
    opened, closed = of(run, 1), of(run, 2)
    is_open = numpy.array(
        [
            numpy.any(opened <= now)
            and (not numpy.any(closed <= now) or opened[opened <= now].max() >= closed[closed <= now].max())
            for now in time.tolist()
        ]
    )
    made = run.derive(tmp_path / "gated.tagq", gates="1 .. 2")
    assert made.time.tolist() == time[is_open].tolist()
    assert made.channel.tolist() == channel[is_open].tolist()
    # Live are the times that the gate is open: half-open intervals, the last one up to the last tag.
    ticks = numpy.arange(time[0], time[-1])
    last_open = opened[numpy.maximum(numpy.searchsorted(opened, ticks, side="right") - 1, 0)]
    last_closed = closed[numpy.maximum(numpy.searchsorted(closed, ticks, side="right") - 1, 0)]
    live = (opened[0] <= ticks) & ((closed[0] > ticks) | (last_open >= last_closed))
    assert made.facts["live_s"] == pytest.approx(int(live.sum()) * 1e-12, rel=1e-12)
    both = run.derive(gates=["1 .. 2", "3 for 7ps"], channels=[4])
    c = of(run, 3)
    inside = [
        bool(kept) and bool(numpy.any((c <= now) & (now < c + 7)))
        for now, kept in zip(time.tolist(), is_open.tolist(), strict=True)
    ]
    assert both.time.tolist() == time[numpy.array(inside) & (channel == 4)].tolist()


def test_wrong_definitions_say_what_is_wrong(tmp_path: Path) -> None:
    run = tagq.from_arrays(numpy.array([1, 2]), numpy.array([1, 2]), tick="1ps")
    for definitions, words in (
        ({"x": "1 & 2"}, "within"),
        ({"x": "1 | y"}, "`y`"),
        ({"x": "y | 1", "y": "x | 2"}, "x → y"),
        ({"x": "1 .. 2"}, "gates"),
    ):
        with pytest.raises(tagq.QuestionError, match=words):
            run.derive(**definitions)


def test_queries_take_definitions_and_gates(tmp_path: Path) -> None:
    time, channel = recorded(7)
    run = tagq.from_arrays(time, channel, tick="1ps", store=tmp_path / "run.tagq")
    definitions = {"Pair": "1 & 2 within 100ps", "Any": "Pair | 3"}
    made = run.derive(gates="4 for 1ns", **definitions)
    assert made.store != run.store
    for derive in (definitions, [f"{name} = {text}" for name, text in definitions.items()]):
        with pytest.warns(tagq.TagqWarning, match="Pair, Any: its tags do not scatter"):
            asked = run.rates(derive=derive, gates=["4 for 1ns"], channels=["Pair", "Any", 4])
        expected = made.rates(channels=["Pair", "Any", 4])
        assert asked.rows == expected.rows
        assert asked.run["live_s"] == expected.run["live_s"]
    assert run.gate("4 for 1ns").rates().rows == run.rates(gates="4 for 1ns").rows
    with pytest.raises(tagq.QuestionError, match="derive"):
        run.rates(derive=3)
    with pytest.raises(tagq.QuestionError, match="NAME = DEFINITION"):
        run.rates(derive="1 | 2")


def test_counts_between_markers_are_those_of_plain_numpy(tmp_path: Path) -> None:
    time, channel = recorded(17)
    run = tagq.from_arrays(time, channel, tick="1ps", store=tmp_path / "run.tagq")
    starts, ends = time[channel == 3], time[channel == 4]
    counted = run.rates(1, by=3)
    edges = numpy.append(starts, time[-1] + 1)
    inside = [int(numpy.sum((time[channel == 1] >= a) & (time[channel == 1] < b))) for a, b in zip(edges, edges[1:])]
    assert list(counted["count"]) == inside
    assert list(counted["start_ticks"]) == [int(a - time[0]) for a in starts]
    assert list(counted["length_ticks"]) == [int(b - a) for a, b in zip(edges, edges[1:])]
    assert list(counted["partial"]) == [False] * (len(starts) - 1) + [True]

    # From an opening to the next closing; with both at one time the next interval begins there.
    spans, open_at = [], None
    for at in sorted(set(starts) | set(ends)):
        if open_at is not None and at in set(ends):
            spans.append((open_at, at))
            open_at = None
        if open_at is None and at in set(starts):
            open_at = at
    if open_at is not None:
        spans.append((open_at, time[-1] + 1))
    counted = run.rates(1, by="3 .. 4")
    inside = [int(numpy.sum((time[channel == 1] >= a) & (time[channel == 1] < b))) for a, b in spans]
    assert list(counted["count"]) == inside and len(spans) > 100


@pytest.mark.filterwarnings("ignore:.* runs recorded for:tagq.TagqWarning")
def test_runs_of_the_same_time_are_merged(tmp_path: Path) -> None:
    def run(time: list[int], channel: list[int]) -> tagq.Run:
        return tagq.from_arrays(numpy.array(time), numpy.array(channel), tick="1ps")

    first = run([0, 1_000_000, 9_000_000], [1, 1, 1])
    second = run([100, 1_000_100, 8_000_000], [1, 2, 1])
    store = tmp_path / "both.tagq"
    # The clock of the second one runs slow by 50 ppm, and it began 200 ps earlier.
    with pytest.warns(tagq.TagqWarning, match="both runs recorded for 8.0002 µs; `from` 0s and `to`"):
        both = first.merge(second, store=store, offset="-200ps", drift=50, channels_b=10)
    assert both.time.tolist() == [-100, 0, 999_950, 1_000_000, 8_000_200, 9_000_000]
    assert both.channel.tolist() == [11, 1, 12, 1, 11, 1]
    assert both.store == str(store) and len(tagq.open(store)) == 6
    same = first.merge(second, store=tmp_path / "same.tagq", offset_s=-2e-10, drift="50.0", channels_b=10)
    assert same.time.tolist() == both.time.tolist()
    third = run([5, 8_500_000], [3, 3])
    fourth = run([7, 8_600_000], [4, 4])
    all_three = first.merge(third, fourth, store=tmp_path / "three.tagq")
    assert all_three.channel.tolist() == [1, 3, 4, 1, 3, 4, 1]
    for words, error, message in (
        (dict(), tagq.QuestionError, "run 1 and run 2 have tags on channel 1"),
        (dict(drift=None, channels_b=10), tagq.WrongTypeError, "drift: a number of parts per million"),
        (dict(drift="1 ppm", channels_b=10), tagq.QuestionError, "drift: `1 ppm` is not a number"),
        (dict(offset=1, channels_b=10), tagq.WrongTypeError, "offset_s=2e-9"),
    ):
        with pytest.raises(error, match=message):
            first.merge(second, store=tmp_path / "wrong.tagq", **words)
    with pytest.raises(tagq.QuestionError, match="are of two runs"):
        first.merge(second, third, store=tmp_path / "wrong.tagq", drift=1)
    with pytest.raises(tagq.QuestionError, match="a run to merge with is missing"):
        first.merge(store=tmp_path / "wrong.tagq")
    assert not (tmp_path / "wrong.tagq").exists()
