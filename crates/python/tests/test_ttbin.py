"""Files of a Time Tagger, which only Swabian's library reads.

Without an instrument the library makes no such file: ``createTimeTaggerVirtual`` wants the licence of one that was
connected before. So the tests of the way into a store have a stand-in for its ``FileReader``, which hands out the
records after the first four bytes of a file; ``test_the_library_has_what_is_used`` compares both."""

from __future__ import annotations

import subprocess
import sys
import types
from pathlib import Path

import numpy
import pytest

import tagq
from tagq import ttbin

TAG, BEGIN, END, MISSED = 0, 2, 3, 4


class Buffer:
    """The names of the library."""

    def __init__(self, records: numpy.ndarray) -> None:
        self.records, self.size = records, len(records)

    def getEventTypes(self) -> numpy.ndarray:  # noqa: N802
        return self.records["type"]

    def getMissedEvents(self) -> numpy.ndarray:  # noqa: N802
        return self.records["missed"]

    def getChannels(self) -> numpy.ndarray:  # noqa: N802
        return self.records["channel"]

    def getTimestamps(self) -> numpy.ndarray:  # noqa: N802
        return self.records["time"]


class FileReader:
    """The names of the library."""

    def __init__(self, path: str) -> None:
        self.records = numpy.frombuffer(Path(path).read_bytes()[4:], ttbin.RECORD)
        self.at = 0

    def getConfiguration(self) -> dict[str, str]:  # noqa: N802
        if len(self.records) == 0:
            raise ValueError("no header")
        return {}

    def hasData(self) -> bool:  # noqa: N802
        return self.at < len(self.records)

    def getData(self, n_events: int) -> Buffer:  # noqa: N802
        part = self.records[self.at : self.at + n_events]
        self.at += n_events
        return Buffer(part)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    package, module = types.ModuleType("Swabian"), types.ModuleType("Swabian.TimeTagger")
    package.TimeTagger = module  # type: ignore[attr-defined]
    module.FileReader = FileReader  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "Swabian", package)
    monkeypatch.setitem(sys.modules, "Swabian.TimeTagger", module)


def written(path: Path, rows: int = 1_000) -> numpy.ndarray:
    """Writes tags 1 ns apart, with an overflow from row 100 to row 200 and missed events at row 300."""
    records = numpy.zeros(rows, ttbin.RECORD)
    records["channel"] = numpy.where(numpy.arange(rows) % 3 == 0, 1, -2)
    records["time"] = numpy.arange(rows) * 1_000
    if rows > 300:
        records["type"][[100, 200, 300]] = BEGIN, END, MISSED
        records["missed"][300] = 7
    path.write_bytes(ttbin.MAGIC + records.tobytes())
    return records[records["type"] == TAG]


@pytest.mark.usefixtures("library")
def test_a_file_is_opened_by_a_store_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ttbin, "PIECE_TAGS", 64)
    file = tmp_path / "night.ttbin"
    tags = written(file)
    run = tagq.open(file)
    assert run.tick == "1 ps"
    assert (run.time == tags["time"]).all()
    assert (run.channel == numpy.where(tags["channel"] < 0, 1002, 1)).all()
    # 100 ns of overflow, and 1 ns before the missed events.
    assert run.info()["sources"][0]["measurement"]["dead"] == [[100_000, 200_000], [299_000, 300_000]]
    assert run.info()["sources"][0]["measurement"]["left_out"] == [["missed event", 7]]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["night.ttbin", "night.ttbin.tagq"]
    assert len(tagq.open(file)) == len(tags)
    assert tagq.open([file]).rates().rows == tagq.open(file).rates().rows


@pytest.mark.usefixtures("library")
def test_a_file_that_changed_is_not_taken_for_its_store(tmp_path: Path) -> None:
    file = tmp_path / "night.ttbin"
    written(file)
    with pytest.raises(tagq.NotFoundError, match="there is no store of"):
        tagq.open(file, ingest=False)
    tagq.open(file).close()
    later = (tmp_path / "night.ttbin.tagq" / "manifest.json").stat().st_mtime + 10
    import os

    os.utime(file, (later, later))
    with pytest.raises(tagq.QuestionError, match="was changed after its store"):
        tagq.open(file)


@pytest.mark.usefixtures("library")
def test_refusals_say_what_to_do(tmp_path: Path) -> None:
    file, store = tmp_path / "night.ttbin", tmp_path / "night.tagq"
    written(file)
    with pytest.raises(tagq.NotFoundError, match="no such file"):
        ttbin.convert(tmp_path / "none.ttbin", store)
    store.mkdir()
    with pytest.raises(tagq.QuestionError, match="is there already"):
        ttbin.convert(file, store)
    other = tmp_path / "other.ttbin"
    other.write_text("1\t2\n")
    with pytest.raises(tagq.QuestionError, match=r"no \.ttbin file"):
        ttbin.convert(other, tmp_path / "other.tagq")
    other.write_bytes(ttbin.MAGIC)
    with pytest.raises(tagq.DamageError, match="finds no header"):
        ttbin.convert(other, tmp_path / "other.tagq")
    assert not (tmp_path / "other.tagq").exists()


def test_without_the_library_its_name_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "Swabian", None)
    written(tmp_path / "night.ttbin")
    with pytest.raises(tagq.MissingLibraryError, match=r"pip install tagq\[swabian\]"):
        tagq.open(tmp_path / "night.ttbin")


def test_the_library_has_what_is_used(tmp_path: Path) -> None:
    library = pytest.importorskip("Swabian.TimeTagger")
    library.setLogger(lambda *_: None)
    for ours, theirs in ((FileReader, library.FileReader), (Buffer, library.TimeTagStreamBuffer)):
        names = [name for name in vars(ours) if not name.startswith("_")]
        assert names and all(hasattr(theirs, name) for name in names)
    damaged = tmp_path / "damaged.ttbin"
    damaged.write_bytes(ttbin.MAGIC + bytes(100))
    with pytest.raises(tagq.DamageError, match="finds no header"):
        tagq.open(damaged)
    done = subprocess.run(
        [sys.executable, "-m", "tagq.ttbin", damaged, "-o", tmp_path / "damaged.tagq"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "error: " in done.stderr and "finds no header" in done.stderr


def test_a_file_of_the_library_is_read(tmp_path: Path) -> None:
    library = pytest.importorskip("Swabian.TimeTagger")
    library.setLogger(lambda *_: None)
    if not library.hasTimeTaggerVirtualLicense():
        pytest.skip("the library makes no file without the licence of an instrument")
    tagger = library.createTimeTaggerVirtual()
    generator = library.Experimental.UniformSignalGenerator(tagger, 500, 1_500)
    channel = generator.getChannel()
    file = tmp_path / "night.ttbin"
    writer = library.FileWriter(tagger, str(file), [channel])
    writer.startFor(10**9)
    writer.waitUntilFinished()
    events = writer.getTotalEvents()
    library.freeTimeTagger(tagger)
    assert len(tagq.open(file)) == events > 0
