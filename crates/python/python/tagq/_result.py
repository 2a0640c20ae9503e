"""Results of queries."""

from __future__ import annotations

import difflib
import json
import operator
import os
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, NoReturn, overload

from . import _tagq
from ._errors import MissingLibraryError, QuestionError, unexpected
from ._fit_options import given, own
from ._paths import path_of as _path
from ._plot import look_of, plot
from ._show import html_table, text_table
from ._table import Table
from ._xarray import to_xarray

if TYPE_CHECKING:
    import numpy
    import pandas
    import xarray

    from ._fit_options import Function, Values
    from ._types import Channel, Duration

#: Maximum number of rows to print; longer tables are cut in the middle.
ROWS_SHOWN = 24
#: Rows that are read at once.
ROWS_READ = 1 << 12
#: How a figure looks without a word about it.
PLAIN: dict[str, Any] = {
    "title": None,
    "log_y": False,
    "limits": None,
    "quantity": None,
    "figure": None,
    "brightness": False,
    "size": None,
    "dark": False,
    "caption": True,
}
#: Larger drawings are left out of notebooks.
DRAWING_CHARACTERS = 1 << 20


class Result(Table):
    """The result of a query: a header, the query as it was counted, the run, and rows.

    ``result["count"]`` is a column as a NumPy array, ``result[0]`` a row as a named tuple, and iterating gives the rows.
    ``numpy.asarray(result)`` is a structured array of all columns.
    ``to_polars``, ``to_pandas`` and ``to_arrow`` make tables of other libraries, which also read the result themselves, and
    ``to_xarray`` labelled arrays: it has the Arrow PyCapsule stream interface. docs/outputs.md describes the columns.
    """

    def __init__(self, answer: _tagq.Answer) -> None:
        self._answer = answer
        self._read: dict[str, Any] | None = None

    def __reduce__(self) -> tuple[Callable[[bytes], Result], tuple[bytes]]:
        return _result_of_state, (self._answer.state(),)

    def _json(self) -> dict[str, Any]:
        if self._read is None:
            self._read = self.to_dict()
        return self._read

    @property
    def header(self) -> str:
        """The query and how it was counted, on one line."""
        return self._answer.header

    @property
    def query(self) -> dict[str, Any]:
        """The query as it was counted, in ticks and seconds."""
        query: dict[str, Any] = self._json()["query"]
        return query

    @property
    def run(self) -> dict[str, Any]:
        """The run that was counted: path, tick, commit, live seconds, channels."""
        run: dict[str, Any] = self._json()["run"]
        return run

    @property
    def provenance(self) -> dict[str, Any]:
        """What was asked of which tags, from which ``tagq.reproduce`` counts the result again: the version of tagq, the
        query with its options, and of each run its path, setup, and the number and checksums of its tags."""
        provenance: dict[str, Any] = self._json()["provenance"]
        return provenance

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows as dicts; undefined values are None."""
        rows: list[dict[str, Any]] = self._json()["rows"]
        return rows

    @property
    def total(self) -> Result | None:
        """The sums of the rows, as a result with one row, or one for each bin of time: all channels together in
        ``rates``. None for kinds whose rows have no sum."""
        total = self._answer.total()
        return None if total is None else Result(total)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._answer.columns

    @property
    def counts(self) -> numpy.ndarray:
        """The photons of an image in each pixel: int64, shape (frames, lines, pixels), with ``detectors="apart"`` (frames,
        detectors, lines, pixels). One frame if they are added up."""
        return self["count"].reshape(-1, *self._sides())

    @property
    def cube(self) -> numpy.ndarray:
        """The photons of an image, counted with ``micro=True``, in each pixel and bin of micro times: int64, shape (frames,
        lines, pixels, bins), with ``detectors="apart"`` (frames, detectors, lines, pixels, bins)."""
        sides = self._sides()
        if "micro_counts" not in self.columns:
            raise AttributeError("the image has no bins of micro times; count it with micro=True")
        values = self._lists("micro_counts")
        if values is None:
            # Without frames, no pixel says how many bins there are.
            import numpy

            begin, end = self.query["range_ticks"]
            return numpy.zeros((0, *sides, (end - begin) // self.query["bin_ticks"]), dtype="<i8")
        return values.reshape(-1, *sides, values.shape[1])

    @property
    def lifetimes(self) -> numpy.ndarray:
        """The lifetimes of an image, counted with ``lifetime="auto"`` or a method, in each pixel: float64 in seconds, NaN
        where there is none, shape (frames, lines, pixels). Their errors are ``result["lifetime_s_err"]``."""
        sides = self._sides()
        if "lifetime_s" not in self.columns:
            raise AttributeError('the image has no lifetimes; count it with lifetime="auto"')
        return self["lifetime_s"].reshape(-1, *sides)

    def _lists(self, name: str) -> numpy.ndarray | None:
        """Returns a column of lists of numbers as an array, shape (rows, entries); None for other columns, and if lengths
        differ."""
        lists = self._answer.lists(name)
        if lists is None:
            return None
        import numpy

        return numpy.asarray(lists)

    def _sides(self) -> tuple[int, ...]:
        """Returns the detectors of an image, if they are apart, its lines and its pixels, in blocks if there are any."""
        query = json.loads(self._answer.query_json())
        if query["kind"] != "image" or "mask" in query:
            raise AttributeError("only images without a mask have pixels; a column is result[NAME]")
        side = query.get("bin_pixels", 1)
        detectors = [len(query["photons"])] if query["detectors"] == "apart" else []
        return *detectors, -(-query["lines"] // side), -(-query["pixels"] // side)

    def to_json(self) -> str:
        """Returns the JSON that the command line prints with ``--format json``."""
        return self._answer.to_json()

    def to_dict(self) -> dict[str, Any]:
        """Returns the same content as a dict."""
        read: dict[str, Any] = json.loads(self._answer.to_json())
        return read

    def to_pandas(self) -> pandas.DataFrame:
        """Returns the table as a pandas frame; undefined values are NaN or None."""
        try:
            import pandas
        except ImportError:
            raise MissingLibraryError("a pandas frame wants pandas: pip install pandas") from None
        return pandas.DataFrame({name: self[name] for name in self.columns})

    def to_xarray(self) -> xarray.DataArray | xarray.Dataset:
        """Returns the result as labelled arrays of xarray. Units are in the attribute ``units`` of variables and
        coordinates; ``attrs`` has the ``header``, the ``path`` of the run and, where there are micro times, ``frequency``:
        the rate of the pulses in MHz, if the files state it or the query gave a period.

        Image
            A DataArray of counts, int64, dims ("T", "Y", "X"), or with ``micro=True`` ("T", "Y", "X", "H"): the dims of
            ptufile and phasorpy without "C", because an image adds up its channels. T is the number of the frame, Y and X are
            in metres if the size of a pixel is known, H is where bins begin, in nanoseconds. With ``lifetime`` a Dataset of
            the columns, dims ("T", "Y", "X"), and ``micro_counts`` with ``micro=True``. With ``mask`` a Dataset of the columns, dims
            ("T", "label"), without "T" if frames are added up, and ``micro_counts`` with "H".
        Micro times
            A DataArray of counts, dims ("C", "H"), of a trace ("T", "C", "H") with T in seconds.
        Other queries
            A Dataset of the columns. Its dims are those of "time" (start of the bin, seconds), "interval", "channel",
            "group" ("1,2"), "delay", "delay_a" and "delay_b" (middle of the bin, seconds) that the query has; the first one
            of a scan is the option that was scanned. If rows are missing or double, the only dimension is "row".

        Raises MissingLibraryError without xarray.
        """
        return to_xarray(self)

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        replace: bool = False,
        title: str | None = None,
        log_y: bool = False,
        limits: tuple[float | str, float | str] | None = None,
        quantity: str | None = None,
        figure: str | None = None,
        brightness: bool = False,
        size: tuple[float, float] | None = None,
        dark: bool = False,
        caption: bool = True,
        **unknown: NoReturn,
    ) -> None:
        """Writes the result to a file, in the format that its name selects: .txt, .json, .csv, .arrow or .parquet with
        the rows, or .tif (OME-TIFF) with the pixels of an image, as ``-o`` of the command line does, or .svg, .pdf, .png or .html with the figure, as ``--plot``. ``replace``
        allows a file that is there; ``title``, ``log_y``, ``limits``, ``quantity``, ``figure`` and ``brightness`` are those of ``plot``, ``size`` is in
        pixels, ``dark`` draws for a dark background, and without ``caption`` header and note are left out, and the title
        unless it is given."""
        if unknown:
            raise unexpected("save", unknown, Result.save.__kwdefaults__ or ())
        self._answer.save(_path(path), replace, look_of(title, log_y, limits, quantity, size, dark, caption, figure, brightness))

    def fit(
        self,
        model: Literal["decay", "g2", "fcs", "dip", "sin", "peak"] | Function,
        *,
        exponentials: int | Literal["auto"] | None = None,
        irf: str | os.PathLike[str] | None = None,
        irf_channel: Channel | None = None,
        pulse_period: Duration | None = None,
        pile_up: Literal["corrected", "ignored"] | None = None,
        emission: Literal["two-level", "three-level", "bunching"] | None = None,
        jitter: Duration | None = None,
        components: int | None = None,
        triplet: bool | None = None,
        waist: str | None = None,
        shape: Literal["gaussian", "triangle"] | None = None,
        between: str | tuple[str, str] | tuple[float, float] | None = None,
        fix: Values | None = None,
        guess: Values | None = None,
        intervals: Literal["near-bounds", "profile"] | None = None,
        methods: bool | None = None,
        bounds: Mapping[str, tuple[float, float]] | None = None,
    ) -> Result:
        """Fits a model to this result; the options are those of ``Run.fit``.

        ``model`` can also be a function of your own, ``f(t, a, tau)``: it takes the middles of the bins as a NumPy array, in
        seconds, and the parameters, and returns one value for each bin, as counts, or as g2. ``guess`` names its parameters in this
        order with their starting values, ``bounds`` limits them, ``fix`` keeps some, and ``between`` is two numbers::

            result.fit(lambda t, a, tau: a * numpy.exp(-t / tau), guess={"a": 1000, "tau": 2e-9}, bounds={"tau": (0, 1e-6)})
        """
        options = given(dict(locals()))
        if callable(model):
            others = sorted(options.keys() - {"between", "fix", "guess"})
            if others:
                raise QuestionError(f"{others[0]}: a model of your own has no such option")
            return Result(own(self._answer, model, guess, fix, bounds, between))  # type: ignore[arg-type]
        if bounds is not None:
            raise QuestionError(f"bounds: those of the parameters of {model} are known; leave it out")
        return Result(self._answer.fit(model, options))

    def __len__(self) -> int:
        return len(self._answer)

    def __iter__(self) -> Iterator[Any]:
        """Iterates over the rows as named tuples; undefined measures are NaN, other undefined values None."""
        for start in range(0, len(self), ROWS_READ):
            yield from self._tuples(range(start, min(start + ROWS_READ, len(self))))

    def head(self, n: int = 5) -> list[Any]:
        """Returns the first ``n`` rows as named tuples."""
        return self[: operator.index(n)]

    def _tuples(self, rows: range) -> list[Any]:
        row = namedtuple("Row", self.columns)  # type: ignore[misc]
        return [row._make(cells) for cells in self._answer.rows(list(rows))]

    @overload
    def __getitem__(self, key: str) -> numpy.ndarray: ...

    @overload
    def __getitem__(self, key: slice) -> list[Any]: ...

    @overload
    def __getitem__(self, key: int) -> Any: ...

    def __getitem__(self, key: str | int | slice) -> Any:
        """Returns a column by name as a NumPy array, shape (rows,): counts, channels and ticks as int64, measures as
        float64 with NaN for undefined values, and groups of channels and names as objects. By number, returns a row as
        a named tuple, and by a slice a list of them."""
        if isinstance(key, str):
            return self._array(key)
        if isinstance(key, slice):
            return self._tuples(range(len(self))[key])
        try:
            row = range(len(self))[operator.index(key)]
        except TypeError:
            raise TypeError(f"a column has a name and a row a number, and {key!r} is neither") from None
        except IndexError:
            raise IndexError(f"row {key} of {len(self)}") from None
        return self._tuples(range(row, row + 1))[0]

    def _arrays(self) -> dict[str, numpy.ndarray]:
        return {name: self._array(name) for name in self.columns}

    def _array(self, name: str) -> numpy.ndarray:
        if name not in self.columns:
            near = difflib.get_close_matches(name, self.columns, n=1, cutoff=0.5)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise KeyError(f"no column is called {name}; they are {', '.join(self.columns)}{hint}")
        column = self._answer.column(name)
        try:
            import numpy
        except ImportError:
            raise MissingLibraryError("columns want NumPy: pip install numpy; rows do not") from None
        if not isinstance(column, list):
            kind, values = column
            return numpy.frombuffer(values, dtype=kind)
        array = numpy.empty(len(column), dtype=object)
        for row, cell in enumerate(column):
            array[row] = cell
        return array

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._answer.__arrow_c_stream__(requested_schema)

    def plot(
        self,
        ax: Any = None,
        *,
        size: tuple[float, float] | None = None,
        title: str | None = None,
        log_y: bool = False,
        limits: tuple[float | str, float | str] | None = None,
        quantity: str | None = None,
        figure: str | None = None,
        brightness: bool = False,
        caption: bool = True,
        **style: Any,
    ) -> Any:
        """Draws the figure of ``--plot`` by matplotlib, and returns the axes; those of a trace of several channels are a
        list, one for each panel. A new figure of a fit has its residuals below, on ``axes.figure.axes[1]``. Without matplotlib,
        returns the picture of ``--plot``, which a notebook shows, and which has ``save("FILE.svg")``.

        ax
            Axes to draw on, or a list of them for panels [default: new ones].
        size
            Width and height of a new figure in inches.
        title
            Text over the figure, in place of its own.
        log_y, limits
            Whether values are on a logarithmic axis, or in logarithmic colours; the ends of that axis, in counts, hertz
            or as a ratio, or with units, as ``("3ns", "5ns")``.
        quantity
            The column whose values are drawn, or the beginning of its name: ``"count"``, ``"rate"``, ``"car"``
            [default: what the result is about].
        figure
            The figure of an image: ``"map"``, ``"histogram"`` of the values of its pixels, or ``"phasor"`` [default: the map].
        brightness
            Whether pixels of a map are as bright as they have photons.
        caption
            Whether header and note are below the figure, and its own title above it.
        style
            Keywords of matplotlib for the lines and points, such as ``color="black"``.

        Values are in the units of the labels, such as ns; on a logarithmic axis in seconds, hertz or counts.
        """
        look = look_of(title, log_y, limits, quantity, caption=caption, figure=figure, brightness=brightness)
        return plot(self._answer, ax, size, look, style)

    def _table(self) -> tuple[list[str], list[list[str]]]:
        return self._answer.fields(ROWS_SHOWN)

    def __repr__(self) -> str:
        return f"{_tagq.escaped(self.header)}\n\n{text_table(*self._table())}"

    def _repr_html_(self) -> str:
        drawing = self._answer.svg(PLAIN) if len(self) else ""
        if len(drawing) > DRAWING_CHARACTERS:
            drawing = ""
        return drawing + html_table(self.header, *self._table())


def _result_of_state(answer: bytes) -> Result:
    return Result(_tagq.Answer.of_state(answer))


class Tuples(Table):
    """The tags of each coincidence, as an Arrow stream that is made while it is read, in bounded memory."""

    def __init__(self, tuples: _tagq.Tuples) -> None:
        self._tuples = tuples

    @property
    def header(self) -> str:
        """The query and how it was counted, on one line."""
        return self._tuples.header

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._tuples.columns

    def save(self, path: str | os.PathLike[str], *, replace: bool = False, **unknown: NoReturn) -> None:
        """Writes the list to a file while it is found, in the format that its name selects: .txt, .json, .csv, .arrow
        or .parquet. ``replace`` allows a file that is there."""
        if unknown:
            raise unexpected("save", unknown, ("replace",))
        self._tuples.save(_path(path), replace)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._tuples.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"tagq.Tuples ({', '.join(self.columns)}): {_tagq.escaped(self.header)}"
