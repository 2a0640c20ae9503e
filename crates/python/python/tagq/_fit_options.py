"""Options of fits, and fits of functions of the caller."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _tagq
from ._durations import text_of
from ._errors import QuestionError

if TYPE_CHECKING:
    import numpy

    #: Values of parameters by name: a number, or a text with the unit of the axis, "2.3ns".
    Values = Mapping[str, float | str]
    #: A function of the places (a NumPy array) and the parameters, in the order of ``guess``.
    Function = Callable[..., "numpy.ndarray"]

#: The names of the options of fits.
OPTIONS = (
    "exponentials",
    "irf",
    "irf_channel",
    "pulse_period",
    "pile_up",
    "emission",
    "jitter",
    "components",
    "triplet",
    "waist",
    "shape",
    "between",
    "fix",
    "guess",
    "intervals",
    "methods",
)


def given(words: dict[str, Any]) -> dict[str, Any]:
    """The options of a fit that have a value."""
    chosen = {name: words[name] for name in OPTIONS if words[name] is not None}
    if "exponentials" in chosen:
        chosen["exponentials"] = str(chosen["exponentials"])
    between = chosen.get("between")
    if between is not None and not isinstance(between, str):
        low, high = between
        # A setting is a number without a unit.
        is_number = isinstance(low, (int, float)) and isinstance(high, (int, float))
        chosen["between"] = f"{low}..{high}" if is_number else text_of("between", (low, high), True, False)
    return chosen


def own(
    answer: _tagq.Answer,
    function: Function,
    guess: Values | None,
    fix: Values | None,
    bounds: Mapping[str, tuple[float, float]] | None,
    between: str | tuple[float, float] | None,
) -> _tagq.Answer:
    """Fits a function of the caller."""
    import numpy

    if not guess:
        raise QuestionError("a model of your own needs `guess`: a starting value for each of its parameters, by name")
    fixed = dict(fix or {})
    names = [*guess, *(name for name in fixed if name not in guess)]
    start = [_number(name, fixed.get(name, guess.get(name))) for name in names]
    ends = dict(bounds or {})
    for name in ends:
        if name not in names:
            raise QuestionError(f"bounds: `{name}` is no parameter; the parameters are {', '.join(names)}")
    limits = [ends.get(name, (-float("inf"), float("inf"))) for name in names]
    if isinstance(between, str):
        raise QuestionError("between: two numbers in the unit of the axis (seconds) are wanted for a model of your own")

    def evaluated(places: bytes, parameters: Sequence[float]) -> bytes:
        values = function(numpy.frombuffer(places), *parameters)
        return numpy.ascontiguousarray(values, dtype=float).tobytes()

    title = getattr(function, "__name__", "model")
    name = "model" if title == "<lambda>" else title
    return answer.fit_function(name, evaluated, list(zip(names, start, limits, strict=True)), list(fixed), between)


def _number(name: str, value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise QuestionError(f"{name}: a number is wanted for a model of your own, not {value!r}") from None
