"""Figures of results: drawn by matplotlib from the marks that the program draws, too, or as the program's own picture."""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from ._errors import QuestionError, WrongTypeError, unexpected

if TYPE_CHECKING:
    from . import _tagq

#: Points of an inch.
INCH = 72.0
#: Sizes of figures in inches; the heights of a panel, of what is around them, of a bar and of a row.
SIZE, MAP_SIZE = (8.0, 4.8), (7.0, 6.0)
PANEL_HEIGHT, AROUND_PANELS, BAR_HEIGHT, ROW_HEIGHT = 1.3, 1.5, 0.32, 0.5
#: How far a logarithmic axis goes on, as a factor.
BEYOND = 1.002
INK, FAINT, GRID = "#1a1a1a", "#595959", "#dddddd"
#: Colours of one lightness, and their grey, as in crates/plot/src/colour.rs.
HUES = [
    "#85acfe", "#4db8fe", "#09c1e6", "#09c6c7", "#1fcaa4", "#66c67c", "#97be55", "#bdb135", "#dba330", "#ef954b", "#f98b6f",
]
GREY = 0xae / 0xff


class Picture:
    """The figure of a result as the program draws it, for a notebook and for files."""

    def __init__(self, answer: _tagq.Answer, look: dict[str, Any]) -> None:
        self._answer = answer
        self._look = look

    def _repr_svg_(self) -> str:
        return self._answer.svg(self._look)

    def _repr_html_(self) -> str:
        return self._repr_svg_()

    def save(self, path: str | os.PathLike[str], *, replace: bool = False, **unknown: NoReturn) -> None:
        """Writes the figure to a file, which ends with .svg, .pdf, .png or .html. ``replace`` allows a file that is there."""
        if unknown:
            raise unexpected("save", unknown, ("replace",))
        self._answer.save(os.fspath(path), replace, self._look)

    def __repr__(self) -> str:
        return "tagq.Picture: a notebook shows it, save(\"FILE.svg\") writes it; with matplotlib, plot() gives axes"


def look_of(
    title: str | None,
    log_y: bool,
    limits: tuple[float | str, float | str] | None,
    quantity: str | None = None,
    size: tuple[float, float] | None = None,
    dark: bool = False,
    caption: bool = True,
    figure: str | None = None,
    brightness: bool = False,
) -> dict[str, Any]:
    """Returns how a figure shall look, as the extension module takes it."""
    if title is not None and not isinstance(title, str):
        raise WrongTypeError(f"title: a text is wanted, not {type(title).__name__}")
    if not isinstance(log_y, bool):
        raise WrongTypeError(f"log_y: True or False is wanted, not {log_y!r}")
    if quantity is not None and not isinstance(quantity, str):
        raise WrongTypeError(f"quantity: the name of a column is wanted, not {type(quantity).__name__}")
    if figure is not None and not isinstance(figure, str):
        raise WrongTypeError(f"figure: the name of a figure is wanted, not {type(figure).__name__}")
    if not isinstance(brightness, bool):
        raise WrongTypeError(f"brightness: True or False is wanted, not {brightness!r}")
    if not isinstance(dark, bool):
        raise WrongTypeError(f"dark: True or False is wanted, not {dark!r}")
    if not isinstance(caption, bool):
        raise WrongTypeError(f"caption: True or False is wanted, not {caption!r}")
    return {
        "title": title,
        "log_y": log_y,
        "limits": None if limits is None else _limits(limits),
        "quantity": quantity,
        "figure": figure,
        "brightness": brightness,
        "size": None if size is None else _pair("size", size, "(1200, 800)"),
        "dark": dark,
        "caption": caption,
    }


def _limits(limits: object) -> tuple[float | str, float | str]:
    """Returns two ends of an axis: numbers, or texts with a unit."""
    if isinstance(limits, Sequence) and not isinstance(limits, str) and len(limits) == 2:
        low, high = limits
        if isinstance(low, str) or isinstance(high, str):
            return (low if isinstance(low, str) else float(low)), (high if isinstance(high, str) else float(high))
    return _pair("limits", limits, "(0, 1.5)")


