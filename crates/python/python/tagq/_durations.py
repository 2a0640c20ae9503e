"""Durations of Python as the texts that requests take."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

from ._errors import QuestionError, WrongTypeError

#: Attoseconds of each unit that a text has, the longest first.
UNITS = {"s": 10**18, "ms": 10**15, "us": 10**12, "ns": 10**9, "ps": 10**6, "fs": 10**3, "as": 1}
#: Seconds of each unit of NumPy that has a fixed length.
NUMPY = {
    "W": Fraction(604_800),
    "D": Fraction(86_400),
    "h": Fraction(3_600),
    "m": Fraction(60),
    **{unit: Fraction(1, 10**power) for power, unit in zip(range(0, 21, 3), ("s", "ms", "us", "ns", "ps", "fs", "as"))},
}


def text_of(name: str, value: Any, is_range: bool = False, has_seconds: bool = True) -> str:
    """Returns a duration as text: a text itself, a ``timedelta``, or one of NumPy; of a range also a pair of them. With
    ``has_seconds``, there is a keyword for seconds, which errors name."""
    if isinstance(value, str):
        return value
    if is_range and isinstance(value, (tuple, list)) and len(value) == 2:
        return "..".join(text_of(name, end) for end in value)
    if isinstance(value, datetime.timedelta):
        return _text(Fraction(value // datetime.timedelta(microseconds=1), 10**6))
    if type(value).__module__ == "numpy" and type(value).__name__ == "timedelta64":
        return _text(_of_numpy(name, value))
    seconds = f"; seconds are {name.removesuffix('_')}_s=2e-9" if has_seconds else ""
    raise WrongTypeError(
        f'{name}: a duration is a text with its unit, as "2ns" or "13t", or a timedelta, not {type(value).__name__}'
        f"{seconds}"
    )


def text_of_seconds(name: str, value: Any, is_range: bool = False) -> str:
    """Returns seconds as text, exactly the decimal number that Python shows."""
    if is_range and isinstance(value, (tuple, list)) and len(value) == 2:
        return "..".join(text_of_seconds(name, end) for end in value)
    number: Any = value
    ndim: int = getattr(number, "ndim", 0)
    if isinstance(number, bool) or not hasattr(number, "__float__") or ndim:
        raise WrongTypeError(f"{name}: a number of seconds is wanted, as 2e-9, not {type(value).__name__}")
    seconds = float(number)
    if not math.isfinite(seconds):
        raise QuestionError(f"{name}: {seconds} is no duration")
    return _text(Fraction(Decimal(repr(seconds))))


def text_of_either(name: str, own: object, seconds: object) -> str | None:
    """Returns the text of a duration that is given in one of two ways, or not at all."""
    if own is not None and seconds is not None:
        raise QuestionError(f"{name}: `{name}` and `{name}_s` are one option; give one of them")
    if seconds is not None:
        return text_of_seconds(f"{name}_s", seconds)
    return None if own is None else text_of(name, own)


def _of_numpy(name: str, value: Any) -> Fraction:
    import numpy

    unit, count = numpy.datetime_data(value.dtype)
    if numpy.isnat(value):
        raise QuestionError(f"{name}: NaT is no duration")
    if unit not in NUMPY:
        raise QuestionError(f"{name}: a timedelta64 of the unit {unit} has no fixed length")
    return int(value.astype("int64")) * count * NUMPY[unit]


def _text(seconds: Fraction) -> str:
    """Returns the duration as a text, in the longest unit that gives a whole number."""
    attoseconds = seconds * 10**18
    for unit, length in UNITS.items():
        number = attoseconds / length
        if number.denominator == 1:
            return f"{number}{unit}"
    return f"{Decimal(attoseconds.numerator) / attoseconds.denominator:f}as"
