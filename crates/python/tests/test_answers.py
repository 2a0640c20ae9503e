"""The package gives the same answers as the command line, in every format."""

from __future__ import annotations

import json
import pickle
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import duckdb
import numpy
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pypdf
import pytest
import xarray

import tagq
from conftest import cli, cli_json, needs_signals

QUESTIONS = [
    ("coincidences", dict(window="2ns"), ["--window", "2ns"]),
    (
        "coincidences",
        dict(window="2ns", groups=[(1, 2)], delays={2: "-1.5625ns"}),
        ["--window", "2ns", "--group", "1,2", "--delay", "2=-1.5625ns"],
    ),
    (
        "coincidences",
        dict(window="100ns", choose=3, channels=[1, 2, 3], rule="once"),
        ["--window", "100ns", "--choose", "3", "--channels", "1,2,3", "--rule", "once"],
    ),
    (
        "coincidences",
        dict(window="1us", groups=[[1, 2, 3]], rule="per-herald"),
        ["--window", "1us", "--group", "1,2,3", "--rule", "per-herald"],
    ),
    ("coincidences", dict(full_width="4ns", bin="1ms"), ["--full-width", "4ns", "--bin", "1ms"]),
    (
        "coincidences",
        dict(window="2ns", veto=[3], guard="1us", accidentals="shifted:3", shift="1us"),
        ["--window", "2ns", "--veto", "3", "--guard", "1us", "--accidentals", "shifted:3", "--shift", "1us"],
    ),
    ("coincidences", dict(window="1us", rule="cluster"), ["--window", "1us", "--rule", "cluster"]),
    ("histogram", dict(start=1, stop=2), ["--start", "1", "--stop", "2"]),
    (
        "histogram",
        dict(start=1, stop=2, bin="10t", range="-100t..100t", mode="grid"),
        ["--start", "1", "--stop", "2", "--bin", "10t", "--range", "-100t..100t", "--mode", "grid"],
    ),
    (
        "histogram",
        dict(start=1, stop=2, mode="next", bin="16t", range="0t..1600t", period="100t"),
        [*"--start 1 --stop 2 --mode next --bin 16t --range 0t..1600t --period 100t".split()],
    ),
    ("g2", dict(start=1, stop=2, bin="5ns", range="100ns"), ["1,2", "--bin", "5ns", "--range", "100ns"]),
    ("g2", dict(start=1, stop=2, log=5, range="1ns..1ms"), ["1,2", "--log", "5", "--range", "1ns..1ms"]),
    ("rates", {}, []),
    ("rates", dict(bin="10ms", channels=[1, 2]), ["--bin", "10ms", "--channels", "1,2"]),
    ("rates", dict(from_="1ms", to="5ms"), ["--from", "1ms", "--to", "5ms"]),
    ("rates", dict(last="2ms", join=True), ["--last", "2ms", "--join"]),
]


@pytest.mark.parametrize(("kind", "words", "flags"), QUESTIONS)
@pytest.mark.filterwarnings("ignore::tagq.TagqWarning")
def test_answers_are_those_of_the_command_line(run, folder: Path, kind: str, words: dict, flags: list) -> None:
    words = dict(words)
    ends = [words.pop(name) for name in ("start", "stop") if name in words]
    result = getattr(run, kind)(*ends, **words)
    expected = cli_json(kind, *flags, folder)
    assert json.loads(result.to_json()) == expected
    assert (result.query, result.run, result.rows) == tuple(expected[k] for k in ("query", "run", "rows"))
    assert len(result) == len(expected["rows"]) and result.rows

    # The same rows through Arrow, from the package and from the program.
    path = folder.parent / "result.arrow"
    cli(kind, *flags, folder, "-o", path, "--force")
    cli(kind, *flags, folder, "-o", path.with_suffix(".parquet"), "--force")
    stream = cli(kind, *flags, folder, "--format", "arrow")
    written = pyarrow.ipc.open_file(path).read_all()
    for table in (
        pyarrow.table(result),
        written,
        pyarrow.ipc.open_stream(stream).read_all(),
        pyarrow.parquet.read_table(path.with_suffix(".parquet")),
        polars.DataFrame(result).to_arrow(),
    ):
        assert table.column_names == result.columns
        assert table.to_pylist() == expected["rows"]
    assert json.loads(written.schema.metadata[b"tagq.query"]) == expected["query"]
    assert json.loads(written.schema.metadata[b"tagq.run"]) == expected["run"]
    assert written.schema.metadata[b"tagq.header"].decode() == result.header
    for name in result.columns:
        column = result[name]
        assert column.dtype.kind in "ifbO" and not (name == "count" and column.dtype != numpy.int64)
        if column.dtype.kind == "O":
            assert column.tolist() == [row[name] for row in expected["rows"]]
        else:
            plain = [numpy.nan if row[name] is None else row[name] for row in expected["rows"]]
            assert numpy.array_equal(column, plain, equal_nan=column.dtype.kind == "f")
    assert (None if result.total is None else result.total.rows) == expected.get("total")
    assert result.header in repr(result) and "<table>" in result._repr_html_() and "<svg" in result._repr_html_()


