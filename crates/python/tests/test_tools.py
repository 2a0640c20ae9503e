"""What the command line does apart from counting: the same from Python. Stores that are written while they are read."""

from __future__ import annotations

import datetime
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import h5py
import numpy
import pandas
import polars
import pyarrow
import pytest

import tagq
from conftest import cli, cli_json, interruptible

TIME = numpy.array([10, 25, 25, 40])
CHANNEL = numpy.array([1, 2, 1, 300], dtype="u2")


def test_facts_checks_and_delays_are_those_of_the_command_line(run: tagq.Run, folder: Path) -> None:
    info = run.info()
    assert info == cli_json("info", folder, "--format", "json") and info["channels"][0]["shortest_ticks"] > 0
    assert "shortest_ticks" not in run.info(fast=True)["channels"][0]
    assert run.verify() == {"blocks": 1, "tags": len(run), "sources": 0, "sources_unknown": 0, "views": 0, "results": 0}
    assert run.verify(sources=True)["sources"] == 2
    for words, flags in (({}, []), (dict(range="10us"), ["--range", "10us"]), (dict(range_s=1e-5, last="100ms"), ["--range", "10us", "--last", "100ms"])):
        found = run.delays([1, 2], **words)
        expected = cli_json("delays", "--channels", "1,2", *flags, folder)
        assert json.loads(found.to_json()) == expected
    assert found[0].peak_ticks == found["peak_ticks"][0] and {of["channel"] for of in found.query["delays"]} == {1, 2}
    with pytest.raises(tagq.QuestionError, match="two channels"):
        run.delays([1])
    with pytest.raises(TypeError, match=r"delays\(\) .* did you mean range\?"):
        run.delays([1, 2], rnage="1us")  # type: ignore[arg-type]
    rows = next(folder.rglob("gap.*"))
    with rows.open("r+b") as file:
        file.seek(10_000)
        file.write(b"\xff" * 8)
    with pytest.raises(tagq.DamageError):
        tagq.open(folder).verify()


def test_exports_and_conversions_are_those_of_the_command_line(run: tagq.Run, folder: Path, tmp_path: Path) -> None:
    for name in ("tags.csv", "tags.parquet", "tags.arrow"):
        assert run.export(tmp_path / name, channels=[1, 2], from_="1ms", time_unit="ns") > 100
        cli("export", folder, "-o", tmp_path / f"cli-{name}", "--channels", "1,2", "--from", "1ms", "--time-unit", "ns")
        assert (tmp_path / name).read_bytes() == (tmp_path / f"cli-{name}").read_bytes(), name
    with pytest.raises(tagq.TagqError, match="is there already"):
        run.export(tmp_path / "tags.csv")
    assert run.export(tmp_path / "tags.csv", replace=True) == len(run)
    with pytest.raises(tagq.QuestionError, match="its name does not say"):
        run.export(tmp_path / "tags.xyz")
    source = folder / "1.tags.zst"
    count = tagq.convert(source, tmp_path / "a.tsv")
    cli("convert", source, tmp_path / "b.tsv")
    assert (tmp_path / "a.tsv").read_bytes() == (tmp_path / "b.tsv").read_bytes() and count > 1000
    assert tagq.convert(folder, tmp_path / "both.tags") == len(run)
    with pytest.raises(tagq.QuestionError, match="its name does not say"):
        tagq.convert(source, tmp_path / "a.xyz")
    with pytest.raises(TypeError, match=r"did you mean replace\?"):
        tagq.convert(source, tmp_path / "a.tsv", repalce=True)  # type: ignore[arg-type]


def test_names_and_settings_are_those_of_the_command_line(folder: Path) -> None:
    assert tagq.name(folder) == {}
    assert tagq.name(folder, {1: "Alice", 2: "Bob"}) == {1: "Alice", 2: "Bob"}
    assert cli("name", folder).decode() == "1=Alice\n2=Bob\n"
    assert tagq.name(folder, {1: None}) == {2: "Bob"}
    assert tagq.open(folder).rates(channels="Bob")["name"].tolist() == ["Bob"]
    for names, error in (({1: "Bob"}, tagq.QuestionError), ({1.5: "a"}, TypeError), ({1: 2}, TypeError)):
        with pytest.raises(error):
            tagq.name(folder, names)  # type: ignore[arg-type]
    tagq.set(folder, tick="1ns")
    assert tagq.open(folder).tick == "1 ns"
    with pytest.raises(tagq.TagqError, match="set .* --times on"):
        tagq.set(folder, gaps=False)
    with pytest.raises(tagq.TagqError, match="drop one of them"):
        tagq.set(folder, times=False, gaps=False)
    tagq.set(folder, times=True, gaps=False)
    assert "gap_column" not in tagq.open(folder).info(fast=True)
    with pytest.raises(tagq.NotFoundError):
        tagq.name(folder / "none")


