"""Files of instruments: compared with decoders in NumPy, written from the texts of the formats, and with ptufile.

The decoders here and ptufile agree, except in these points of ptufile: it gives T2 sync events the number of the
first input, it keeps the marker bits in the times of PicoHarp's T2 markers, it clamps unknown channels of a PicoHarp,
and it multiplies the count of an overflow record of T2 in 32 bits, which is right up to 127.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import struct
from pathlib import Path

import numpy
import pyarrow
import pytest

import tagq

T2_TYPES = [0x00010203, 0x00010204, 0x01010204, 0x00010205, 0x00010206, 0x00010207]
T3_TYPES = [record_type + 0x100 for record_type in T2_TYPES]
SYNC_RATE = 78_020_000
MARKER_LABEL = 101


def header(record_type: int, records: int) -> bytes:
    """Returns the header of a PTU file."""

    def tag(name: str, kind: int, value: bytes, long: bytes = b"") -> bytes:
        return struct.pack("<32siI8s", name.encode(), -1, kind, value) + long

    is_t3 = record_type & 0xFF00 == 0x0300
    resolutions = (1 / SYNC_RATE, 2.5e-11) if is_t3 else (1e-12, 1e-12)
    return b"".join(
        [
            b"PQTTTR\0\x001.0.00\0\0",
            tag("File_GUID", 0x4001FFFF, struct.pack("<q", 16), b"0123456789abcde\0"),
            tag("Measurement_Mode", 0x10000008, struct.pack("<q", 3 if is_t3 else 2)),
            tag("Measurement_SubMode", 0x10000008, struct.pack("<q", 0)),
            tag("TTResultFormat_TTTRRecType", 0x10000008, struct.pack("<q", record_type)),
            tag("TTResultFormat_BitsPerRecord", 0x10000008, struct.pack("<q", 32)),
            tag("MeasDesc_GlobalResolution", 0x20000008, struct.pack("<d", resolutions[0])),
            tag("MeasDesc_Resolution", 0x20000008, struct.pack("<d", resolutions[1])),
            tag("TTResult_SyncRate", 0x10000008, struct.pack("<q", SYNC_RATE)),
            tag("TTResult_NumberOfRecords", 0x10000008, struct.pack("<q", records)),
            tag("Header_End", 0xFFFF0008, bytes(8)),
        ]
    )


def early(counters: list[int | None], overflows: list[int], period: int) -> numpy.ndarray:
    """Returns which records belong one period of the counter earlier, by the rule in docs/sources.md."""
    moved = numpy.zeros(len(counters), bool)
    begun = None
    for at, counter in enumerate(counters):
        if overflows[at] > 0:
            begun = at
        if begun is None or counter is None or overflows[at] > 0:
            continue
        near = max(at - 8, 0)
        before = [(place, counters[place]) for place in range(max(begun, near), at) if counters[place] is not None]
        others = [number for number, (_, other) in enumerate(before) if 2 * (other - counter) <= period]
        run = before[others[-1] + 1 :] if others else before
        if not run:
            continue
        certain = 2 * (run[0][1] - before[others[-1]][1]) > period if others else begun >= near
        moved[[place for place, _ in run]] |= certain
    return moved


def decoded(record_type: int, records: numpy.ndarray, *, puts_back: bool = False) -> dict[str, numpy.ndarray]:
    """Returns columns of all events: counter, label, micro time (-1 for none), as arrays of int64.

    `counter` is in ticks in mode T2, and the number of the sync pulse in mode T3. `puts_back` says whether records from
    before an overflow that stand after it are put one period earlier.
    """
    is_t3 = record_type & 0xFF00 == 0x0300
    record = records.astype("i8")
    none = numpy.full(len(record), -1)
    if record_type & 0xFF == 3:
        channel = record >> 28
        if is_t3:
            counter, micro = record & 0xFFFF, record >> 16 & 0xFFF
            wrap = 65_536
            overflow = numpy.where((channel == 15) & (micro == 0), wrap, 0)
            markers = numpy.where((channel == 15) & (micro <= 15), micro, 0)
            label = numpy.where((channel >= 1) & (channel <= 4), channel, -1)
        else:
            counter, micro = record & 0xFFFFFFF, none
            wrap = 210_698_240
            overflow = numpy.where((channel == 15) & (record & 15 == 0), wrap, 0)
            markers = numpy.where(channel == 15, record & 15, 0)
            counter = numpy.where(channel == 15, counter & ~15, counter)
            label = numpy.where(channel <= 4, channel, -1)
    else:
        special, channel = record >> 31, record >> 25 & 63
        if is_t3:
            counter, micro, wrap = record & 0x3FF, record >> 10 & 0x7FFF, 1_024
        else:
            counter, micro = record & 0x1FFFFFF, none
            wrap = 33_552_000 if record_type == 0x00010204 else 33_554_432
        has_count = record_type not in (0x00010204, 0x00010304)
        count = numpy.maximum(counter, 1) if has_count else 1
        overflow = numpy.where((special == 1) & (channel == 63), wrap * count, 0)
        markers = numpy.where((special == 1) & (channel >= 1) & (channel <= 15), channel, 0)
        label = numpy.where(special == 0, channel + 1, -1)
        if not is_t3:
            label = numpy.where((special == 1) & (channel == 0), 0, label)
    is_counted = ((label >= 0) | (markers > 0)) & (record > 0)
    counters = [int(of) if counts else None for of, counts in zip(counter, is_counted, strict=True)]
    counter = counter + numpy.cumsum(overflow)
    if puts_back:
        counter = counter - wrap * early(counters, overflow.tolist(), wrap)
    # A row for the photon and one for each marker, of which some are taken.
    rows = [label] + [numpy.where(markers >> bit & 1, MARKER_LABEL + bit, -1) for bit in range(4)]
    labels = numpy.stack(rows, axis=1)
    is_event = labels >= 0
    micros = numpy.stack([micro] + [none] * 4, axis=1)
    return {
        "counter": numpy.repeat(counter, is_event.sum(axis=1)),
        "label": labels[is_event],
        "micro": micros[is_event],
    }


def ticks_of_pulses(pulses: numpy.ndarray, micro: numpy.ndarray, period_s: tuple[int, int]) -> list[int]:
    """Returns times in ticks: the pulse in ticks, rounded down, plus the micro time."""
    numerator, denominator = period_s
    times = [int(pulse) * numerator // denominator for pulse in pulses]
    return [time + max(int(delay), 0) for time, delay in zip(times, micro, strict=True)]


def edge_records(record_type: int) -> numpy.ndarray:
    """Returns random records, and records at the edges of their fields."""
    random = numpy.random.default_rng(record_type)
    special = 0xF << 28 if record_type & 0xFF == 3 else 1 << 31
    low = random.integers(0, 1 << 25, 20_000)
    photons = low | random.integers(0, 5, 20_000) << (28 if record_type & 0xFF == 3 else 25)
    others = special | random.integers(0, 1 << 28, 2_000)
    overflows = numpy.array([0xFE000000 | count for count in (0, 1, 2, 1_023)] * 100)
    edges = numpy.array([0, 0x3FF, 0x1FFFFFF, 0x7FFFFFFF, 0xF0000000, 0xF00F0000, 0x80000000, 0x9E000001])
    records = numpy.concatenate([photons, others, overflows, edges])
    random.shuffle(records)
    return records.astype("<u4")


@pytest.mark.filterwarnings("ignore:.*beyond the sync period:tagq.TagqWarning")
@pytest.mark.filterwarnings("ignore:.*before the counter of the instrument began again:tagq.TagqWarning")
@pytest.mark.parametrize("record_type", T2_TYPES + T3_TYPES, ids=hex)
def test_every_record_type_is_decoded_as_by_numpy(tmp_path: Path, record_type: int) -> None:
    records = edge_records(record_type)
    path = tmp_path / "a.ptu"
    path.write_bytes(header(record_type, len(records)) + records.tobytes())
    events = decoded(record_type, records, puts_back=True)
    if record_type in T3_TYPES:
        # Period over resolution of 25 ps.
        times = ticks_of_pulses(events["counter"], events["micro"], (40_000_000_000, SYNC_RATE))
        expected = numpy.array(times)
    else:
        expected = events["counter"]
    # Random records are far out of order in time: the order of the file is compared.
    order = numpy.argsort(expected, kind="stable")
    run = tagq.ingest(path)
    assert run.tick == ("25 ps" if record_type in T3_TYPES else "1 ps")
    assert numpy.array_equal(run.time, expected[order])
    assert numpy.array_equal(run.channel, events["label"][order])
    if record_type in T3_TYPES:
        assert run.micro_tick == "25 ps"
        assert numpy.array_equal(micro_of(run), events["micro"][order])
    else:
        assert run.micro_times is None


@pytest.mark.parametrize("record_type", T2_TYPES + T3_TYPES, ids=hex)
def test_numpy_and_ptufile_agree_on_photons(tmp_path: Path, record_type: int) -> None:
    ptufile = pytest.importorskip("ptufile")
    records = edge_records(record_type)
    is_picoharp = record_type & 0xFF == 3
    # Without what ptufile sees in another way: sync events, and channels that do not exist.
    if is_picoharp:
        known = (records >> 28 <= 4) | (records >> 28 == 15)
        known &= (records >> 28 >= 1) if record_type in T3_TYPES else True
    else:
        known = (records >> 31 == 0) | (records >> 25 & 63 == 63)
        known &= (records < 0xFE000080) | (record_type in T3_TYPES)
    records = records[known]
    path = tmp_path / "a.ptu"
    path.write_bytes(header(record_type, len(records)) + records.tobytes())
    events = decoded(record_type, records)
    photons = events["label"] < MARKER_LABEL
    with ptufile.PtuFile(path) as ptu:
        theirs = ptu.decode_records()
    theirs = theirs[theirs["channel"] >= 0]
    assert numpy.array_equal(theirs["time"], events["counter"][photons])
    first = 0 if is_picoharp and record_type in T2_TYPES else 1
    assert numpy.array_equal(theirs["channel"], events["label"][photons] - first)


def micro_of(run: tagq.Run) -> numpy.ndarray:
    """Returns the micro times as int64, -1 for none."""
    assert run.micro_times is not None
    return run.micro_times.astype("i8").filled(-1)


def sha256(values: numpy.ndarray, form: str) -> str:
    return hashlib.sha256(values.astype(form).tobytes()).hexdigest()


@pytest.fixture(scope="session")
def recordings() -> Path:
    folder = os.environ.get("TAGQ_REAL_DATA")
    if folder is None or not Path(folder, "instruments").is_dir():
        pytest.skip("TAGQ_REAL_DATA names no folder with recordings of instruments")
    return Path(folder)


def opened(recordings: Path, name: str, tmp_path: Path) -> tagq.Run:
    path = recordings / "instruments" / name
    copy = tmp_path / name
    shutil.copyfile(path if path.exists() else recordings / name, copy)
    return tagq.ingest(copy)


@pytest.mark.parametrize(
    ("name", "label_of_first", "period"),
    [
        ("hydraharp_v2_t2.ptu", 1, None),
        ("picoharp_t2.ptu", 0, None),
        # 1 / 78.02 MHz over 96.96969697 ps.
        ("picoharp300_t3_image.ptu", 1, (10**20, SYNC_RATE * 9_696_969_697)),
    ],
)
def test_real_ptu_files_have_the_known_contents(
    recordings: Path,
    tmp_path: Path,
    name: str,
    label_of_first: int,
    period: tuple[int, int] | None,
) -> None:
    expected = json.loads((recordings / "instruments/expected.json").read_text())[name]
    run = opened(recordings, name, tmp_path)
    photons = run.channel < MARKER_LABEL
    time, label = run.time[photons], run.channel[photons]
    assert len(time) == expected["photons"]
    counts = {str(n - label_of_first): int(of) for n, of in zip(*numpy.unique(label, return_counts=True), strict=True)}
    assert counts == expected["channels_from_zero"]
    markers = {1 << bit: int((run.channel == MARKER_LABEL + bit).sum()) for bit in range(4)}
    assert {str(bit): of for bit, of in markers.items() if of} == expected["markers"]
    if period is not None:
        column = micro_of(run)
        micro = column[photons]
        assert (column[~photons] == -1).all()
        numerator, denominator = period
        # The number of the pulse comes back from the time in ticks.
        pulses = [-((micro_ - int(t)) * denominator // numerator) for t, micro_ in zip(time, micro.tolist(), strict=True)]
        order = numpy.lexsort((numpy.arange(len(pulses)), numpy.array(pulses)))
        time, label, micro = numpy.array(pulses)[order], label[order], micro[order]
        assert int(micro.max()) == expected["dtime_max"]
    assert (int(time[0]), int(time[-1])) == (expected["time_first"], expected["time_last"])
    assert sha256(time, "<u8") == expected["sha256_time_u64"]
    if period is None:
        assert sha256(label - label_of_first, "u1") == expected["sha256_channel_u8"]


@pytest.mark.filterwarnings(
    "ignore:.*the file was cut:tagq.TagqWarning", "ignore:.*its last tag is at:tagq.TagqWarning"
)
@pytest.mark.parametrize(("version", "unit"), [("v10", 2), ("v20", 1)])
def test_real_files_of_a_hydraharp_have_the_known_photons(
    recordings: Path, tmp_path: Path, version: str, unit: int
) -> None:
    for mode in ("ht2", "ht3"):
        name = f"hydraharp_{version}.{mode}"
        known = numpy.loadtxt(recordings / f"instruments/{name}.data", delimiter=",", dtype="i8")
        run = opened(recordings, name, tmp_path)
        photons = run.channel < MARKER_LABEL
        time, label = run.time[photons], run.channel[photons].astype("i8")
        if mode == "ht2":
            # The reference numbers the sync input after the four inputs, and rounds to picoseconds.
            assert numpy.array_equal(numpy.where(label == 0, 4, label - 1)[: len(known)], known[:, 0])
            assert numpy.array_equal(time[: len(known)] // unit, known[:, 1])
            continue
        micro = micro_of(run)[photons]
        resolution_ps = {"v10": 4, "v20": 16}[version]
        rate = {"v10": 10_004_460, "v20": 998_898}[version]
        numerator, denominator = 10**12, rate * resolution_ps
        pulses = [-((int(d) - int(t)) * denominator // numerator) for t, d in zip(time, micro, strict=True)]
        order = numpy.argsort(pulses, kind="stable")[: len(known)]
        ours = numpy.stack([label[order] - 1, numpy.array(pulses)[order], micro[order] * resolution_ps], axis=1)
        assert numpy.array_equal(ours[numpy.lexsort(ours.T[::-1])], known[numpy.lexsort(known.T[::-1])])


def test_a_ptu_file_needs_no_options(recordings: Path, tmp_path: Path) -> None:
    run = opened(recordings, "picoharp_t2.ptu", tmp_path)
    with pytest.warns(tagq.TagqWarning, match="the light is pulsed"):
        counted = run.coincidences(window="2ns")
    known = json.loads((Path(__file__).parents[3] / "data/validation.json").read_text())
    (question,) = (of for of in known["questions"] if of["id"] == "picoharp-0-1")
    assert pyarrow.table(counted)["count"].to_pylist() == [question["answers"][0]["value"]]


def test_the_lines_of_an_image_are_counted_one_by_one(recordings: Path, tmp_path: Path) -> None:
    run = opened(recordings, "picoharp300_t3_image.ptu", tmp_path)
    lines = run.rates("input1", by="marker1 .. marker2")
    photons = run.time[run.channel == 1]
    starts, ends = (run.time[run.channel == MARKER_LABEL + bit] for bit in (0, 1))
    assert len(starts) == len(ends) == 256 == len(lines["count"])
    # A line ends where the next one starts, and the last one with the last tag.
    assert (starts[1:] == ends[:-1]).all()
    expected = numpy.searchsorted(photons, ends) - numpy.searchsorted(photons, starts)
    assert list(lines["count"]) == expected.tolist()

    # The micro times of each line add up to its photons, and all lines to the whole.
    micro = run.micro("input1", by="marker1 .. marker2", range="0t..140t")
    counts = numpy.array(micro["count"]).reshape(256, -1)
    assert counts.sum(axis=1).tolist() == expected.tolist()
    whole = run.micro("input1", range="0t..140t", to=f"{int(ends[-1] - run.time[0])}t")
    assert counts.sum(axis=0).tolist() == list(whole["count"])