def test_every_library_takes_an_answer(run: tagq.Run) -> None:
    result = run.coincidences(window="2ns")
    rows = [(row["channels"], row["count"]) for row in result.rows]
    frame = polars.DataFrame(result)
    assert list(zip(frame["channels"].to_list(), frame["count"].to_list(), strict=True)) == rows
    assert duckdb.sql("select channels, count from result").fetchall() == rows
    assert pandas.DataFrame.from_arrow(result)["count"].tolist() == [count for _, count in rows]
    assert pyarrow.table(result)["count"].to_pylist() == [count for _, count in rows]
    # A stream can be read repeatedly.
    assert polars.DataFrame(result).equals(frame)


def test_several_runs_are_one_table(folder: Path) -> None:
    sources = sorted(folder.glob("*.tags.zst"))
    out = folder.parent / "both.parquet"
    cli("rates", *sources, "-o", out)
    table = pyarrow.parquet.read_table(out)
    assert table.column_names[0] == "run"
    assert set(table["run"].to_pylist()) == set(map(str, sources))
    runs = json.loads(table.schema.metadata[b"tagq.runs"])
    assert [of["path"] for of in runs] == list(map(str, sources))


def test_lists_are_tables(folder: Path) -> None:
    out = folder.parent / "list.parquet"
    for flags in (["--group", "1,2"], ["--channels", "1,2,3"], ["--rule", "cluster"]):
        words = ["coincidences", "--list", "--window", "1us", *flags]
        expected = cli_json(*words, folder)
        cli(*words, folder, "-o", out, "--force")
        table = pyarrow.parquet.read_table(out)
        assert table.to_pylist() == expected["rows"] and len(expected["rows"]) > 100
        stream = pyarrow.ipc.open_stream(cli(*words, folder, "--format", "arrow")).read_all()
        assert stream.to_pylist() == expected["rows"]
        assert json.loads(table.schema.metadata[b"tagq.query"]) == expected["query"]


def test_exports_are_read_by_others(run: tagq.Run, folder: Path) -> None:
    here = folder.parent
    for name in ("a.arrow", "a.parquet", "a.csv", "a.tsv"):
        cli("export", folder, "-o", here / name, "--time-unit", "us")
    frames = [
        polars.read_ipc(here / "a.arrow"),
        polars.read_parquet(here / "a.parquet"),
        polars.read_csv(here / "a.csv"),
        polars.read_csv(here / "a.tsv", separator="\t"),
        polars.DataFrame(pyarrow.ipc.open_stream(cli("export", folder, "--time-unit", "us"))),
        polars.DataFrame(duckdb.sql(f"from '{here / 'a.parquet'}'")),
    ]
    expected = (run.time - run.time[0]) / 6400
    for frame in frames:
        assert frame.columns == ["time", "channel", "time_us"]
        assert numpy.array_equal(frame["time"], run.time)
        assert numpy.array_equal(frame["channel"], run.channel)
        assert numpy.array_equal(frame["time_us"], expected)
    assert frames[0].schema["channel"] == frames[1].schema["channel"] == polars.UInt8
    # Skipped by the statistics of the row groups.
    groups = pyarrow.parquet.ParquetFile(here / "a.parquet").metadata
    assert groups.row_group(0).column(0).statistics.min == run.time[0]


