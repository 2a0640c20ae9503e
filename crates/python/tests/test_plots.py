"""Figures: matplotlib draws the marks, units and ends of the program's figure, for every kind."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib.pyplot as plt
import numpy
import pytest

import tagq
from tagq._result import PLAIN

Ask = Callable[[tagq.Run], tagq.Result]
#: A result of each kind of figure, the labels of its axes, and the number of axes.
DRAWN: list[tuple[str, Ask, str, str, int]] = [
    ("g2", lambda run: run.g2(1, 2, bin="1ns", range="20ns"), "delay τ (ns)", "g²(τ)", 1),
    ("decades", lambda run: run.g2(1, 2, range="1ns..1ms", log=8), "delay τ", "g²(τ)", 1),
    ("differences", lambda run: run.histogram(1, 2, bin="1ns", range="10us"), "Δ = time of stop − time of start (µs)", "counts", 1),
    ("rates", lambda run: run.rates(), "rate (kHz)", "channels", 1),
    ("trace", lambda run: run.rates(bin="2ms", channels=1), "time since the first tag (s)", "rate (kHz)", 1),
    ("panels", lambda run: run.rates(bin="20ms"), "time since the first tag (s)", "", 4),
    ("matrix", lambda run: run.coincidences(window="2ns"), "second channel", "first channel", 1),
    ("groups", lambda run: run.coincidences(window="2ns", groups=[(1, 2), (1, 2, 3)]), "coincidences", "channels", 1),
    ("map", lambda run: run.histogram2d(1, 2, 3, bin="5us", range="100us"), "2 − 1 (µs)", "3 − 1 (µs)", 1),
]


@pytest.mark.parametrize(("ask", "x", "y", "count"), [pytest.param(*of[1:], id=of[0]) for of in DRAWN])
def test_every_kind_is_drawn_with_the_units_of_the_program(run: tagq.Run, ask: Ask, x: str, y: str, count: int) -> None:
    result = ask(run)
    drawn = result.plot()
    axes = drawn if count > 1 else [drawn]
    assert len(axes) == count and (axes[-1].get_xlabel(), axes[0].get_ylabel()) == (x, y)
    page = axes[0].figure
    page.canvas.draw()
    # The texts of the program's picture are those of the figure: title, labels, and the header.
    texts = " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", result._repr_html_()))
    assert axes[0].get_title() in texts and axes[0].get_title()
    header, words = page.get_supxlabel(), result.header.replace("-", "−").split()
    assert header.split()[: len(words)] == words
    texts_in = [ax.title.get_window_extent() for ax in axes] + [text.get_window_extent() for text in page.texts]
    assert all(0 <= of.x0 and of.x1 <= page.bbox.x1 for of in texts_in)
    for ax in axes:
        for text in [*ax.get_xticklabels(), *ax.get_yticklabels()]:
            assert "10^" not in text.get_text() and "e+" not in text.get_text(), text
    plt.close(page)


def test_micro_times_have_a_line_for_each_channel(run: tagq.Run) -> None:
    micro = (run.time % 80).astype("u2")
    ax = tagq.from_arrays(run.time, run.channel, tick="156.25ps", micro=micro, micro_tick="4ps").micro().plot()
    assert ax.get_xlabel() == "micro time (ps)"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["1", "2", "3", "4"]
    plt.close(ax.figure)


def test_points_are_the_middles_of_bins_with_their_values(run: tagq.Run) -> None:
    g2 = run.g2(1, 2, bin="1ns", range="20ns")
    ax = g2.plot(size=(12, 5))
    (line,) = [line for line in ax.lines if line.get_marker() == "o"]
    places, values = line.get_xdata()[:-1], line.get_ydata()[:-1]
    assert numpy.allclose(places, g2["delay_s"] * 1e9) and numpy.array_equal(values, g2["g2"])
    (errors,) = ax.collections
    ends = numpy.array([path[:, 1] for path in errors.get_segments()])
    assert numpy.allclose(ends[:, 1] - ends[:, 0], 2 * g2["g2_err"])
    # The ends of the axes, and the line of uncorrelated light.
    assert numpy.allclose(ax.get_xlim(), (-20.15625, 20.15625), atol=0.1) and ax.get_ylim()[0] == 0
    assert any(numpy.array_equal(line.get_ydata(), [1, 1]) for line in ax.lines)
    assert ax.figure.get_size_inches().tolist() == [12, 5]
    plt.close(ax.figure)


def test_a_value_beyond_the_axis_is_an_arrow_at_the_edge(run: tagq.Run) -> None:
    g2 = run.g2(1, 2, bin="1ns", range="20ns")
    ax = g2.plot(limits=(0, 1))
    over = g2["g2"] > 1
    assert 0 < over.sum() < len(g2)
    (arrows,) = [line for line in ax.lines if line.get_marker() == "^"]
    assert numpy.allclose(arrows.get_xdata(), g2["delay_s"][over] * 1e9) and set(arrows.get_ydata()) == {1.0}
    (points,) = [line for line in ax.lines if line.get_marker() == "o"]
    assert numpy.array_equal(points.get_ydata()[:-1], g2["g2"][~over])
    assert len(ax.collections[0].get_segments()) == (~over).sum()
    plt.close(ax.figure)


def test_a_logarithmic_axis_has_no_bar_below_it_and_numbers_with_units(run: tagq.Run) -> None:
    ax = run.histogram(1, 2, bin="1ns", range="20ns").plot(log_y=True)
    low = ax.get_ylim()[0]
    assert ax.get_yscale() == "log" and low > 0
    for collection in ax.collections:
        for path in collection.get_paths():
            assert (path.vertices[:, 1] >= low * 0.99).all()
    plt.close(ax.figure)
    ax = run.g2(1, 2, range="1ns..1ms", log=8).plot()
    ax.figure.canvas.draw()
    labels = [text.get_text() for text in ax.get_xticklabels()]
    assert ax.get_xscale() == "log" and {"1 ns", "100 ns", "1 µs", "1 ms"} <= set(labels), labels
    plt.close(ax.figure)


def test_words_of_the_command_line_and_of_matplotlib(run: tagq.Run) -> None:
    g2 = run.g2(1, 2, bin="1ns", range="20ns")
    page, axes = plt.subplots(1, 2)
    assert g2.plot(ax=axes[0], limits=(0, 20), title="Mine", color="black") is axes[0]
    assert axes[0].get_ylim() == (0, 20) and axes[0].get_title() == "Mine"
    assert axes[0].lines[0].get_color() == "black" and page.get_supxlabel() == ""
    # Ends with units, and a figure for a paper.
    rates = run.rates(bin="20ms", channels=1)
    assert rates.plot(limits=("20kHz", "0.1MHz")).get_ylim() == (20, 100)
    plain = rates.plot(caption=False)
    assert plain.get_title() == "" and plain.figure.get_supxlabel() == ""
    # Panels on one axes, on a list of them, and on too few.
    trace = run.rates(bin="20ms", channels=[1, 2])
    assert trace.plot(ax=axes[1]) is axes[1] and len(axes[1].get_legend().get_texts()) == 2
    other, both = plt.subplots(2, 1)
    assert trace.plot(ax=both) == list(both) and trace.plot(ax=list(both)) == list(both)
    three = plt.subplots(3, 1)[1]
    for ask, error, message in (
        (lambda: trace.plot(ax=three), ValueError, "ax: 3 axes for 2 panels; give one, or one for each panel"),
        (lambda: g2.plot(ax=3), TypeError, "ax: axes of matplotlib are wanted"),
        (lambda: g2.plot(size=8), TypeError, r"size: two numbers are wanted, as \(8, 5\)"),
        (lambda: g2.plot(limits=(2, 1)), ValueError, r"write limits=\(LO, HI\)"),
        (lambda: g2.plot(limits=("0ns", "3ns")), ValueError, "limits: `0ns` has the unit ns, and the axis has no unit"),
        (lambda: g2.plot(title=3), TypeError, "title: a text is wanted"),
        (lambda: g2.plot(log_y=1), TypeError, "log_y: True or False"),
        (lambda: run.rates().plot(log_y=True), ValueError, "has bars"),
    ):
        with pytest.raises(error, match=message):
            ask()
    plt.close("all")


def test_the_legend_is_beside_the_lines(run: tagq.Run) -> None:
    axes = run.rates(bin="20ms").plot()
    page = axes[0].figure
    page.canvas.draw()
    for ax in axes:
        assert ax.get_legend().get_window_extent().x0 >= ax.get_window_extent().x1
        assert ax.get_legend().get_window_extent().x1 <= page.bbox.x1
    plt.close(page)


def test_without_matplotlib_there_is_the_picture_of_the_program(folder: Path, tmp_path: Path) -> None:
    code = f"""
import sys
sys.modules["matplotlib"] = sys.modules["matplotlib.pyplot"] = None
import tagq
g2 = tagq.open({str(folder)!r}).g2(1, 2, bin="1ns", range="20ns")
picture = g2.plot(title="Mine", limits=(0, 30))
assert picture._repr_svg_() == picture._repr_html_() and ">Mine<" in picture._repr_svg_()
picture.save({str(tmp_path / "a.svg")!r})
g2.save({str(tmp_path / "b.svg")!r}, title="Mine", limits=(0, 30))
print(repr(picture)[:12])
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "tagq.Picture\n", done.stderr
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_marks_are_fewer_where_there_is_less_room(run: tagq.Run) -> None:
    result = run.histogram(1, 2, bin="1ns", range="10us")
    look = PLAIN

    def marks(wide: float) -> int:
        (series,) = json.loads(result._answer.figure(look, wide))["plot"]["chart"]["drawn"]
        assert sum(step["bins"] for run in series["runs"] for step in run) == len(result)
        return sum(map(len, series["runs"]))

    assert marks(100) < marks(1_000) < len(result) == marks(1e6)
