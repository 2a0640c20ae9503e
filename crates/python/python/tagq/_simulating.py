"""Files of simulated detections."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from . import _tagq
from ._durations import text_of
from ._errors import QuestionError, WrongTypeError, unexpected
from ._paths import path_of as _path

if TYPE_CHECKING:
    from ._types import Duration


def simulate(
    out: str | os.PathLike[str],
    *,
    duration: Duration | None = None,
    rate: str = "100kHz",
    channels: int | Iterable[int] = (1, 2),
    coherent: bool = False,
    emitter: Duration | None = None,
    fluorescence: Duration | Mapping[Duration, float] | None = None,
    scan: tuple[int, int] | tuple[int, int, int] | None = None,
    dwell: Duration | None = None,
    two_way: bool = False,
    sine: float | None = None,
    disc: Duration | Mapping[Duration, float] | None = None,
    disc_rate: str | None = None,
    pulsed: Duration | None = None,
    clock: int | None = None,
    clock_divider: int | None = None,
    beam_splitter: bool = False,
    efficiency: float | Mapping[int, float] = 1.0,
    dark: str | Mapping[int, str] = "0Hz",
    jitter: Duration | Mapping[int, Duration] = "0t",
    dead_time: Duration | Mapping[int, Duration] = "0t",
    delays: Mapping[int, Duration] | None = None,
    start: Duration = "0t",
    tick: str = "156.25ps",
    seed: int = 1,
    frames: int = 1,
    checksum: bool = False,
    files: int | None = None,
    gap: Duration = "1s",
    live: str | None = None,
    late: Duration | None = None,
    faults: bool = False,
    replace: bool = False,
    long: bool = False,
    **unknown: NoReturn,
) -> int:
    """Writes simulated photon detections, as ``tagq simulate`` does, and returns the number of tags. The name selects the
    format, as in ``tagq.convert``: .tags.zst is that of a recorder. The same options give the same file.

    duration, start, tick
        Recording time of each file (1 s, or that of a scan, by default), time of the first recorded tick, and unit of the
        times.
    rate
        Pairs per second of each pair source; with ``coherent``, photons per second on each detector or on the
        beam splitter; with ``emitter``, on all detectors together; with ``fluorescence``, on each detector.
    channels
        Channels of the detectors. Photon pairs go to them two by two.
    coherent
        Laser light instead of photon pairs.
    emitter
        One quantum emitter with this lifetime, excited by the pulses of ``pulsed``: at most one photon a pulse; ``rate`` is that
        of its photons, which the channels share.
    fluorescence
        Fluorescence with this lifetime after the pulses of ``pulsed``, or a dict of lifetimes with the part of the photons of
        each. ``jitter`` and ``delays`` are the width and the place of the instrument's response.
    scan, dwell, two_way, sine
        Scan a sample, a disc on a background: pixels, lines and frames; the time of a pixel (10 µs by default), rounded to whole
        pulses; whether every other line runs backwards; and the percentage of the amplitude of a sine that a line covers. The
        markers of lines, ends of lines and frames are channels 101, 102 and 103. A .ptu has mode T3.
    disc, disc_rate
        Of a scan: lifetimes and photons per second in the disc; those of the background by default.
    pulsed
        Emit light only in pulses, one each period.
    clock, clock_divider
        Channel on which the pulses of ``pulsed`` are recorded, and of how many pulses one is.
    beam_splitter
        One source: a herald on the first channel, its partner on the second or third; with ``coherent`` one beam that all
        channels share.
    efficiency, dark, jitter, dead_time
        Probability that a photon is detected, dark counts per second, standard deviation of the detection time, and time
        after a detection without another one: for all channels, or a dict of some.
    delays
        Added to the photons of a channel.
    seed
        Seed of the random numbers.
    frames, checksum
        Of a .tags.zst: the number of frames in each file, and whether each has a checksum.
    files, gap
        Write so many files into the folder ``out``, recorded one after another with this time between them.
    live
        Append a frame to a .tags.zst every 250 ms, as a recorder does, with this many tags per second. The call ends
        with the recording; Ctrl-C ends it earlier.
    late, faults
        With ``live``: some tags come up to this time late; empty frames, frames in pieces, and a recorder that stops at
        times and continues with another file in the folder ``out``.
    replace
        Whether files that are there are replaced.
    long
        Whether a simulation is made that is estimated to take longer than a day.
    """
    if unknown:
        raise unexpected("simulate", unknown, simulate.__kwdefaults__ or ())
    options: list[tuple[str, str]] = []
    for name, text, example in (("rate", rate, "100kHz"), ("tick", tick, "156.25ps"), ("live", live, "1MHz"), ("disc_rate", disc_rate, "1MHz")):
        if text is not None:
            options.append((name, _text(name, text, example)))
    for name, number in (("seed", seed), ("frames", frames), ("files", files), ("clock_divider", clock_divider)):
        if number is not None:
            if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 2**64:
                raise WrongTypeError(f"{name}: a whole number from 0 to 2^64 - 1 is wanted, not {number!r}")
            options.append((name, str(number)))
    flags = {"coherent": coherent, "beam_splitter": beam_splitter, "checksum": checksum, "faults": faults, "two_way": two_way}
    flags |= {"force": replace, "long": long}
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise WrongTypeError(f"{name.replace('force', 'replace')}: True or False is wanted, not {flag!r}")
        options.append((name, str(flag).lower()))
    durations = {"duration": duration, "start": start, "gap": gap, "emitter": emitter, "pulsed": pulsed, "late": late}
    durations |= {"dwell": dwell}
    options += [(name, _duration(name, of)) for name, of in durations.items() if of is not None]
    for name, lifetimes in (("fluorescence", fluorescence), ("disc", disc)):
        if lifetimes is not None:
            parts = lifetimes if isinstance(lifetimes, Mapping) else {lifetimes: 1.0}
            options += [(name, f"{_duration(name, of)}={float(part)!r}") for of, part in parts.items()]
    if scan is not None:
        options.append(("scan", "x".join(map(str, scan))))
    if sine is not None:
        options.append(("sine", repr(float(sine))))
    if clock is not None:
        options.append(("clock", str(_label(clock))))
    labels = _labels(channels)
    options += [("channels", str(label)) for label in labels]
    for name, values, text_of_value in (
        ("efficiency", efficiency, _efficiency),
        ("dark", dark, _rate),
        ("jitter", jitter, _duration),
        ("dead_time", dead_time, _duration),
        ("delays", delays, _duration),
    ):
        if isinstance(values, Mapping):
            for label, value in values.items():
                if label not in labels:
                    raise QuestionError(f"{name}: {label} is none of the channels {', '.join(map(str, labels))}")
                options.append((name, f"{label}={text_of_value(name, value)}"))
        elif name == "delays" and values is not None:
            raise WrongTypeError(f'delays: a dict is wanted, as {{2: "5ns"}}, not {type(values).__name__}')
        elif values is not None:
            options.append((name, text_of_value(name, values)))
    return _tagq.simulate(_path(out, "out"), options)


def _labels(channels: object) -> list[int]:
    given = list(channels) if isinstance(channels, Iterable) and not isinstance(channels, str) else [channels]
    return [_label(label) for label in given]


def _label(label: Any) -> int:
    try:
        number = -1 if isinstance(label, bool) else operator.index(label)
    except TypeError:
        number = -1
    if not 0 <= number <= 65535:
        raise WrongTypeError(f"channels: {label!r} is no channel; channels are whole numbers from 0 to 65535")
    return number


def _text(name: str, value: object, example: str) -> str:
    if not isinstance(value, str):
        raise WrongTypeError(f'{name}: a text with its unit is wanted, as "{example}", not {type(value).__name__}')
    return value


def _rate(name: str, value: object) -> str:
    return _text(name, value, "1kHz")


def _duration(name: str, value: Any) -> str:
    return text_of(name, value, has_seconds=False)


def _efficiency(name: str, value: Any) -> str:
    if isinstance(value, (bool, str)) or not hasattr(value, "__float__"):
        raise WrongTypeError(f"{name}: a number from 0 to 1 is wanted, not {type(value).__name__}")
    return repr(float(value))
