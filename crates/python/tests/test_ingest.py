"""Ingest: progress, Ctrl-C, other writers, damage."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import struct
import subprocess
import sys
import threading
from pathlib import Path

import numpy
import polars
import pytest

import tagq
from conftest import cli_json, interruptible, needs_signals


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Writes a source that takes long to ingest: 6 M tags as text."""
    path = tmp_path_factory.mktemp("large") / "large.tsv"
    time = numpy.arange(6_000_000) * 37
    frame = polars.DataFrame({"channel": time % 4 + 1, "time": time})
    frame.write_csv(path, include_header=False, separator="\t")
    return path


def test_progress_is_told(large: Path, tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    run = tagq.ingest(large, store=tmp_path / "s", tick="1ps", progress=lambda *of: told.append(of))
    assert len(run) == 6_000_000
    assert {(Path(name).name, size) for name, _, size in told} == {("large.tsv", large.stat().st_size)}
    read = [done for _, done, _ in told]
    assert read == sorted(read) and read[-1] == large.stat().st_size
    assert len(told) > 1


def test_the_setup_of_a_folder_states_the_tick(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("1\t5\n2\t77\n")
    (tmp_path / "tagq.toml").write_text('tick = "80.955ps"\n[channels]\n1 = "Alice"\n')
    (tmp_path / "other.toml").write_text('tick = "3ps"\n')
    run = tagq.ingest(tmp_path, threads=1, io="read")
    assert run.tick == "80.955 ps" and run.rates("Alice")[0].count == 1
    run = tagq.ingest(tmp_path, store=tmp_path / "other.tagq", setup=tmp_path / "other.toml")
    assert run.tick == "3 ps"
    with pytest.raises(tagq.TagqError, match="tick is missing"):
        tagq.ingest(tmp_path, store=tmp_path / "none.tagq", no_setup=True)


def test_what_progress_raises_ends_the_ingest(large: Path, tmp_path: Path) -> None:
    def stop(*_: object) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        tagq.ingest(large, store=tmp_path / "s", tick="1ps", progress=stop)
    # The store is not locked, and the next ingest is complete.
    assert len(tagq.ingest(large, store=tmp_path / "s", tick="1ps")) == 6_000_000


INTERRUPTED = """
import sys, tagq
def tell(name, done, size):
    print("reading", flush=True)
try:
    tagq.ingest(sys.argv[1], store=sys.argv[2], tick="1ps", progress=tell)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(7)
"""


@needs_signals
def test_control_c_ends_the_ingest(large: Path, tmp_path: Path) -> None:
    args = [sys.executable, "-c", INTERRUPTED, str(large), str(tmp_path / "s")]
    child = subprocess.Popen([*interruptible(), *args], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "reading\n"
    child.send_signal(signal.SIGINT)
    rest = child.stdout.read()
    child.stdout.close()
    assert child.wait() == 7 and rest.endswith("interrupted\n"), rest
    assert len(tagq.ingest(large, store=tmp_path / "s", tick="1ps")) == 6_000_000


def test_other_threads_run_meanwhile(large: Path, tmp_path: Path) -> None:
    ticks, is_done = [], threading.Event()

    def count() -> None:
        while not is_done.wait(0.001):
            ticks.append(None)

    counter = threading.Thread(target=count)
    counter.start()
    try:
        tagq.ingest(large, store=tmp_path / "s", tick="1ps")
    finally:
        is_done.set()
        counter.join()
    assert len(ticks) > 20


def test_a_store_that_is_written_is_busy(folder: Path) -> None:
    run = tagq.ingest(folder)
    shutil.copy(folder / "2.tags.zst", folder / "3.tags.zst")
    with open(Path(run.store) / "lock", "r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(tagq.BusyError, match="another tagq"):
            tagq.ingest(folder)
        with pytest.warns(tagq.TagqWarning, match="left out: 3.tags.zst"):
            assert len(tagq.open(folder)) == len(run)


def test_damage_is_told(run: tagq.Run, folder: Path) -> None:
    manifest = Path(run.store) / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"commit": ', '"commit": 1', 1))
    with pytest.raises(tagq.DamageError, match="manifest.json"):
        tagq.open(folder)


def test_words_of_ingest(folder: Path, tmp_path: Path) -> None:
    sources = sorted(folder.glob("*.tags.zst"))
    run = tagq.ingest(sources, store=tmp_path / "both", tick="4ps")
    assert len(run.sources) == 2 and run.tick == "4 ps"
    assert cli_json("info", tmp_path / "both")["tags"] == len(run)
    with pytest.raises(tagq.QuestionError, match="the tick of this run was set"):
        tagq.ingest(sources, store=tmp_path / "both", tick="5ps")
    with pytest.warns(tagq.TagqWarning, match="for this query alone"):
        assert tagq.open(tmp_path / "both", tick="5ps").tick == "5 ps"
    assert tagq.open(tmp_path / "both").tick == "4 ps"
    assert os.fspath(run.store) == str(tmp_path / "both")


def test_nested_folders_are_searched_if_asked_for(tmp_path: Path) -> None:
    (tmp_path / "run/day 1").mkdir(parents=True)
    (tmp_path / "run/day 1/1.tsv").write_text("1\t10\n2\t12\n")
    with pytest.raises(tagq.TagqError, match="no tags in this folder"):
        tagq.open(tmp_path / "run", tick="1ps")
    assert len(tagq.ingest(tmp_path / "run", tick="1ps", recursive=True)) == 2
    with (tmp_path / "run/day 1/1.tsv").open("a") as file:
        file.write("1\t20\n")
    assert len(tagq.open(tmp_path / "run")) == 2
    assert len(tagq.open(tmp_path / "run", recursive=True)) == 3


def test_a_format_that_nothing_tells_is_named_once(tmp_path: Path) -> None:
    record = struct.Struct("<BxHiq")
    path = tmp_path / "a.bin"
    path.write_bytes(record.pack(0, 0, 3, 1_000) + record.pack(0, 0, -2, 2_500))
    with pytest.raises(tagq.TagqError):
        tagq.ingest(path)
    with pytest.raises(tagq.QuestionError, match="is no input format"):
        tagq.ingest(path, source_format="swabia")
    run = tagq.open(path, source_format="swabian")
    assert run.tick == "1 ps"
    assert run.time.tolist() == [1_000, 2_500]
    assert run.channel.tolist() == [3, 1_002]
    # The source remembers its format, also when it grows.
    with path.open("ab") as file:
        file.write(record.pack(0, 0, 3, 9_000))
    assert tagq.ingest(path).time.tolist() == [1_000, 2_500, 9_000]
