"""Live figures: a thread follows the run, and a widget shows it."""

from __future__ import annotations

import json
import shutil
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import tagq
from conftest import ROOT
from tagq import _live

SECOND = ROOT / "data/fixtures/pairs/2.tags.zst"


@pytest.fixture
def growing(tmp_path: Path) -> Path:
    """Creates a run of only the first file."""
    run = tmp_path / "run"
    run.mkdir()
    shutil.copy(ROOT / "data/fixtures/pairs/1.tags.zst", run)
    return run


@pytest.fixture
def no_anywidget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the library missing."""
    _live._widget_class.cache_clear()
    monkeypatch.setitem(sys.modules, "anywidget", None)


def test_a_live_figure_follows_the_recording(growing: Path) -> None:
    run = tagq.open(growing)
    before = len(run)
    words: dict[str, Any] = {"range": "20ns", "hold_back": "1ms"}
    with run.live("g2", 1, 2, **words) as live:
        assert live.result.rows == run.g2(1, 2, range="20ns").rows
        widget: Any = live.widget
        first = json.loads(widget.figure)
        assert first["title"].startswith("g\u00b2(\u03c4) of 1 and 2")
        (series,) = first["plot"]["chart"]["series"]
        assert [point["value"] for point in series["points"]] == [row["g2"] for row in live.result.rows]
        has_both = threading.Event()

        def changed(_: object) -> None:
            if live.result.run["sources"] == 2:
                has_both.set()

        widget.observe(changed, "figure")
        shutil.copy(SECOND, growing)
        assert has_both.wait(60)
        assert live.is_running and live.error is None
    assert not live.is_running and widget.state == "stopped"
    assert json.loads(widget.figure)["header"].replace("\u2212", "-") == live.result.header
    # The run itself stays what it was, until now.
    assert len(run) == before
    assert run.refresh() and len(run) > before


def test_closing_the_widget_stops_the_figure(growing: Path) -> None:
    live = tagq.open(growing).live("rates", bin="20ms")
    live.widget.close()
    live._thread.join(60)
    assert not live.is_running and live.error is None
    # The store is free.
    tagq.ingest(growing, rebuild=True)


def test_a_notebook_shows_a_widget_and_a_picture(growing: Path) -> None:
    with tagq.open(growing).live("coincidences", 1, 2, window="2ns") as live:
        shown = live._repr_mimebundle_()
        assert "application/vnd.jupyter.widget-view+json" in shown
        assert shown["text/html"].startswith("<svg") and "follows" in shown["text/plain"]
        assert "export" in str(live.widget._esm) and "tagq-figure" in str(live.widget._css)


@pytest.mark.usefixtures("no_anywidget")
def test_without_anywidget_the_picture_is_shown(growing: Path) -> None:
    with tagq.open(growing).live("histogram", 1, 2, range="20ns") as live:
        assert set(live._repr_mimebundle_()) == {"text/html", "text/plain"}
        assert live._repr_mimebundle_()["text/html"].startswith("<svg")
        with pytest.raises(tagq.MissingLibraryError, match=r"pip install tagq\[jupyter\]"):
            _ = live.widget


def test_wrong_words_are_refused_at_once(growing: Path) -> None:
    run = tagq.open(growing)
    with pytest.raises(tagq.QuestionError, match="a live figure is of coincidences, .*; did you mean g2"):
        run.live("g3", 1, 2)  # type: ignore[call-overload]
    with pytest.raises(tagq.QuestionError, match="window"):
        run.live("coincidences", 1, 2)
    with pytest.raises(tagq.QuestionError, match="3 channels for start, stop"):
        run.live("g2", 1, 2, 3)
    with pytest.raises(tagq.WrongTypeError, match="every"):
        run.live("rates", every=1)  # type: ignore[call-overload]
    # None of them kept the store.
    tagq.ingest(growing, rebuild=True)


def test_channels_are_those_of_the_request(growing: Path) -> None:
    run = tagq.open(growing)
    with run.live("rates", 1, 3) as live:
        assert live.result.rows == run.rates(channels=[1, 3]).rows
    with run.live("histogram2d", 1, 2, 3, range="2ns") as live:
        assert live.result.rows == run.histogram2d(1, 2, 3, range="2ns").rows
    with run.live("coincidences", 1, 2, window="2ns") as live:
        assert live.result.rows == run.coincidences(groups=[(1, 2)], window="2ns").rows
