"""Results as arrays of xarray, with names and units of their axes."""

from __future__ import annotations

import json
import math
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from ._arrays import as_plain
from ._errors import MissingLibraryError

if TYPE_CHECKING:
    from typing import Protocol

    import numpy
    import xarray

    from . import _tagq

    class Columns(Protocol):
        """The columns of a result."""

        @property
        def _answer(self) -> _tagq.Answer: ...
        @property
        def header(self) -> str: ...
        @property
        def columns(self) -> list[str]: ...
        @property
        def counts(self) -> numpy.ndarray: ...
        @property
        def cube(self) -> numpy.ndarray: ...
        def __len__(self) -> int: ...
        def __getitem__(self, key: str, /) -> numpy.ndarray: ...
        def _lists(self, name: str) -> numpy.ndarray | None: ...


class Axis(NamedTuple):
    """A dimension: its name, the column of its coordinate, and columns that have one value for each of its places."""

    dimension: str
    coordinate: str
    others: tuple[str, ...] = ()


#: The axes of tables, by the column that tells their places apart.
AXES = {
    "peak": Axis("peak", "peak", ("first_tick", "width_ticks", "delay_s")),
    "interval": Axis("interval", "interval", ("start_s", "start_ticks", "length_s", "length_ticks")),
    "start_s": Axis("time", "start_s", ("start_ticks",)),
    "channel": Axis("channel", "channel", ("name",)),
    "channels": Axis("group", "channels", ("names",)),
    "first_tick": Axis("delay", "delay_s", ("first_tick", "width_ticks")),
    "first_tick_a": Axis("delay_a", "delay_a_s", ("first_tick_a",)),
    "first_tick_b": Axis("delay_b", "delay_b_s", ("first_tick_b",)),
}
#: Columns that go with the values of a scan.
OF_SCAN = ("run", "live_s")
#: Ends of the names of columns, and their units. Of a phasor, s is no unit.
UNITS = {"_s": "s", "_s_err": "s", "_hz": "Hz", "_ticks": "tick", "_tick": "tick", "_tick_a": "tick", "_tick_b": "tick"}
UNITLESS = ("phasor_s", "phasor_s_err")


def to_xarray(result: Columns) -> xarray.DataArray | xarray.Dataset:
    """Returns a result as ``Result.to_xarray`` does."""
    try:
        import_module("xarray")
    except ImportError:
        raise MissingLibraryError("labelled arrays want xarray: pip install xarray") from None
    query = json.loads(result._answer.query_json())
    run = json.loads(result._answer.run_json())
    attrs: dict[str, Any] = {"header": result.header, "path": run["path"]}
    period = query.get("lifetime", {}).get("period_s") if query["kind"] == "image" else None
    period = period or run.get("pulse_period_s")
    if query["kind"] == "image":
        return (_regions if "mask" in query else _image)(result, query, attrs, period)
    if query["kind"] == "micro":
        return _micro(result, query, attrs, period)
    return _table(result, attrs)


def _frequency(period: float | None) -> dict[str, float]:
    return {} if period is None else {"frequency": 1e-6 / period}


def _micro_bins(query: dict[str, Any], bins: int) -> Any:
    """Returns the coordinate H: where the bins of micro times begin, in nanoseconds."""
    import numpy

    unit = query["bin_s"] / query["bin_ticks"] * 1e9
    starts = (query["range_ticks"][0] + numpy.arange(bins) * query["bin_ticks"]) * unit
    return "H", starts, {"units": "ns", "long_name": "start of the bin of micro times"}


def _image(
    result: Columns, query: dict[str, Any], attrs: dict[str, Any], period: float | None
) -> xarray.DataArray | xarray.Dataset:
    import numpy
    import xarray

    counts = result.counts
    frames, *detectors, lines, pixels = counts.shape
    first = result["frame"][:1] if "frame" in result.columns else numpy.zeros(1, int)
    numbers = first + numpy.arange(frames) if frames else numpy.empty(0, int)
    coords: dict[str, Any] = {"T": ("T", numbers, {"long_name": "frame"})}
    if query.get("pixel_um") is not None:
        side = query["pixel_um"] * query.get("bin_pixels", 1) * 1e-6
        for axis, size in (("Y", lines), ("X", pixels)):
            coords[axis] = (axis, numpy.arange(size) * side, {"units": "m"})
    if detectors:
        coords["C"] = ("C", numpy.array(query["photons"]), {"long_name": "channel"})
    dims = ("T", "C", "Y", "X") if detectors else ("T", "Y", "X")
    cube = result.cube if "micro_counts" in result.columns else None
    if cube is not None:
        coords["H"] = _micro_bins(query, cube.shape[-1])
    if "lifetime_s" not in result.columns:
        values, axes = (counts, dims) if cube is None else (cube, (*dims, "H"))
        attrs = {**attrs, **_frequency(period if cube is not None else None)}
        return xarray.DataArray(values, coords, axes, name="counts", attrs=attrs)
    shown = [name for name in result.columns if name not in ("frame", "line", "pixel", "micro_counts")]
    variables: dict[str, Any] = {name: (dims, result[name].reshape(counts.shape), _units(name)) for name in shown}
    if cube is not None:
        variables["micro_counts"] = ((*dims, "H"), cube)
    attrs = {**attrs, **_frequency(period)}
    if query["lifetime"].get("harmonic") is not None:
        attrs["harmonic"] = query["lifetime"]["harmonic"]
    return xarray.Dataset(variables, coords, attrs)


