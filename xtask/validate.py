"""Answers of other programs to the questions in data/validation.json, as JSON on stdout.

python validate.py FOLDER: the folder has the recordings. Programs that cannot be imported are named as unavailable.
`cargo xtask validate FOLDER --programs PYTHON` runs this and compares its answers with the recorded ones.
"""

import hashlib
import importlib
import io
import json
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

try:
    import numpy
except ImportError:
    sys.exit("needs NumPy, which decodes the recordings")

UQD = "uqd_logic16_500k.tsv.zst"
PICOHARP = "picoharp_t2.ptu"
HYDRAHARP = "instruments/hydraharp_v2_t2.ptu"
IMAGE = "instruments/picoharp300_t3_image.ptu"
BECKER = "instruments/bh_test_noise.spc"
QUTAG_320 = "instruments/qutag_320mhz_hbt.qutag"
QUTAG_80 = "validation/19_qutag_80MHz_HBT_sync_filtered.qutag"

# Questions of coincidences: name, channels, window in ticks.
UQD_PAIRS = [
    (f"uqd-{a}-{b}-{ticks}", a, b, ticks) for ticks in (12, 6400) for a, b in ((3, 15), (3, 16), (15, 16))
]
# The first 128 bins of 1 tick from -64 and of 16 ps from 0.
UQD_BINS = (-64, 65, 1)
QUTAG_BINS = (0, 160_000, 16)

Answers = dict[str, object]


def sha256(values: numpy.ndarray, form: str) -> str:
    return hashlib.sha256(numpy.asarray(values).astype(form).tobytes()).hexdigest()


