"""Plots of results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._errors import MissingLibraryError, QuestionError

if TYPE_CHECKING:
    from ._result import Result

#: Units of time, longest first.
UNITS = [("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9), ("ps", 1e-12)]


def plot(result: Result, ax: Any, style: dict[str, Any]) -> Any:
    """Draws a result on ``ax``, or on new axes, and returns the axes."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingLibraryError(
            "a picture wants matplotlib: pip install matplotlib; the result itself is a table that other "
            "programs plot, too"
        ) from None
    if len(result) == 0:
        raise QuestionError("there is nothing to draw: the result has no rows")
    if ax is None:
        _, ax = plt.subplots(layout="constrained")
    if "delay_s" in result.columns:
        _histogram(result, ax, style)
    elif "channels" in result.columns and "start_s" not in result.columns:
        _coincidences(result, ax, style)
    elif "start_s" in result.columns:
        _trace(result, ax, style)
    else:
        _rates(result, ax, style)
    return ax


def _unit(seconds: float) -> tuple[str, float]:
    """Returns the largest unit in which the number is at least one."""
    return next(((name, size) for name, size in UNITS if seconds >= size), UNITS[-1])


def _histogram(result: Result, ax: Any, style: dict[str, Any]) -> None:
    import numpy

    name = "g2" if "g2" in result.columns else "count"
    delay, value, err = result["delay_s"], result[name], result[f"{name}_err"]
    unit, size = _unit(float(numpy.abs(delay).max()))
    query = result.query
    # Points for few bins, a line for many.
    fmt = "." if len(delay) <= 400 else "-"
    style = {"fmt": fmt, "markersize": 4, "linewidth": 1, "elinewidth": 0.8, **style}
    if len(delay) > 400:
        low, high = value - err, value + err
        ax.fill_between(delay / size, low, high, alpha=0.25, linewidth=0)
        err = None
    ax.errorbar(delay / size, value, yerr=err, **style)
    if "bin_ticks" not in query:
        ax.set_xscale("log")
    if name == "g2":
        ax.axhline(1, color="gray", linewidth=0.8, zorder=0)
        ax.set_ylabel(r"$g^{(2)}(\tau)$")
    else:
        width = query.get("bin_s")
        of = f" per {_of_seconds(width)}" if width else " per bin"
        ax.set_ylabel(f"counts{of}")
    ax.set_xlabel(f"delay of channel {query['stop']} behind channel {query['start']} ({unit})")


def _of_seconds(seconds: float) -> str:
    unit, size = _unit(seconds)
    return f"{seconds / size:.6g} {unit}"


def _coincidences(result: Result, ax: Any, style: dict[str, Any]) -> None:
    import numpy

    groups, counts = result["channels"], result["count"]
    query = result.query
    title = f"coincidences, rule {query['rule']}, window {_of_seconds(query['window_s'])}"
    if any(len(group) != 2 for group in groups):
        places = numpy.arange(len(groups))
        err = result["count_err"]
        ax.bar(places, counts, yerr=err, **{"capsize": 3, **style})
        ax.set_xticks(places, [",".join(map(str, group)) for group in groups])
        ax.set_xlabel("channels")
        ax.set_ylabel("counts")
        ax.set_title(title)
        return
    labels = sorted({channel for group in groups for channel in group})
    matrix = numpy.full((len(labels), len(labels)), numpy.nan)
    for (a, b), count in zip(groups, counts, strict=True):
        matrix[labels.index(a), labels.index(b)] = count
        matrix[labels.index(b), labels.index(a)] = count
    image = ax.imshow(matrix, **style)
    ax.set_xticks(range(len(labels)), labels)
    ax.set_yticks(range(len(labels)), labels)
    ax.set_xlabel("channel")
    ax.set_ylabel("channel")
    ax.set_title(title)
    ax.figure.colorbar(image, ax=ax, label="counts")


def _trace(result: Result, ax: Any, style: dict[str, Any]) -> None:
    import numpy

    start, rate, err = result["start_s"], result["rate_hz"], result["rate_err_hz"]
    if "channels" in result.columns:
        names = [",".join(map(str, group)) for group in result["channels"]]
    else:
        names = ["all" if channel < 0 else str(channel) for channel in result["channel"]]
    whole = ~result["partial"]
    unit, size = _unit(float(start.max())) if start.max() > 0 else ("s", 1.0)
    for name in dict.fromkeys(names):
        of = numpy.array([other == name for other in names]) & whole
        bars = {"linewidth": 1, "elinewidth": 0.8, **style}
        ax.errorbar(start[of] / size, rate[of], yerr=err[of], label=name, **bars)
    ax.set_xlabel(f"time since the first tag ({unit})")
    ax.set_ylabel("rate (Hz)")
    ax.legend(title="channels")


def _rates(result: Result, ax: Any, style: dict[str, Any]) -> None:
    import numpy

    channel, rate, err = result["channel"], result["rate_hz"], result["rate_err_hz"]
    one = channel >= 0
    places = numpy.arange(int(one.sum()))
    ax.bar(places, rate[one], yerr=err[one], **{"capsize": 3, **style})
    ax.set_xticks(places, [str(label) for label in channel[one]])
    ax.set_xlabel("channel")
    ax.set_ylabel("rate (Hz)")
