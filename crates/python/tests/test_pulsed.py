"""g2 of pulsed light: compared with plain NumPy and with light of known g2."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path

import numpy
import pytest

import tagq

#: Ticks of common instruments, of a recorder, and of a file of mode T3, in attoseconds.
TICKS = {"1ps": 10**6, "156.25ps": 156_250_000, "96.97ps": 96_970_000}


def pulsed(seed: int, period: float, pulses: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """A single emitter and a laser behind a beam splitter, with jitter, and steady background."""
    random = numpy.random.default_rng(seed)
    photons = (random.random(pulses) < 0.3).astype(int) + random.poisson(0.1, pulses)
    numbers = numpy.repeat(numpy.arange(pulses), photons)
    times = (numbers + 0.5) * period + random.normal(0, period / 30, len(numbers))
    background = random.uniform(0, pulses * period, pulses // 5)
    times = numpy.concatenate([times, background])
    order = numpy.argsort(times)
    return numpy.floor(times[order]).astype("i8"), random.integers(1, 3, len(times)).astype("u2")


def in_ps(attoseconds: int) -> str:
    return f"{attoseconds // 10**6}.{attoseconds % 10**6:06d}ps"


def peaks(
    time: numpy.ndarray, channel: numpy.ndarray, ends: tuple[int, int], period: Fraction, width: Fraction, aside: int, skip: int
) -> list[tuple[int, float, float]]:
    """Count, background and g2 of each peak, pair by pair."""
    starts, stops = (time[channel == end] for end in ends)
    span = int(time[-1] - time[0])
    differences = [stop - start for start in starts.tolist() for stop in stops.tolist()]
    if ends[0] == ends[1]:
        for _ in starts:
            differences.remove(0)
    differences = numpy.array(differences)
    # Ticks of peaks, and of the valleys between them.
    inside: dict[int, set[int]] = {}
    for peak in range(-aside, aside + 1):
        middle = peak * period
        low, high = -((width / 2 - middle) // 1), (middle + width / 2) // 1
        inside[peak] = set(range(int(low), int(high) + 1))
    valley = (period - width) / 4
    between: set[int] = set()
    for half in range(-2 * aside - 1, 2 * aside + 2, 2):
        middle = half * period / 2
        low, high = -((valley / 2 - middle) // 1), (middle + valley / 2) // 1
        between |= set(range(int(low), int(high) + 1))

    def expected(ticks: list[int], wide: Fraction) -> float:
        """One step for each bin: starts and stops whose partner is within the recording."""
        total = 0.0
        for run in numpy.split(numpy.array(ticks), numpy.flatnonzero(numpy.diff(ticks) > 1) + 1):
            bins = min(max(int(wide / period * 24 + Fraction(1, 2)), 1), max(int(wide) - 1, 1))
            edges = [len(run) * part // bins for part in range(bins + 1)]
            for first, after in zip(edges[:-1], edges[1:], strict=True):
                middle = (run[first] + run[after - 1]) / 2
                left = numpy.sum((starts + middle >= time[0]) & (starts + middle <= time[-1]))
                right = numpy.sum((stops - middle >= time[0]) & (stops - middle <= time[-1]))
                total += left * right * (after - first) / (span - abs(middle))
        return float(total)

    def counted(ticks: set[int]) -> int:
        return int(numpy.isin(differences, list(ticks)).sum())

    counts = {peak: counted(ticks) for peak, ticks in inside.items()}
    weights = {peak: expected(sorted(ticks), width) for peak, ticks in inside.items()}
    sides = [peak for peak in inside if abs(peak) > skip]
    side = sum(counts[peak] for peak in sides) / sum(weights[peak] for peak in sides)
    low = counted(between) / expected(sorted(between), valley)
    return [(counts[peak], low * weights[peak], (counts[peak] / weights[peak] - low) / (side - low)) for peak in inside]


@pytest.mark.parametrize("tick", TICKS)
@pytest.mark.parametrize("ends", [(1, 2), (2, 1), (1, 1)])
def test_each_peak_is_that_of_plain_numpy(tmp_path: Path, tick: str, ends: tuple[int, int]) -> None:
    period_as = 97 * TICKS[tick] + TICKS[tick] // 3
    period, width = Fraction(period_as, TICKS[tick]), Fraction(2 * period_as // 5, TICKS[tick])
    time, channel = pulsed(len(tick) + ends[0], float(period), 900)
    run = tagq.from_arrays(time, channel, tick=tick, store=tmp_path / "r.tagq")
    asked = {"pulsed": in_ps(period_as), "peak": in_ps(2 * period_as // 5)}
    found = run.g2(*ends, **asked, sides=3, skip=1)
    expected = peaks(time, channel, ends, period, width, 4, 1)
    assert found["peak"].tolist() == list(range(-4, 5))
    assert found["side"].tolist() == [abs(peak) > 1 for peak in range(-4, 5)]
    for row, (count, background, value) in enumerate(expected):
        assert found["count"][row] == count
        assert found["background"][row] == pytest.approx(background, rel=1e-9)
        assert found["g2"][row] == pytest.approx(value, rel=1e-9)


def test_light_of_known_g2(tmp_path: Path) -> None:
    """The period is found, and g2(0) is that of 0.3 photons of a single emitter and 0.1 of a laser."""
    period = 12_500.37
    time, channel = pulsed(1, period, 400_000)
    run = tagq.from_arrays(time, channel, tick="1ps", store=tmp_path / "r.tagq")
    for options in ({}, {"sides": 40}, {"peak": "5ns", "skip": 2}, {"errors": "formula"}):
        answer = run.g2(1, 2, pulsed="auto", **options)
        stated = answer.query["pulsed"]
        assert abs(stated["period_ticks"] - period) < min(4 * stated["period_err_ticks"], 1.0)
        zero = answer["peak"].tolist().index(0)
        truth = (2 * 0.3 * 0.1 + 0.1**2) / 0.4**2
        assert abs(answer["g2"][zero] - truth) < 4 * answer["g2_err"][zero] < 0.1
    # The limit of a peak without a pair.
    dark = tagq.from_arrays(
        numpy.arange(4_000) * 12_500, (1 + numpy.arange(4_000) % 2).astype("u2"), tick="1ps", store=tmp_path / "d.tagq"
    )
    answer = dark.g2(1, 2, pulsed="12.5ns", peak="1ns", sides=4)
    assert answer["count"][4] == 0 and answer["g2"][4] == 0.0 and 0.0 < answer["g2_max"][4] < 0.01


def test_the_period_of_a_sync_is_taken(tmp_path: Path) -> None:
    """Files of mode T3 state the period of their pulses."""
    folder = os.environ.get("TAGQ_REAL_DATA")
    if folder is None:
        pytest.skip("TAGQ_REAL_DATA names no folder with recordings of instruments")
    run = tagq.ingest(Path(folder) / "instruments/hydraharp_v20.ht3", store=tmp_path / "r.tagq")
    # Its detector has afterpulses in the microseconds after a photon.
    with pytest.warns(tagq.TagqWarning, match="of the tags of input1 are followed by another one"):
        answer = run.g2("input1", "input2", pulsed="auto")
    assert answer.query["pulsed"]["period_err_ticks"] == 0.0
    assert answer.query["pulsed"]["period_s"] == pytest.approx(1.001103216e-6, rel=1e-9)