def test_streams_are_runs(folder: Path, tmp_path: Path) -> None:
    path = folder / "1.tags.zst"
    expected = tagq.open(path).rates()
    with path.open("rb") as file:
        run = tagq.open(file)
    assert run.rates()["count"].tolist() == expected["count"].tolist() and not Path(run.store).exists()
    assert run.coincidences(window="2ns")["count"].sum() > 0
    text = tagq.open(io.BytesIO(b"1\t10\n2\t11\n"), tick="1ns", store=tmp_path / "kept")
    assert text.time.tolist() == [10, 11] and len(tagq.open(tmp_path / "kept", ingest=False)) == 2
    code = "import tagq; print(len(tagq.open('-', tick='1ns')))"
    done = subprocess.run([sys.executable, "-c", code], input=b"1\t10\n2\t11\n", capture_output=True, check=False)
    assert done.stdout == b"2\n", done.stderr.decode()


def test_arrays_of_other_libraries_become_a_run() -> None:
    for of in (pyarrow.array, polars.Series, pandas.Series, numpy.asarray):
        run = tagq.from_arrays(of(TIME), of(CHANNEL), tick="1ps")
        assert (run.time.tolist(), run.channel.tolist()) == (TIME.tolist(), CHANNEL.tolist())
    for wrong in (pyarrow.array([1, None]), polars.Series([1, None]), pandas.Series([1.0, 2.0])):
        with pytest.raises(tagq.WrongTypeError):
            tagq.from_arrays(wrong, numpy.array([1, 2]), tick="1ps")


def test_a_recorder_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "live.tagq"
    with tagq.Recorder(path, "1ps", every="0s") as recorder:
        run = tagq.open(path)
        assert (len(run), run.tick) == (0, "1 ps")
        answers = run.watch(lambda run: run.time.tolist(), timeout="5s")
        assert next(answers) == []
        recorder.append(TIME, CHANNEL)
        assert next(answers) == TIME.tolist()
        recorder.append(pyarrow.array(TIME + 30), polars.Series(CHANNEL))
        assert next(answers) == [*TIME, *(TIME + 30)] and run.channel.tolist() == [*CHANNEL, *CHANNEL]
        # Another process sees the same.
        assert cli_json("rates", path)["total"][0]["count"] == 8
        with pytest.raises(tagq.BusyError):
            tagq.Recorder(path, "1ps")
        answers.close()
    assert recorder.closed and "closed" in repr(recorder)
    with pytest.raises(tagq.ClosedError, match="this recorder was closed"):
        recorder.append(TIME, CHANNEL)
    with tagq.Recorder(path, "1ps") as again:
        again.append(TIME + 1000, CHANNEL)
    run = tagq.open(path)
    assert len(run) == 12 and run.sources == ["recorder-1", "recorder-2"]
    # From the first to the last tag of each recording.
    assert run.facts["live_s"] == pytest.approx(((70 - 10) + (40 - 10)) * 1e-12)
    with pytest.raises(tagq.TagqError):
        tagq.Recorder(path, "2ps")


def test_a_recorder_commits_at_its_interval_and_when_it_is_told(tmp_path: Path) -> None:
    recorder = tagq.Recorder(tmp_path / "live.tagq", "1ps", micro_tick="4ps", every_s=3600)
    recorder.append(TIME, CHANNEL, numpy.array([1, 2, 3, 4]))
    assert recorder.uncommitted == 4 and len(tagq.open(recorder.path)) == 0
    assert "4 tags since the last commit" in repr(recorder)
    recorder.commit()
    assert recorder.uncommitted == 0 and tagq.open(recorder.path).micro_times.tolist() == [1, 2, 3, 4]
    recorder.append(TIME[:0], CHANNEL[:0])
    recorder.append(TIME + 100, CHANNEL)
    recorder.close()
    recorder.close()
    assert len(tagq.open(recorder.path)) == 8


WRONG = [
    (TIME[::-1], CHANNEL, tagq.QuestionError, "row 1 is 25, before 40; sort them first"),
    (TIME - 5, CHANNEL, tagq.QuestionError, "argsort"),
    (TIME[:3], CHANNEL, tagq.QuestionError, "4 channels for 3 times"),
    (TIME.astype("f8"), CHANNEL, tagq.WrongTypeError, "floats cannot hold"),
    ([1, 2, 3, 4], CHANNEL, tagq.WrongTypeError, "NumPy array"),
    (TIME, CHANNEL.astype("i4") - 2, tagq.QuestionError, "row 0 is -1"),
]


