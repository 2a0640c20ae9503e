"""Figures of results, drawn by matplotlib from the figure that the program draws, too."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ._errors import MissingLibraryError, QuestionError

if TYPE_CHECKING:
    from ._result import Result

#: Series of more points are lines with a band of their errors.
POINTS_MAX = 400


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
    figure = json.loads(result._answer.figure())
    ((kind, content),) = figure["plot"].items()
    DRAWN[kind](content, ax, style)
    ax.set_title(figure["title"])
    return ax


def _label(axis: dict[str, Any]) -> str:
    return f"{axis['label']} ({axis['unit']})" if axis["unit"] else axis["label"]


def _chart(chart: dict[str, Any], ax: Any, style: dict[str, Any]) -> None:
    import numpy

    x, y = chart["x"], chart["y"]
    for series in chart["series"]:
        points = [point for point in series["points"] if not point["is_partial"]]
        place = numpy.array([(point["from"] + point["to"]) / 2 for point in points]) / x["size"]
        value = numpy.array([point["value"] for point in points], dtype=float) / y["size"]
        err = numpy.array([point["err"] for point in points], dtype=float) / y["size"]
        is_line = chart["shape"] == "line" or len(points) > POINTS_MAX
        look = {"fmt": "-" if is_line else ".", "markersize": 4, "linewidth": 1, "elinewidth": 0.8, **style}
        if len(points) > POINTS_MAX:
            ax.fill_between(place, value - err, value + err, alpha=0.25, linewidth=0)
            err = None
        ax.errorbar(place, value, yerr=err, label=series["name"], **look)
    if chart["reference"] is not None:
        ax.axhline(chart["reference"] / y["size"], color="gray", linewidth=0.8, zorder=0)
    if x["is_logarithmic"]:
        ax.set_xscale("log")
    if len(chart["series"]) > 1:
        ax.legend(title="channels")
    ax.set_xlabel(_label(x))
    ax.set_ylabel(_label(y))


def _bars(bars: dict[str, Any], ax: Any, style: dict[str, Any]) -> None:
    import numpy

    axis, size = bars["axis"], bars["axis"]["size"]
    places = numpy.arange(len(bars["bars"]))
    value, err, accidentals = (
        numpy.array([bar[name] for bar in bars["bars"]], dtype=float) / size for name in ("value", "err", "accidentals")
    )
    ax.bar(places, value, yerr=err, **{"capsize": 3, **style})
    if not numpy.isnan(accidentals).all():
        ax.plot(places, accidentals, "_", color="black", label="by chance")
        ax.legend()
    ax.set_xticks(places, [bar["name"] for bar in bars["bars"]])
    ax.set_xlabel("channels")
    ax.set_ylabel(_label(axis))


def _matrix(matrix: dict[str, Any], ax: Any, style: dict[str, Any]) -> None:
    import numpy

    cells = numpy.array(matrix["cells"], dtype=float).reshape(len(matrix["rows"]), len(matrix["columns"]))
    image = ax.imshow(cells, **style)
    ax.set_xticks(range(len(matrix["columns"])), matrix["columns"])
    ax.set_yticks(range(len(matrix["rows"])), matrix["rows"])
    ax.set_xlabel("channel")
    ax.set_ylabel("channel")
    ax.figure.colorbar(image, ax=ax, label="counts")


def _map(cells: dict[str, Any], ax: Any, style: dict[str, Any]) -> None:
    import numpy

    x, y, values = cells["x"], cells["y"], cells["values"]
    value = numpy.array(cells["cells"], dtype=float).reshape(cells["columns"], -1) / values["size"]
    edges = [
        numpy.linspace(axis["low"], axis["high"], count + 1) / axis["size"]
        for axis, count in zip((x, y), value.shape, strict=True)
    ]
    image = ax.pcolormesh(*edges, value.T, **style)
    ax.set_xlabel(_label(x))
    ax.set_ylabel(_label(y))
    ax.figure.colorbar(image, ax=ax, label=_label(values))


#: How each kind of figure is drawn.
DRAWN = {"chart": _chart, "bars": _bars, "matrix": _matrix, "map": _map}