def test_numbers_of_groups_and_names(folder: Path) -> None:
    (folder / "tagq.toml").write_text("[channels]\n1 = 'Alice'\n2 = 'Bob'\n[delays]\nBob = '-1.5625ns'\n")
    run = tagq.open(folder)
    named = run.coincidences(window="2ns", groups=[("Alice", "Bob")])
    assert named.rows == cli_json("coincidences", "--window", "2ns", "--group", "Alice,Bob", folder)["rows"]
    assert "Alice" in repr(run)
    assert run.coincidences(window="2ns", groups=[numpy.array([1, 2])]).rows == named.rows
    with pytest.raises(tagq.QuestionError, match="did you mean Alice"):
        run.rates(channels=["Alic"])
    assert named.query["delays"][0]["ticks"] == -10
    assert tagq.open(folder, no_setup=True).rates().query["delays"] == []


def test_notes_are_warnings(run: tagq.Run) -> None:
    with pytest.warns(tagq.TagqWarning, match="channel 77 has no tags") as caught:
        run.coincidences(window="2ns", groups=[(1, 77)])
    assert caught[0].filename == __file__


def test_bins_are_chosen_and_said(run: tagq.Run) -> None:
    with pytest.warns(tagq.TagqWarning, match="are chosen by what the channels hold"):
        chosen = run.g2(1, 2)
    assert chosen.query["chosen"] == ["bin", "range"]
    # 1 ns is 6.4 ticks.
    rounded = run.g2(1, 2, bin="1ns", range="100ns")
    assert rounded.query["bin_ticks"] == 6 and "(asked 1 ns)" in rounded.header
    with pytest.raises(tagq.QuestionError, match="937.5ps"):
        run.g2(1, 2, bin="1ns", range="100ns", exact_bins=True)


def test_rows_come_in_batches(run: tagq.Run) -> None:
    import pyarrow

    trace = run.rates(bin="1us", channels=[1])
    reader = pyarrow.RecordBatchReader.from_stream(trace)
    sizes = [batch.num_rows for batch in reader]
    assert sum(sizes) == len(trace) > 65_536 == sizes[0]


def test_a_window_is_suggested(run: tagq.Run) -> None:
    with pytest.raises(tagq.QuestionError, match="`window` is missing"):
        run.coincidences()


def test_what_is_shown(run: tagq.Run) -> None:
    shown = repr(run.g2(1, 2, bin="2.5ns", range="200ns"))
    assert "…" in shown and len(shown.splitlines()) < 40
    rates = repr(run.rates())
    assert "all" in rates and "rates; T =" in rates
    assert "<script" not in run._repr_html_() and "19,350 tags" in repr(run)
    facts = run.facts
    assert facts["tags"] == len(run) and facts["sources"] == 2 and len(run.sources) == 2
    assert run.tick == "156.25 ps" and run.tick_s == 156.25e-12
    assert run.span == (int(run.time[0]), int(run.time[-1]))


def test_pictures(run: tagq.Run) -> None:
    import matplotlib.pyplot as plt

    results = [
        run.coincidences(window="2ns"),
        run.coincidences(window="1us", choose=3),
        run.coincidences(window="2ns", bin="1ms"),
        run.histogram(1, 2, bin="1t"),
        run.histogram(1, 2, range="1us"),
        run.g2(1, 2, bin="2.5ns", range="50ns"),
        run.g2(1, 2, log=5, range="1ns..1ms"),
        run.rates(),
        run.rates(bin="1ms"),
    ]
    for result in results:
        drawn = result.plot()
        axes = drawn if isinstance(drawn, list) else [drawn]
        axes[0].figure.canvas.draw()
        assert all(ax.has_data() for ax in axes) and axes[-1].get_xlabel() and any(ax.get_ylabel() for ax in axes)
        plt.close(axes[0].figure)
    _, ax = plt.subplots()
    few = run.histogram(1, 2, bin="5ns", range="50ns")
    assert few.plot(ax, color="red") is ax
    # Steps have each count at both ends of a bin.
    assert numpy.array_equal(ax.lines[0].get_ydata()[:-1:2], few["count"])
    assert ax.lines[0].get_color() == "red"
    plt.close(ax.figure)
    with pytest.raises(tagq.QuestionError, match="nothing to draw"):
        tagq.from_arrays(run.time[:0], run.channel[:0], tick="1ps").coincidences(window="2ns").plot()