@pytest.mark.parametrize(("time", "channel", "error", "message"), WRONG)
def test_wrong_tags_leave_a_recorder_as_it_was(tmp_path: Path, time, channel, error, message: str) -> None:
    with tagq.Recorder(tmp_path / "live.tagq", "1ps") as recorder:
        recorder.append(TIME, CHANNEL)
        with pytest.raises(error, match=message):
            recorder.append(time, channel)
        recorder.append(TIME + 30, CHANNEL)
    assert tagq.open(recorder.path).time.tolist() == [*TIME, *(TIME + 30)]


def test_wrong_recorders_are_refused(folder: Path, tmp_path: Path) -> None:
    store = tagq.open(folder).store
    for make, error, message in (
        (lambda: tagq.Recorder(store, "156.25ps"), tagq.QuestionError, "a recorder writes a store of its own"),
        (lambda: tagq.Recorder(tmp_path / "a", 1e-12), tagq.WrongTypeError, "tick: a text"),
        (lambda: tagq.Recorder(tmp_path / "a", "1ps", every=1), tagq.WrongTypeError, "seconds are every_s"),
        (lambda: tagq.Recorder(tmp_path / "a", "1ps", evry="1s"), TypeError, r"did you mean every\?"),
        (lambda: tagq.Recorder(tmp_path / "a", "1ps", every="-1s"), tagq.QuestionError, "-1s"),
        (lambda: tagq.Recorder(Path(store) / "a", "1ps"), tagq.TagqError, "lies in the store"),
    ):
        with pytest.raises(error, match=message):
            make()
    assert not os.path.exists(tmp_path / "a")


SIMULATED = [
    ({}, []),
    (
        dict(duration="100ms", rate="1MHz", coherent=True, beam_splitter=True, channels=[1, 2, 3], efficiency=0.5, seed=7),
        [*"--duration 100ms --rate 1MHz --coherent --beam-splitter --channels 1,2,3 --efficiency 0.5 --seed 7".split()],
    ),
    (
        dict(duration=datetime.timedelta(milliseconds=50), dark={2: "1kHz"}, jitter="100ps", dead_time={1: "20ns"}, delays={2: "-5ns"}, pulsed="10ns", start="1s", tick="4ps", efficiency={1: 0.2}),
        [*"--duration 50ms --dark 2=1kHz --jitter 100ps --dead-time 0t --dead-time 1=20ns --delay 2=-5ns --pulsed 10ns --start 1s --tick 4ps".split(), "--efficiency", "1", "--efficiency", "1=0.2", "--dark", "0Hz"],
    ),
    (
        dict(duration="5ms", rate="1MHz", fluorescence={"0.5ns": 0.3, "3ns": 0.7}, pulsed="25ns", clock=0, clock_divider=4, tick="4ps"),
        [*"--duration 5ms --rate 1MHz --fluorescence 0.5ns=0.3,3ns=0.7 --pulsed 25ns --clock 0 --clock-divider 4 --tick 4ps".split()],
    ),
    (
        dict(fluorescence="3ns", scan=(8, 6, 2), dwell="20us", two_way=True, sine=80, disc="1ns", disc_rate="2MHz", pulsed="25ns"),
        [*"--fluorescence 3ns --scan 8x6x2 --dwell 20us --two-way --sine 80 --disc 1ns --disc-rate 2MHz --pulsed 25ns".split()],
    ),
]


#: Names of files with more options of the simulation.
FORMS = [
    ("a.csv", {}, []),
    ("a.tsv.zst", dict(tick="1ps"), ["--tick", "1ps"]),
    ("a.tags", {}, []),
    ("a.ptu", dict(tick="4ps"), ["--tick", "4ps"]),
    ("a.npz", {}, []),
    ("a.h5", {}, []),
    ("a.tags.zst", dict(frames=3, checksum=True), ["--frames", "3", "--checksum"]),
    ("a", dict(files=3, gap="5ms"), ["--files", "3", "--gap", "5ms"]),
    ("a.tags.zst", dict(live="4MHz", late="1us"), ["--live", "4MHz", "--late", "1us"]),
    ("a", dict(live="1MHz", faults=True), ["--live", "1MHz", "--faults"]),
    (
        "a.tags.zst",
        dict(emitter="1ns", pulsed="12.5ns", channels=1, rate="1MHz"),
        ["--emitter", "1ns", "--pulsed", "12.5ns", "--channels", "1", "--rate", "1MHz"],
    ),
]


def content(folder: Path) -> dict[Path, object]:
    """Returns the bytes of all files; of HDF5 the values but the time at which it was made."""
    made: dict[Path, object] = {}
    for path in filter(Path.is_file, folder.rglob("*")):
        if path.suffix == ".h5":
            with h5py.File(path) as file:
                names: list[str] = []
                file.visit(names.append)
                names.remove("identity/creation_time")
                values = [(name, file[name]) for name in names]
                made[path.relative_to(folder)] = [
                    (name, dict(of.attrs), of[()].tobytes() if isinstance(of, h5py.Dataset) else None)
                    for name, of in values
                ]
        else:
            made[path.relative_to(folder)] = path.read_bytes()
    return made


