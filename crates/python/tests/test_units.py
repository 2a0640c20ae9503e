"""Times in a unit become the nearest ticks, as Python rounds fractions."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy
import polars
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tagq

UNITS = {"ps": 10**6, "ns": 10**9, "us": 10**12, "ms": 10**15, "s": 10**18}
TICKS = {
    "1ps": Fraction(10**6),
    "156.25ps": Fraction(156_250_000),
    "1/3ps": Fraction(10**6, 3),
    "5ns": Fraction(5 * 10**9),
}
BOUND = 2**63


def nearest(value: Fraction, unit: str, tick: str) -> int:
    """Returns ticks; Python rounds halves to even."""
    return round(value * UNITS[unit] / TICKS[tick])


units, ticks = st.sampled_from(sorted(UNITS)), st.sampled_from(sorted(TICKS))
decimals = st.decimals(-(10**9), 10**9, allow_nan=False).filter(lambda number: number.as_tuple().exponent > -40)


@pytest.mark.filterwarnings("ignore:.*have digits below:tagq.TagqWarning")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(numbers=st.lists(decimals, min_size=1), unit=units, tick=ticks)
def test_decimal_numbers_of_a_text(tmp_path: Path, numbers: list[Decimal], unit: str, tick: str) -> None:
    expected = sorted(nearest(Fraction(number), unit, tick) for number in numbers)
    path = tmp_path / "times.csv"
    path.write_text("".join(f"{number},3\n" for number in numbers))
    store = tmp_path / "run.tagq"
    options = {"store": store, "tick": tick, "columns": f"time:{unit},channel", "rebuild": True}
    if not -BOUND <= expected[0] <= expected[-1] < BOUND:
        with pytest.raises(tagq.TagqError, match="outside of 64 bits"):
            tagq.ingest(path, **options)
        return
    if expected[-1] - expected[0] >= BOUND:
        with pytest.raises(tagq.TagqError, match="spans 2\\^63 ticks"):
            tagq.ingest(path, **options)
        return
    assert tagq.ingest(path, **options).time.tolist() == expected


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(
    numbers=st.lists(st.floats(-1e12, 1e12), min_size=1),
    unit=units,
    tick=ticks,
    form=st.sampled_from(["parquet", "npy"]),
)
def test_floats_of_a_table(tmp_path: Path, numbers: list[float], unit: str, tick: str, form: str) -> None:
    expected = sorted(nearest(Fraction(number), unit, tick) for number in numbers)
    path = tmp_path / f"times.{form}"
    if form == "parquet":
        polars.DataFrame({"t": numbers, "ch": [3] * len(numbers)}).write_parquet(path)
    else:
        numpy.save(path, numpy.array([(number, 3) for number in numbers], dtype=[("t", "<f8"), ("ch", "u1")]))
    options = {"store": tmp_path / f"{form}.tagq", "tick": tick, "columns": f"time=t:{unit}", "rebuild": True}
    if not -BOUND <= expected[0] <= expected[-1] < BOUND:
        with pytest.raises(tagq.TagqError, match="row .* leave 64 bits"):
            tagq.ingest(path, **options)
        return
    if expected[-1] - expected[0] >= BOUND:
        with pytest.raises(tagq.TagqError, match="spans 2\\^63 ticks"):
            tagq.ingest(path, **options)
        return
    assert tagq.ingest(path, **options).time.tolist() == expected


def test_a_unit_is_kept_and_its_tick_can_only_be_rebuilt(tmp_path: Path) -> None:
    path = tmp_path / "times.csv"
    path.write_text("time,channel\n1.5,3\n2.25,4\n")
    without = tmp_path / "without.csv"
    without.write_text(path.read_text())
    run = tagq.open(without, columns="time=:ns")
    assert (run.tick, run.time.tolist()) == ("1 ps", [1_500, 2_250])
    assert tagq.open(path, columns="time=:ns", tick="250ps").time.tolist() == [6, 9]
    assert tagq.open(path).time.tolist() == [6, 9]
    assert tagq.ingest(path, tick="1ps", rebuild=True).time.tolist() == [1_500, 2_250]
    with pytest.raises(tagq.TagqError, match="--rebuild"):
        tagq.open(path, columns="time=:ps")