@pytest.fixture(scope="module")
def dense() -> tagq.Run:
    """Tags of the channels 1 to 5 with micro times, some ticks apart."""
    rows = numpy.arange(3_000)
    time, channel, micro = (rows * 7_919 % 13).cumsum(), 1 + rows * rows % 31 % 5, rows * 37 % 60
    return tagq.from_arrays(time, channel, tick="156.25ps", micro=micro, micro_tick="25ps")


def compare_pdf_with_svg(result: tagq.Result, folder: Path) -> None:
    """Asserts that the PDF of a result is one page with the texts of its SVG."""
    result.save(folder / "figure.pdf")
    result.save(folder / "figure.svg")
    (page,) = pypdf.PdfReader(folder / "figure.pdf", strict=True).pages
    content = page.get_contents()
    assert content is not None
    # Two bytes for each letter of each text.
    lengths = [len(words[0].original_bytes) / 2 for words, operator in content.operations if operator == b"Tj"]
    root = ElementTree.parse(folder / "figure.svg").getroot()
    texts = [of.text or "" for of in root.iter("{http://www.w3.org/2000/svg}text")]
    assert lengths == [len(text) for text in texts] and len(texts) > 5
    # A reader finds the title, whose letters are glyphs of the font.
    assert texts[0] in " ".join(page.extract_text().split())


@pytest.mark.parametrize(("kind", "words"), tagq._tagq.cases())
@pytest.mark.filterwarnings("ignore::tagq.TagqWarning")
def test_every_case_is_drawn_saved_pickled_and_streamed(dense: tagq.Run, kind: str, words: str, tmp_path: Path) -> None:
    import matplotlib.pyplot as plt

    options = json.loads(words)
    options.pop("delays", None)
    result = getattr(dense, kind)(**options)
    # The figure of a search is a histogram around what it found.
    is_drawn = kind != "delays"
    if is_drawn:
        compare_pdf_with_svg(result, tmp_path)
    again = pickle.loads(pickle.dumps(result))
    assert (again.to_json(), again.header) == (result.to_json(), result.header)
    for one in (result, again):
        table = pyarrow.table(one)
        assert table.column_names == result.columns
        assert table.to_pylist() == result.rows
        labelled = one.to_xarray()
        variables = [labelled] if isinstance(labelled, xarray.DataArray) else [labelled[name] for name in labelled.data_vars]
        # Clusters of an interval are those that it has.
        assert "row" not in labelled.dims or len(result) == 0 or "cluster" in words or kind == "delays", labelled.dims
        if "count" in result.columns and "micro_counts" not in result.columns:
            counts = variables[0] if isinstance(labelled, xarray.DataArray) else labelled["count"]
            assert counts.values.ravel().tolist() == result["count"].tolist()
    drawn = [one.plot() for one in (result, again)] if is_drawn else []
    for axes in drawn:
        panels = axes if isinstance(axes, list) else [axes]
        panels[0].figure.canvas.draw()
        assert all(ax.has_data() for ax in panels) and panels[0].get_title()
        assert panels[-1].get_xlabel() and any(ax.get_ylabel() for ax in panels)
        plt.close(panels[0].figure)