@pytest.mark.parametrize(("name", "words", "flags"), FORMS)
def test_simulations_have_all_formats_and_options(tmp_path: Path, name: str, words: dict, flags: list) -> None:
    own, other = tmp_path / "own", tmp_path / "cli"
    own.mkdir(), other.mkdir()
    count = tagq.simulate(own / name, duration="200ms", seed=5, **words)
    cli("simulate", "--duration", "200ms", "--seed", "5", *flags, other / name)
    made = content(own)
    assert made == content(other)
    assert count > 1_000 and len(made) == words.get("files", len(made))
    # Tags of a frame that a dying recorder lost are not counted.
    run = tagq.open(own / name)
    assert run.tick.replace(" ", "") == words.get("tick", "156.25ps")
    assert len(run) == count or "faults" in words
    # A source of a store is not replaced, not even a file that was simulated.
    if (own / name).is_file():
        with pytest.raises(tagq.TagqError, match="is a source of the store"):
            tagq.simulate(own / name, duration="200ms", replace=True, **words)
    shutil.rmtree(own / f"{name}.tagq" if (own / name).is_file() else own / name / ".tagq")
    again = tagq.simulate(own / name, duration="200ms", replace=True, **words)
    assert again > 1_000


def test_ctrl_c_ends_a_live_simulation(tmp_path: Path) -> None:
    code = f"""
import sys, threading, signal, time, tagq
threading.Timer(1.0, lambda: signal.raise_signal(signal.SIGINT)).start()
begun = time.monotonic()
try:
    tagq.simulate({str(tmp_path / "a.tags.zst")!r}, duration="60s", rate="1kHz", live="2kHz")
except KeyboardInterrupt:
    print("ended", time.monotonic() - begun < 20)
"""
    words = [*interruptible(), sys.executable, "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == "ended True\n", done.stderr
    assert len(tagq.open(tmp_path / "a.tags.zst")) > 100


@pytest.mark.parametrize(("words", "flags"), SIMULATED)
def test_simulations_are_those_of_the_command_line(tmp_path: Path, words: dict, flags: list) -> None:
    count = tagq.simulate(tmp_path / "a.tags.zst", **words)
    cli("simulate", *flags, tmp_path / "b.tags.zst")
    assert (tmp_path / "a.tags.zst").read_bytes() == (tmp_path / "b.tags.zst").read_bytes()
    assert count == len(tagq.open(tmp_path / "a.tags.zst", tick="4ps")) > 100


def test_wrong_simulations_are_refused(tmp_path: Path) -> None:
    for words, error, message in (
        (dict(duration=1.0), tagq.WrongTypeError, "a duration is a text .* not float$"),
        (dict(rate=1e5), tagq.WrongTypeError, "rate: a text"),
        (dict(rate="1ns"), tagq.QuestionError, "rate: "),
        (dict(dark={3: "1kHz"}), tagq.QuestionError, "dark: 3 is none of the channels"),
        (dict(dark=5), tagq.WrongTypeError, "dark: a text"),
        (dict(efficiency="1"), tagq.WrongTypeError, "efficiency: a number"),
        (dict(efficiency=1.5), tagq.QuestionError, "efficiency"),
        (dict(seed=-1), tagq.WrongTypeError, "seed"),
        (dict(channels=["a"]), tagq.WrongTypeError, "'a' is no channel"),
        (dict(duratoin="1s"), TypeError, r"did you mean duration\?"),
    ):
        with pytest.raises(error, match=message):
            tagq.simulate(tmp_path / "a.tags.zst", **words)
    for name, words, error, message in (
        ("a.doc", {}, tagq.QuestionError, "its name does not say what to write"),
        (".", {}, tagq.QuestionError, "is a folder; name a file"),
        ("a.csv", dict(frames=2), tagq.QuestionError, "are for a .tags.zst"),
        ("a.csv", dict(frames=0), tagq.QuestionError, "frames: a whole number from 1"),
        ("a.csv", dict(late="1us"), tagq.QuestionError, "`late` and `faults` are for a recording with `live`"),
        ("a", dict(live="1kHz", files=2), tagq.QuestionError, "`live` excludes"),
        ("a.csv", dict(delays=3), tagq.WrongTypeError, r'delays: a dict is wanted, as \{2: "5ns"\}, not int'),
        ("a.csv", dict(live=3), tagq.WrongTypeError, "live: a text with its unit"),
        ("a.csv", dict(coherent=1), tagq.WrongTypeError, "coherent: True or False"),
    ):
        with pytest.raises(error, match=message):
            tagq.simulate(tmp_path / name, **words)
    assert list(tmp_path.iterdir()) == []