def _regions(result: Columns, query: dict[str, Any], attrs: dict[str, Any], period: float | None) -> xarray.Dataset:
    """Returns the columns of regions; their number of pixels is that of each frame."""
    import numpy
    import xarray

    labels = result["label"]
    # In each frame, the labels are the same and ascend.
    frames = [] if "frame" not in result.columns else list(dict.fromkeys(result["frame"].tolist()))
    sizes = [len(frames), len(labels) // max(len(frames), 1)] if "frame" in result.columns else [len(labels)]
    dims = ["T", "label"][-len(sizes) :]
    coords: dict[str, Any] = {"label": ("label", labels[: sizes[-1]])}
    if "T" in dims:
        coords["T"] = ("T", numpy.asarray(frames, int), {"long_name": "frame"})
    cube = result._lists("micro_counts") if "micro_counts" in result.columns else None
    shown = [name for name in result.columns if name not in ("frame", "label", "micro_counts")]
    variables: dict[str, Any] = {name: (dims, result[name].reshape(sizes), _units(name)) for name in shown}
    if cube is not None:
        variables["micro_counts"] = ([*dims, "H"], cube.reshape(*sizes, -1))
        coords["H"] = _micro_bins(query, cube.shape[-1])
    attrs = {**attrs, **_frequency(period if cube is not None or "lifetime" in query else None)}
    if query.get("lifetime", {}).get("harmonic") is not None:
        attrs["harmonic"] = query["lifetime"]["harmonic"]
    return xarray.Dataset(variables, coords, attrs)


def _micro(result: Columns, query: dict[str, Any], attrs: dict[str, Any], period: float | None) -> xarray.DataArray:
    import xarray

    table = _table(result, {})
    bins = table.sizes["delay"]
    values = table["count"].rename(time="T") if "time" in table.dims else table["count"]
    coords: dict[str, Any] = {"C": ("C", table["channel"].values), "H": _micro_bins(query, bins)}
    dims = [{"time": "T", "channel": "C", "delay": "H"}.get(str(of), str(of)) for of in table["count"].dims]
    if "T" in dims:
        coords["T"] = ("T", table["time"].values, {"units": "s"})
    return xarray.DataArray(values.values, coords, dims, name="counts", attrs={**attrs, **_frequency(period)})


def _table(result: Columns, attrs: dict[str, Any]) -> xarray.Dataset:
    """Returns the columns with a dimension for each column that tells rows apart, or with the dimension ``row`` if a row is
    missing or double."""
    import numpy
    import xarray

    names = result.columns
    keys = result._answer.keys()
    axes = {name: AXES.get(name, Axis(name, name, OF_SCAN)) for name in names if name in AXES or name in keys}
    # A peak has one first tick, and an interval one start.
    others = {other for name, axis in axes.items() for other in axis.others if other != name}
    axes = {name: axis for name, axis in axes.items() if name not in others}
    places = [_places(_labels(result, name)) for name in axes]
    sizes = [len(first) for first, _ in places]
    is_grid = math.prod(sizes) == len(result)
    if is_grid and axes:
        at = numpy.ravel_multi_index([inverse for _, inverse in places], sizes)
        order = numpy.argsort(at, kind="stable")
        is_grid = bool((at[order] == numpy.arange(len(result))).all())
    else:
        is_grid, order = is_grid and len(result) == 1, numpy.arange(len(result))
    if not is_grid:
        axes, places, sizes, order = {}, [], [len(result)], numpy.arange(len(result))
    dims = [axis.dimension for axis in axes.values()] if is_grid else ["row"]
    coords: dict[str, Any] = {}
    taken: set[str] = set()
    for axis, (first, _) in zip(axes.values(), places, strict=True):
        for name in (axis.coordinate, *axis.others):
            if name in names:
                key = axis.dimension if name == axis.coordinate else name
                coords[key] = (axis.dimension, _labels(result, name)[first], _units(name))
                taken.add(name)
    taken.update(axes)
    variables = {
        name: _variable(result, name, dims, sizes, order) for name in names if name not in taken
    }
    return xarray.Dataset(variables, coords, attrs)


def _variable(result: Columns, name: str, dims: list[str], sizes: list[int], order: numpy.ndarray) -> Any:
    values = result._lists(name)
    if values is None:
        return dims, _labels(result, name)[order].reshape(sizes), _units(name)
    # A covariance has a value for each other bin.
    inner = f"{dims[-1]}_other" if name.endswith("_covariance") else f"{name}_entry"
    return [*dims, inner], values[order].reshape(*sizes, -1), _units(name)


def _places(column: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Returns the first row of each distinct value, in order of appearance, and the number of the value of each row."""
    import numpy

    _, first, inverse = numpy.unique(column, return_index=True, return_inverse=True)
    order = numpy.argsort(first)
    rank = numpy.empty_like(order)
    rank[order] = numpy.arange(len(order))
    return first[order], rank[inverse]


def _labels(result: Columns, name: str) -> numpy.ndarray:
    """Returns a column as numbers, or as texts: a group of channels is "1,2"."""
    return as_plain(result[name])


def _units(name: str) -> dict[str, str]:
    ends = [end for end in UNITS if name.endswith(end) and name not in UNITLESS]
    return {"units": UNITS[ends[0]]} if ends else {}