def _pair(name: str, pair: object, example: str) -> tuple[float, float]:
    """Returns two numbers."""
    if isinstance(pair, Sequence) and not isinstance(pair, str) and len(pair) == 2:
        if all(hasattr(number, "__float__") for number in pair):
            return float(pair[0]), float(pair[1])
    raise WrongTypeError(f"{name}: two numbers are wanted, as {example}, not {pair!r}")


def plot(
    answer: _tagq.Answer, ax: Any, size: tuple[float, float] | None, look: dict[str, Any], style: dict[str, Any]
) -> Any:
    """Draws an answer on ``ax``, or on new axes, and returns the axes; without matplotlib, returns a picture."""
    if len(answer) == 0:
        raise QuestionError("there is nothing to draw: the result has no rows")
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        if ax is not None:
            raise
        return Picture(answer, look)
    given: list[Any] | None = None
    if ax is not None:
        # Axes alone, a list of them, or an array as of `subplots`.
        flat: Any = ax.ravel() if hasattr(ax, "ravel") else ax
        given = list(flat) if hasattr(flat, "__iter__") else [flat]
        if not all(hasattr(one, "get_window_extent") for one in given):
            raise WrongTypeError(f"ax: axes of matplotlib are wanted, or a list of them, not {type(ax).__name__}")
    inches = None if size is None else _pair("size", size, "(8, 5)")
    wide = 0.8 * INCH * (inches or SIZE)[0]
    if given:
        wide = INCH * given[0].get_window_extent().width / given[0].figure.dpi
    figure = json.loads(answer.figure(look, wide))
    ((kind, content),) = figure["plot"].items()
    panels = len(content["series"]) if kind == "chart" and content["has_panels"] else 1
    residuals = content.get("below") if given is None else None
    if given is not None:
        if len(given) not in (1, panels):
            raise QuestionError(f"ax: {len(given)} axes for {panels} panels; give one, or one for each panel")
        axes = given
    else:
        if inches is None:
            inches = MAP_SIZE if kind in ("map", "matrix") else SIZE
            if kind == "matrix":
                inches = (inches[0], max(3.0, AROUND_PANELS + ROW_HEIGHT * len(content["rows"])))
            elif panels > 1:
                inches = (inches[0], AROUND_PANELS + PANEL_HEIGHT * panels)
            elif kind == "bars":
                inches = (inches[0], AROUND_PANELS + BAR_HEIGHT * len(content["bars"]))
        heights = [3, 1] if residuals else [1] * panels
        rows: dict[str, Any] = {"sharex": True, "sharey": not residuals, "height_ratios": heights, "squeeze": False}
        page, drawn = plt.subplots(len(heights), figsize=inches, layout="constrained", **rows)
        axes = list(drawn[:panels, 0])
        _set_title(page, axes[0], figure)
    draw = {"chart": _chart, "bars": _bars, "matrix": _matrix, "map": _map}[kind]
    draw(content, axes, style, given is None)
    if residuals:
        _residuals(axes[0].figure.axes[1], residuals, content)
        axes[0].set_xlabel("")
    if given is not None:
        axes[0].set_title(figure["title"])
    return axes if len(axes) > 1 else axes[0]


def _set_title(page: Any, ax: Any, figure: dict[str, Any]) -> None:
    """Writes the title over a figure, and below the figure how the answer was counted."""
    letters = int(page.get_figwidth() * INCH / 4.9)
    notes = [figure["note"]] if figure["note"] else []
    marks = figure["plot"].get("chart", {}).get("drawn", [])
    if any(step["bins"] > 1 for series in marks for run in series["runs"] for step in run):
        notes.append("bins together: lowest to highest, and their mean")
    if not figure["header"]:
        # Without a caption.
        notes = []
    lines = [line for text in [figure["header"], *notes] for line in textwrap.wrap(text, letters)]
    ax.set_title(figure["title"])
    page.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=8, color=FAINT)