class Recordings:
    """Tags of the recordings by plain decoders of NumPy."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, name: str) -> str:
        path = self.folder / name
        if not path.exists():
            raise FileNotFoundError(path)
        return str(path)

    def uqd(self) -> dict[int, numpy.ndarray]:
        """Times of each channel, in ticks."""
        text = subprocess.run(["zstd", "-dc", self.path(UQD)], check=True, capture_output=True).stdout
        table = numpy.loadtxt(io.BytesIO(text), dtype="i8")
        return {label: numpy.sort(table[table[:, 0] == label, 1]) for label in (3, 15, 16)}

    def picoharp(self) -> dict[int, numpy.ndarray]:
        """Times of both channels: records of 4 bits of the channel and 28 bits of time."""
        data = Path(self.path(PICOHARP)).read_bytes()
        start = data.index(b"Header_End") + 48
        record = numpy.frombuffer(data[start : start + (len(data) - start) // 4 * 4], "<u4").astype("i8")
        channel, low = record >> 28, record & 0xFFFFFFF
        is_overflow = (channel == 15) & (record & 15 == 0)
        time = low + numpy.cumsum(numpy.where(is_overflow, 210_698_240, 0))
        return {label: time[channel == label] for label in (0, 1)}

    def qutag(self, name: str) -> dict[int, numpy.ndarray]:
        """Times of each channel: a header of 40 bytes, then 8 bytes of time and 2 of the channel."""
        tags = numpy.fromfile(self.path(name), dtype=[("time", "<i8"), ("channel", "<i2")], offset=40)
        return {int(label): tags["time"][tags["channel"] == label] for label in numpy.unique(tags["channel"])}


def differences(start: numpy.ndarray, stop: numpy.ndarray, low: int, high: int, width: int) -> numpy.ndarray:
    """Counts of all differences stop - start in bins from `low` to before `high`."""
    first = numpy.searchsorted(stop, start + low, "left")
    last = numpy.searchsorted(stop, start + high, "left")
    counts = numpy.zeros((high - low) // width, "i8")
    for i in numpy.nonzero(last > first)[0]:
        numpy.add.at(counts, (stop[first[i] : last[i]] - start[i] - low) // width, 1)
    return counts


def pairs(a: numpy.ndarray, b: numpy.ndarray, window: int) -> int:
    """Counts |b - a| <= window."""
    return int((numpy.searchsorted(b, a + window, "right") - numpy.searchsorted(b, a - window, "left")).sum())


def triples(a: numpy.ndarray, b: numpy.ndarray, c: numpy.ndarray, window: int) -> int:
    """Counts triples whose largest difference is at most `window`."""
    count = 0
    for time in c:
        near_a = a[numpy.searchsorted(a, time - window, "left") : numpy.searchsorted(a, time + window, "right")]
        near_b = b[numpy.searchsorted(b, time - window, "left") : numpy.searchsorted(b, time + window, "right")]
        count += int((numpy.abs(near_a[:, None] - near_b[None, :]) <= window).sum())
    return count


def cells(a: numpy.ndarray, b: numpy.ndarray, width: int) -> int:
    """Counts cells of a grid from time 0 in which both channels have a tag."""
    return len(numpy.intersect1d(a // width, b // width))


def strongest_period(times: numpy.ndarray, tick_s: float, low_hz: float, high_hz: float, step_hz: float) -> float:
    """Period with the highest Rayleigh power, summed over pieces of 20 ms, in seconds."""
    seconds = (times - times[0]) * tick_s
    starts = numpy.searchsorted(seconds, numpy.arange(0, seconds[-1], 0.02))
    power = {}
    for frequency in numpy.arange(low_hz, high_hz, step_hz):
        waves = numpy.exp(2j * numpy.pi * frequency * seconds)
        power[frequency] = (numpy.abs(numpy.add.reduceat(waves, starts)) ** 2).sum()
    return float(1 / max(power, key=power.__getitem__))


def last_time(path: str, wrap: int) -> int:
    """Time of the last photon of a file of mode T2 of a HydraHarp V2, with this time for each overflow."""
    data = Path(path).read_bytes()
    start = data.index(b"Header_End") + 48
    record = numpy.frombuffer(data[start : start + (len(data) - start) // 4 * 4], "<u4").astype("i8")
    low = record & 0x1FFFFFF
    overflows = numpy.where(record >> 25 == 127, numpy.maximum(low, 1), 0)
    time = low + numpy.cumsum(overflows) * wrap
    return int(time[record >> 31 == 0][-1])


def by_numpy(of: Recordings) -> Answers:
    uqd, picoharp = of.uqd(), of.picoharp()
    near, far = of.qutag(QUTAG_80), of.qutag(QUTAG_320)
    answers: Answers = {f"uqd-singles-{label}": len(times) for label, times in uqd.items()}
    for name, a, b, ticks in UQD_PAIRS:
        answers[name] = pairs(uqd[a], uqd[b], ticks)
    for a, b in ((3, 15), (3, 16), (15, 16)):
        answers[f"uqd-grid-{a}-{b}"] = cells(uqd[a], uqd[b], 13)
    answers["uqd-triples"] = triples(uqd[3], uqd[15], uqd[16], 6400)
    answers |= {f"uqd-3-15-{ticks}": pairs(uqd[3], uqd[15], ticks) for ticks in (11, 6399)}
    # The largest windows of 2 w + 1 ticks within 12.8 and 6,400 ticks.
    answers["uqd-full-width-2ns"] = pairs(uqd[3], uqd[15], 5)
    answers["uqd-full-width-1us"] = pairs(uqd[3], uqd[15], 3199)
    answers["uqd-after"] = int(differences(uqd[3], uqd[15], 0, 6400, 6400)[0])
    answers["uqd-one-bin"] = int(differences(uqd[3], uqd[15], -12, 12, 24)[0])
    answers["uqd-delayed"] = pairs(uqd[3], uqd[15] - 26, 12)
    answers["uqd-peak"] = pairs(uqd[3], uqd[15] - 25, 12)
    answers["uqd-histogram"] = differences(uqd[3], uqd[15], *UQD_BINS).tolist()
    after = numpy.searchsorted(uqd[15], uqd[3], "left")
    has_stop = after < len(uqd[15])
    first = uqd[15][after[has_stop]] - uqd[3][has_stop]
    answers["uqd-start-stop"] = int((first < 6400).sum())
    answers["picoharp-0-1"] = pairs(picoharp[0], picoharp[1], 500)
    answers["picoharp-grid"] = cells(picoharp[0], picoharp[1], 500)
    answers["picoharp-converted"] = answers["picoharp-0-1"]
    all_times = numpy.sort(numpy.concatenate([picoharp[0], picoharp[1]]))
    answers["picoharp-period"] = strongest_period(all_times, 4e-12, 79.748e6, 79.753e6, 25)
    answers["qutag-320-times"] = sha256(numpy.sort(numpy.concatenate(list(far.values()))), "<i8")
    answers["hydraharp-last"] = last_time(of.path(HYDRAHARP), 33_554_432)
    answers |= {f"qutag-320-singles-{label}": len(far[label]) for label in (1, 2, 5)}
    for name, tags in (("qutag-80", near), ("qutag-320", far)):
        answers[f"{name}-1-2"] = differences(tags[1], tags[2], *QUTAG_BINS).tolist()
        answers[f"{name}-2-1"] = differences(tags[2], tags[1], *QUTAG_BINS).tolist()
    return answers


def by_numpy_histogram(of: Recordings) -> Answers:
    """`numpy.histogram` of all differences near 0."""
    uqd = of.uqd()
    near: list[int] = []
    for time in uqd[3]:
        first, last = numpy.searchsorted(uqd[15], [time - 12, time + 13])
        near.extend(uqd[15][first:last] - time)
    return {"uqd-one-bin": int(numpy.histogram(near, [-12, 12])[0][0])}


def by_wrap_of_libpicoquant(of: Recordings) -> Answers:
    """The library is not run: its constant `HH_T2_OVERFLOW` is applied to the records."""
    return {"hydraharp-last": last_time(of.path(HYDRAHARP), 33_552_000)}


def by_numba(of: Recordings) -> Answers:
    numba = importlib.import_module("numba")

    @numba.njit
    def loop(a: numpy.ndarray, b: numpy.ndarray, window: int) -> int:
        count, first = 0, 0
        for i in range(len(a)):
            while first < len(b) and b[first] < a[i] - window:
                first += 1
            k = first
            while k < len(b) and b[k] <= a[i] + window:
                count += 1
                k += 1
        return count

    uqd, picoharp = of.uqd(), of.picoharp()
    answers: Answers = {name: int(loop(uqd[a], uqd[b], ticks)) for name, a, b, ticks in UQD_PAIRS}
    answers["picoharp-0-1"] = int(loop(picoharp[0], picoharp[1], 500))
    return answers


def by_ptufile(of: Recordings) -> Answers:
    ptufile = importlib.import_module("ptufile")
    answers: Answers = {}
    for short, name in (("picoharp", PICOHARP), ("hydraharp", HYDRAHARP), ("image", IMAGE)):
        with ptufile.PtuFile(of.path(name)) as ptu:
            records = ptu.decode_records()
        photons = records[records["channel"] >= 0]
        answers[f"{short}-photons"] = len(photons)
        answers[f"{short}-times"] = sha256(photons["time"], "<u8")
        if short == "image":
            answers["image-micro-times"] = sha256(photons["dtime"], "<u2")
            markers = records[records["marker"] > 0]
            answers["image-markers"] = len(markers)
            answers["image-marker-times"] = sha256(markers["time"], "<u8")
        else:
            answers[f"{short}-channels"] = sha256(photons["channel"], "u1")
    return answers


def by_tttrlib(of: Recordings) -> Answers:
    tttrlib = importlib.import_module("tttrlib")
    answers: Answers = {}
    for short, name in (("picoharp", PICOHARP), ("hydraharp", HYDRAHARP)):
        data = tttrlib.TTTR(of.path(name))
        answers[f"{short}-photons"] = len(data.macro_times)
        answers[f"{short}-times"] = sha256(data.macro_times, "<u8")
        answers[f"{short}-channels"] = sha256(data.routing_channels, "u1")
    image = tttrlib.TTTR(of.path(IMAGE))
    is_marker = image.routing_channels == 15
    answers["image-times"] = sha256(image.macro_times[~is_marker], "<u8")
    answers["image-micro-times"] = sha256(image.micro_times[~is_marker], "<u2")
    answers["image-markers"] = int(is_marker.sum())
    answers["image-photons"] = int((image.event_types == 0).sum())
    becker = tttrlib.TTTR(of.path(BECKER), "SPC-130")
    answers["becker-times"] = becker.macro_times.tolist()
    answers["becker-micro-times"] = becker.micro_times.tolist()
    answers["becker-resolution"] = becker.header.micro_time_resolution * 1e12
    for version_of_file in ("v10", "v20"):
        legacy = tttrlib.TTTR(of.path(f"instruments/hydraharp_{version_of_file}.ht3"), "HT3")
        resolution_ps = round(legacy.header.micro_time_resolution * 1e12)
        columns = (legacy.routing_channels, legacy.macro_times, legacy.micro_times.astype("i8") * resolution_ps)
        rows = numpy.stack(columns, axis=1).astype("i8")
        answers[f"legacy-{version_of_file}-t3"] = rows.ravel().tolist()
    return answers


def by_tomtag(of: Recordings) -> Answers:
    tomtag = importlib.import_module("tomtag")
    uqd, picoharp = of.uqd(), of.picoharp()

    def count(a: numpy.ndarray, b: numpy.ndarray, window: int) -> int:
        return int(tomtag.count_twofolds(a, b, len(a), len(b), window))

    answers: Answers = {name: count(uqd[a], uqd[b], ticks) for name, a, b, ticks in UQD_PAIRS}
    answers["picoharp-0-1"] = count(picoharp[0], picoharp[1], 500)
    for a, b in ((3, 15), (3, 16), (15, 16)):
        answers[f"uqd-once-{a}-{b}"] = count(uqd[a], uqd[b], 12)
    three = (uqd[3], uqd[15], uqd[16])
    answers["uqd-triples"] = len(tomtag.get_threefold_tags(*three, *map(len, three), 6400)[0])
    return answers


def by_pycorrelate(of: Recordings) -> Answers:
    pycorrelate = importlib.import_module("pycorrelate")
    uqd, picoharp = of.uqd(), of.picoharp()

    def count(a: numpy.ndarray, b: numpy.ndarray, edges: numpy.ndarray) -> numpy.ndarray:
        # The program divides the counts by the widths of the bins.
        per_tick = pycorrelate.pcorrelate(a, b, edges)
        return numpy.rint(per_tick * numpy.diff(edges)).astype("i8")

    edges = numpy.arange(UQD_BINS[0], UQD_BINS[1] + 1)
    answers: Answers = {"uqd-histogram": count(uqd[3], uqd[15], edges).tolist()}
    for name, a, b, ticks in UQD_PAIRS:
        answers[name] = int(count(uqd[a], uqd[b], numpy.array([-ticks, ticks + 1]))[0])
    answers["picoharp-0-1"] = int(count(picoharp[0], picoharp[1], numpy.array([-500, 501]))[0])
    return answers


def by_pytimetag(of: Recordings) -> Answers:
    analysers = importlib.import_module("pytimetag.analysers.HistogramAnalyser")
    blocks = importlib.import_module("pytimetag.datablock")
    uqd = of.uqd()

    def count(a: numpy.ndarray, b: numpy.ndarray, low: int, high: int, bins: int) -> list[int]:
        begin, end = min(a[0], b[0]), max(a[-1], b[-1]) + 1
        block = blocks.DataBlock.create([a, b], 0, int(begin), int(end))
        analyser = analysers.HistogramAnalyser(2)
        analyser.turnOn({"Sync": 0, "Signals": [1], "ViewStart": low, "ViewStop": high, "BinCount": bins, "Divide": 1})
        return [int(n) for n in analyser.dataIncome(block)["Histograms"][0]]

    answers: Answers = {"uqd-histogram": count(uqd[3], uqd[15], *UQD_BINS[:2], UQD_BINS[1] - UQD_BINS[0])}
    answers["uqd-one-bin"] = count(uqd[3], uqd[15], -12, 12, 1)[0]
    for name, a, b, ticks in UQD_PAIRS:
        answers[name] = sum(count(uqd[a], uqd[b], -ticks, ticks, 8))
    return answers


def by_phconvert(of: Recordings) -> Answers:
    pq, bh = (importlib.import_module(f"phconvert.{name}") for name in ("pqreader", "bhreader"))
    answers: Answers = {}
    for short, name in (("picoharp", PICOHARP), ("hydraharp", HYDRAHARP)):
        times, detectors = pq.load_ptu(of.path(name))[:2]
        answers[f"{short}-photons"] = len(times)
        answers[f"{short}-times"] = sha256(times, "<u8")
        answers[f"{short}-channels"] = sha256(detectors, "u1")
    photons = bh.load_spc(of.path(BECKER))["photon_data"]
    answers["becker-times"] = photons["timestamps"].tolist()
    answers["becker-micro-times"] = photons["nanotimes"].tolist()
    return answers


def by_eta(of: Recordings) -> Answers:
    eta = importlib.import_module("etabackend.eta")
    clips = importlib.import_module("etabackend.clip")
    recipes = Path(eta.__file__).parent / "static/recipes"
    engine = eta.ETA()
    # 10,000 bins of 16 ps from 0; h4 starts at channel 1, h3 at channel 2.
    engine.load_recipe(json.loads((recipes / "Correlation-qutag.eta").read_text(encoding="utf-8")))
    answers: Answers = {}
    for short, name in (("qutag-80", QUTAG_80), ("qutag-320", QUTAG_320)):
        counted = engine.run({"timetagger1": engine.clips(of.path(name))}, group="quTAG")
        answers[f"{short}-1-2"] = [int(n) for n in counted["h4"]]
        answers[f"{short}-2-1"] = [int(n) for n in counted["h3"]]
    clip = clips.Clip()
    clip.parse_header(of.path(IMAGE), -1)
    answers["image-period"] = clip.TTRes_pspr
    answers["image-resolution"] = clip.DTRes_pspr
    return answers


# Name as in data/validation.json, package, answers.
PROGRAMS: list[tuple[str, str, Callable[[Recordings], Answers]]] = [
    ("NumPy", "numpy", by_numpy),
    ("numpy.histogram", "numpy", by_numpy_histogram),
    ("libpicoquant, by its source", "numpy", by_wrap_of_libpicoquant),
    ("Numba", "numba", by_numba),
    ("ptufile", "ptufile", by_ptufile),
    ("tttrlib", "tttrlib", by_tttrlib),
    ("tomtag", "tomtag", by_tomtag),
    ("pycorrelate", "pycorrelate", by_pycorrelate),
    ("PyTimeTag", "pytimetag", by_pytimetag),
    ("phconvert", "phconvert", by_phconvert),
    ("ETA", "etabackend", by_eta),
]


def main() -> None:
    recordings = Recordings(Path(sys.argv[1]))
    found: dict[str, dict[str, object]] = {}
    for name, package, answers in PROGRAMS:
        try:
            importlib.import_module(package)
        except ImportError as error:
            found[name] = {"unavailable": str(error)}
            continue
        try:
            found[name] = {"version": version(package), "answers": answers(recordings)}
        except Exception as error:  # The other programs are still asked.
            found[name] = {"version": version(package), "failed": f"{type(error).__name__}: {error}"}
    json.dump(found, sys.stdout)


main()