@contextmanager
def interrupted(seconds: float) -> Iterator[None]:
    """Press Ctrl-C after this time, and expect that it ends the work."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@needs_signals
def test_control_c_ends_a_query_that_would_take_hours_and_a_fit(tmp_path: Path) -> None:
    """Each shift is a separate pass over all tags; three exponentials in 300,000 bins take minutes."""
    rows = 200_000
    made = tagq.from_arrays(
        numpy.arange(rows) * 640, numpy.arange(rows) % 2, tick="156.25ps", store=tmp_path / "made.tagq"
    )
    with interrupted(0.2):
        made.coincidences(window="2ns", accidentals="shifted:10000", shift="25t", groups=[(0, 1)])
    random = numpy.random.default_rng(1)
    starts = numpy.arange(rows, dtype=numpy.int64) * 10_000_000
    times = numpy.stack([starts, starts + 1_000 + random.exponential(100_000, rows).astype(numpy.int64)], 1)
    decay = tagq.from_arrays(
        times.ravel(), numpy.tile([0, 1], rows), tick="1ps", store=tmp_path / "decay.tagq"
    ).histogram(start=0, stop=1, bin="2ps", range="0ns..600ns")
    with interrupted(0.2):
        decay.fit("decay", exponentials=3, intervals="profile")
    # The run is unchanged.
    with pytest.warns(tagq.TagqWarning, match="its pulses are 100 ns from the middle of the window"):
        assert made.coincidences(window="2ns", groups=[(0, 1)]).rows[0]["count"] == 0


@pytest.mark.filterwarnings("ignore::tagq.TagqWarning")
@pytest.mark.parametrize("threads", [1, 2])
def test_many_threads_of_python_ask_one_run_at_once(tmp_path: Path, threads: int) -> None:
    """A question runs on a thread that counts, and takes up others while it waits for its parts."""
    rows = 300_000
    random = numpy.random.default_rng(threads)
    times = numpy.cumsum(random.integers(1, 10_000, rows))
    made = tagq.from_arrays(times, random.integers(0, 3, rows), tick="1ps", store=tmp_path / "made.tagq")

    def ask(run: tagq.Run, window: int) -> list[dict[str, Any]]:
        groups = [("Any", 2), (0, 1)]
        return run.coincidences(window=f"{window}ns", derive="Any = 0 | 1", groups=groups).rows

    windows = range(1, 9)
    expected = {window: ask(made, window) for window in windows}
    # Nothing is known of the rows of this one.
    run = tagq.open(tmp_path / "made.tagq", threads=threads)
    with ThreadPoolExecutor(48) as executor:
        asked = [*windows] * 12
        found = list(executor.map(lambda window: ask(run, window), asked))
    assert found == [expected[window] for window in asked]


def test_names_are_no_orders_to_a_terminal(tmp_path: Path) -> None:
    bad = "a\x1b[2J\nb\u202ec\x9b1m<script>"
    shown = r"a\u{1b}[2J\nb\u{202e}c\u{9b}1m<script>"
    folder = tmp_path / bad
    folder.mkdir()
    (folder / f"{bad}.tsv").write_text("1\t0\n2\t1\n")
    (folder / f"{bad}.tags").write_bytes(b"\0\0\0\0\x09\0\0\0\x01")
    with pytest.warns(tagq.TagqWarning) as warned:
        run = tagq.open(folder, tick="156.25ps")
    with pytest.raises(tagq.NotFoundError) as missing:
        tagq.open(tmp_path / f"no{bad}")
    said = [*(str(warning.message) for warning in warned), str(missing.value), repr(run), run._repr_html_()]
    said += [repr(run.tags()), repr(run.rates()), run.rates()._repr_html_()]
    for text in said:
        assert not any(letter in text for letter in "\x1b\x9b\u202e"), ascii(text)
    assert shown in said[0] and shown in str(missing.value) and shown in repr(run)
    assert "<script" not in run._repr_html_()
    # Programs get the original text.
    assert run.facts["path"] == str(folder)


SCHEMAS = json.loads((Path(__file__).parents[3] / "docs/requests.schema.json").read_text())["$defs"]


@pytest.mark.parametrize(("kind", "words"), tagq._tagq.cases())
def test_the_schema_takes_every_case_and_no_mistake(kind: str, words: str) -> None:
    from jsonschema import Draft202012Validator

    Draft202012Validator.check_schema(SCHEMAS[kind])
    takes = Draft202012Validator(SCHEMAS[kind]).is_valid
    options = json.loads(words)
    assert takes(options), words
    assert not takes(options | {"windwo": "2ns"})
    assert not takes(options | {"join": "yes"})
    assert not takes(options | {"channels": [70_000]})
    assert not takes(options | {"last": "1s", "from": "0s"})
    assert not takes(options | {"delays": [[1, "2ns", 3]]})
    if kind in ("histogram", "g2"):
        assert not takes({name: value for name, value in options.items() if name != "start"})
    if kind == "coincidences":
        assert not takes({"window": "2ns", "guard": "1ns"}) and not takes({"rule": "al"})