def _is_logarithmic(axis: dict[str, Any]) -> bool:
    return bool(axis["is_logarithmic"])


def _size(axis: dict[str, Any]) -> float:
    """Returns the size of the unit in which an axis counts: on a logarithmic one each number has its own unit."""
    return 1.0 if _is_logarithmic(axis) else float(axis["size"])


def _label(axis: dict[str, Any]) -> str:
    return f"{axis['label']} ({axis['unit']})" if axis["unit"] and not _is_logarithmic(axis) else str(axis["label"])


def _number(axis: dict[str, Any], value: float) -> str:
    """Returns a number of a logarithmic axis with its own unit, as 10 ns."""
    units = [(name, size, least) for name, size, least in axis["units"] if not (name in ("min", "h"))]
    name, size = next(((name, size) for name, size, least in units if value >= least * (1 - 1e-9)), ("", 1.0))
    number = _written(value / size)
    return f"{number} {name}" if name else number


def _written(number: float) -> str:
    """Returns a number with commas between thousands."""
    return f"{number:,.10g}".replace("-", "\N{MINUS SIGN}")


def _prepare(of: Any, axis: dict[str, Any], set_limits: Any, set_scale: Any, is_fresh: bool) -> None:
    """Gives an axis of matplotlib its scale, its numbers and its ends."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    if _is_logarithmic(axis):
        set_scale("log")
        few = axis["high"] / axis["low"] < 100
        of.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,), numticks=10))
        of.set_major_formatter(FuncFormatter(lambda value, _: _number(axis, value)))
        of.set_minor_formatter(NullFormatter())
    elif max(abs(axis["low"]), abs(axis["high"])) >= 1000 * _size(axis):
        of.set_major_formatter(FuncFormatter(lambda value, _: _written(value)))
    if is_fresh:
        # Bins end half a tick beside the decades, which shall have their numbers.
        beyond = BEYOND if _is_logarithmic(axis) else 1.0
        set_limits(axis["low"] / beyond / _size(axis), axis["high"] * beyond / _size(axis))


def _plain(ax: Any) -> None:
    """Gives new axes the grid of the program."""
    ax.set_axisbelow(True)
    ax.grid(color=GRID, linewidth=0.8)
    ax.spines[["top", "right"]].set_visible(False)


def _chart(chart: dict[str, Any], axes: list[Any], style: dict[str, Any], is_new: bool) -> None:
    x, y, drawn = chart["x"], chart["y"], chart["drawn"]
    for number, ax in enumerate(axes):
        is_fresh = is_new or not ax.has_data()
        if is_new:
            _plain(ax)
        if not any(series["runs"] for series in drawn):
            ax.text(0.5, 0.5, "no value is defined", transform=ax.transAxes, ha="center", color=FAINT)
        _prepare(ax.xaxis, x, ax.set_xlim, ax.set_xscale, is_fresh)
        _prepare(ax.yaxis, y, ax.set_ylim, ax.set_yscale, is_fresh)
        for series in drawn if len(axes) == 1 else [drawn[number]]:
            of = next(of for of in chart["series"] if of["name"] == series["name"])
            is_gate = of.get("shape") == "intervals"
            if is_gate:
                ax.tick_params(axis="y", left=False, labelleft=False)
                ax.grid(visible=False, axis="y")
            _series(ax, series, chart, style, is_fresh, y["high"] if is_gate else 1.0)
        if chart["reference"] is not None:
            ax.axhline(chart["reference"] / _size(y), color=INK, linewidth=0.9, dashes=(7, 4), zorder=1)
        if len(drawn) > 1:
            where = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "frameon": False} if is_new else {}
            ax.legend(**where)
        ax.set_ylabel(_label(y) if len(axes) < 4 or number == len(axes) // 2 else "")
    axes[-1].set_xlabel(_label(x))


def _residuals(ax: Any, panel: dict[str, Any], chart: dict[str, Any]) -> None:
    """Draws the residuals of a fit, each series in the colour of its values."""
    _plain(ax)
    x, y = chart["x"], panel["y"]
    for series, values in zip(panel["series"], chart["drawn"], strict=False):
        points = [point for point in series["points"] if point["value"] is not None]
        ends = [(max(point["from"], x["low"]) / _size(x), point["to"] / _size(x)) for point in points]
        middle = [(low * high) ** 0.5 if _is_logarithmic(x) else (low + high) / 2 for low, high in ends]
        ax.plot(middle, [point["value"] for point in points], "o", markersize=2, color=values["colour"])
    ax.axhline(0.0, color=INK, linewidth=0.9, dashes=(7, 4), zorder=1)
    ax.set_ylim(y["low"], y["high"])
    ax.set_xlabel(_label(x))
    ax.set_ylabel(_label(y))


def _series(
    ax: Any, series: dict[str, Any], chart: dict[str, Any], style: dict[str, Any], has_ends: bool, by: float
) -> None:
    """Draws the marks of a series, `by` times as high. Values beyond the ends of the axis, if it has those of the figure, are
    arrows at its edge."""
    import numpy

    x, y = chart["x"], chart["y"]
    look = {"color": series["colour"], "linestyle": (0, (2, 3)) if series["is_dashed"] else "-", **style}
    colour = look["color"]
    floor = y["low"] if _is_logarithmic(y) else 0.0
    columns: list[dict[str, Any]] = []
    for run in series["runs"]:
        steps = {name: numpy.array([step[name] for step in run]) for name in run[0]}
        # The share of time in which a gate is open, as a height.
        steps.update({name: by * steps[name] for name in ("low", "high", "mean")})
        left, right = steps["left"] / _size(x), steps["right"] / _size(x)
        # The first bins of a logarithmic axis may begin at zero.
        left = numpy.maximum(left, x["low"]) if _is_logarithmic(x) else left
        low, high, mean, err = (steps[name] / _size(y) for name in ("low", "high", "mean", "err"))
        middle = numpy.sqrt(left * right) if _is_logarithmic(x) else (left + right) / 2
        below, above = mean - err, mean + err
        # As the program does: a value is on the axis in spite of rounding.
        rounding = 1e-9 * (y["high"] - y["low"])
        is_over = has_ends & (steps["mean"] > y["high"] + rounding)
        is_under = has_ends & (steps["mean"] < y["low"] - rounding)
        is_inside = ~(is_over | is_under)
        if _is_logarithmic(y):
            # What is zero or below it is drawn at the end of the axis.
            low, high, mean, below, above = (numpy.maximum(of, floor) for of in (low, high, mean, below, above))
        edges = numpy.column_stack([left, right]).ravel()
        tops = numpy.repeat(mean, 2)
        if series["has_envelope"]:
            ax.fill_between(edges, numpy.repeat(low, 2), numpy.repeat(high, 2), color=colour, alpha=0.45, linewidth=0)
        if series["is_filled"]:
            ax.fill_between(edges, tops, floor, color=colour, alpha=0.25, linewidth=0)
        if series["has_errors"]:
            ax.vlines(middle[is_inside], below[is_inside], above[is_inside], color=colour, linewidth=0.9)
        elif series["has_band"]:
            ax.fill_between(edges, numpy.repeat(below, 2), numpy.repeat(above, 2), color=colour, alpha=0.25, linewidth=0)
        ends = [(is_over, y["high"], "^"), (is_under & (not series["is_filled"]), y["low"], "v")]
        for is_beyond, end, marker in ends:
            if is_beyond.any():
                places = middle[is_beyond], numpy.full(is_beyond.sum(), end / _size(y))
                ax.plot(*places, marker, color=colour, markersize=6, clip_on=False, zorder=3)
        is_straight = series["line"] == "straight"
        columns.append(
            {
                "middle": middle[is_inside],
                "mean": mean[is_inside],
                "x": middle if is_straight else edges,
                "y": mean if is_straight else tops,
            }
        )
    if not columns:
        return
    gap = numpy.array([numpy.nan])

    def joined(name: str) -> Any:
        return numpy.concatenate([part for of in columns for part in (of[name], gap)])

    label = {"label": series["name"]}
    if series["line"] != "hidden":
        ax.plot(joined("x"), joined("y"), **{"linewidth": 1.4, **label, **look})
        label = {}
    if series["has_points"]:
        points = {"marker": "o", "markersize": 0.75 * series["point_size"], **look, "linestyle": "none"}
        ax.plot(joined("middle"), joined("mean"), **{**label, **points})
    elif series["line"] == "straight":
        # A value between two undefined ones has no line.
        alone = [of for of in columns if len(of["x"]) == 1]
        for of in alone:
            ax.plot(of["middle"], of["mean"], "o", markersize=3, color=colour)


def _bars(bars: dict[str, Any], axes: list[Any], style: dict[str, Any], is_new: bool) -> None:
    import numpy

    (ax,) = axes
    axis, size = bars["axis"], bars["axis"]["size"]
    places = numpy.arange(len(bars["bars"]))
    value, err, accidentals = (
        numpy.array([bar[name] for bar in bars["bars"]], dtype=float) / size for name in ("value", "err", "accidentals")
    )
    if is_new:
        _plain(ax)
        ax.grid(visible=False, axis="y")
        for place, text in zip(places, bars["drawn"], strict=True):
            ax.text(1.01, place, text, transform=ax.get_yaxis_transform(), va="center", fontsize=9, color=INK)
        ax.set_xlim(axis["low"] / size, axis["high"] / size)
    look = {"color": "#0072b2", "height": 0.6, "ecolor": INK, "capsize": 3, **style}
    ax.barh(places, value, xerr=err, **look)
    if not numpy.isnan(accidentals).all():
        ax.vlines(accidentals, places - 0.45, places + 0.45, color="#d55e00", linewidth=2.5, label="accidentals")
        if is_new:
            ax.figure.legend(loc="outside upper right", frameon=False)
        else:
            ax.legend()
    ax.set_yticks(places, [bar["name"] for bar in bars["bars"]])
    ax.invert_yaxis()
    ax.set_ylabel("channels")
    ax.set_xlabel(_label(axis))


def _norm(axis: dict[str, Any]) -> Any:
    from matplotlib.colors import LogNorm, Normalize

    ends = axis["low"] / _size(axis), axis["high"] / _size(axis)
    return LogNorm(*ends) if _is_logarithmic(axis) else Normalize(*ends)


def _colours(ax: Any, image: Any, axis: dict[str, Any]) -> None:
    from matplotlib.ticker import FuncFormatter

    bar = ax.figure.colorbar(image, ax=ax, label=_label(axis))
    if _is_logarithmic(axis):
        bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _number(axis, value)))


def _matrix(matrix: dict[str, Any], axes: list[Any], style: dict[str, Any], is_new: bool) -> None:
    import numpy

    (ax,) = axes
    axis, (rows, columns) = matrix["drawn"], (matrix["rows"], matrix["columns"])
    counts = numpy.array(matrix["cells"], dtype=float).reshape(len(rows), len(columns))
    norm = _norm(axis)
    shown = numpy.maximum(counts, axis["low"]) if _is_logarithmic(axis) else counts
    image = ax.imshow(shown / _size(axis), **{"norm": norm, "cmap": "viridis", "aspect": "auto", **style})
    for row, column in numpy.ndindex(*counts.shape):
        count = counts[row, column]
        if numpy.isnan(count):
            # A pair that was not counted is not a count of zero.
            ax.plot(column, row, "o", markersize=2, color=GRID)
        elif counts.size <= 400:
            red, green, blue, _ = image.cmap(image.norm(shown[row, column] / _size(axis)))
            ink = INK if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"
            ax.text(column, row, f"{int(count):,}", ha="center", va="center", color=ink, fontsize=8)
    ax.set_xticks(range(len(columns)), columns)
    ax.set_yticks(range(len(rows)), rows)
    if is_new:
        ax.xaxis.tick_top()
        ax.xaxis.set_label_position("top")
    ax.set_xlabel("second channel")
    ax.set_ylabel("first channel")
    _colours(ax, image, axis)


def _map(cells: dict[str, Any], axes: list[Any], style: dict[str, Any], is_new: bool) -> None:
    import numpy

    (ax,) = axes
    x, y, values = cells["x"], cells["y"], cells["values"]
    value = numpy.array(cells["cells"], dtype=float).reshape(cells["columns"], -1)
    value = (numpy.maximum(value, values["low"]) if _is_logarithmic(values) else value) / _size(values)
    edges = [
        numpy.linspace(axis["low"], axis["high"], count + 1) / axis["size"]
        for axis, count in zip((x, y), value.shape, strict=True)
    ]
    bar = None
    is_fresh = is_new or not ax.has_data()
    if "image" in cells:
        # The first line is at the top, and the cells are in order from the bottom.
        edges[1] = edges[1][::-1]
        bar = cells["image"]["bar"]
    look = {"norm": _norm(values), "cmap": "viridis", "rasterized": True, **style}
    if "brightness" in cells:
        image = _shaded(ax, edges, value, numpy.array(cells["brightness"]).reshape(value.shape), look)
    else:
        if "image" in cells:
            ax.set_facecolor(GRID)
        image = ax.pcolormesh(*edges, value.T, **look)
    if "guide" in cells:
        _guide(ax, cells["guide"], x["size"], y["size"])
    if is_fresh:
        wide, high = (axis["high"] - axis["low"] for axis in (x, y))
        if "image" in cells or "guide" in cells or abs(wide - high) <= 1e-9 * wide:
            ax.set_aspect("equal")
        if "image" in cells:
            ax.invert_yaxis()
    ax.set_xlabel(_label(x) if bar is None else f"{_label(x)} ({bar['cells']:.1f} pixels are {bar['label']})")
    ax.set_ylabel(_label(y))
    _colours(ax, image, values)


def _shaded(ax: Any, edges: list[Any], value: Any, brightness: Any, look: dict[str, Any]) -> Any:
    """Draws cells that are as bright as is said, and returns what has the scale of their colours."""
    import numpy
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap

    colours = LinearSegmentedColormap.from_list("tagq", HUES, N=256)
    norm = look["norm"]
    colour = colours(norm(numpy.ma.masked_invalid(value)))[..., :3]
    colour[numpy.isnan(value)] = GREY
    shaded = (colour * brightness[..., None]).transpose(1, 0, 2)
    ax.pcolormesh(*edges, shaded, **{name: of for name, of in look.items() if name not in ("norm", "cmap")})
    return ScalarMappable(norm, colours)


def _guide(ax: Any, guide: dict[str, Any], wide: float, high: float) -> None:
    """Draws a curve over the cells, with names on the side that the middle is not on."""
    x, y = zip(*guide["line"], strict=True)
    ax.plot([of / wide for of in x], [of / high for of in y], color=INK, linewidth=1.2)
    for mark in guide["marks"]:
        (x, y), middle = mark["at"], guide["middle"]
        ax.plot(x / wide, y / high, "o", markersize=4, color=INK)
        right, up = x - middle[0], y - middle[1]
        length = (right**2 + up**2) ** 0.5
        right, up = right / length, up / length
        side = "left" if right > 0.35 else "center" if right > -0.35 else "right"
        ax.annotate(
            mark["label"], (x / wide, y / high), (7 * right, 7 * up - 3 + 3 * up), textcoords="offset points", ha=side, fontsize=9
        )
