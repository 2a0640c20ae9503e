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
    duration: Duration = "1s",
    rate: str = "100kHz",
    channels: int | Iterable[int] = (1, 2),
    coherent: bool = False,
    emitter: Duration | None = None,
    pulsed: Duration | None = None,
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
        Recording time of each file, time of the first recorded tick, and unit of the times.
    rate
        Pairs per second of each pair source; with ``coherent``, photons per second on each detector or on the
        beam splitter; with ``emitter``, on all detectors together.
    channels
        Channels of the detectors. Photon pairs go to them two by two.
    coherent
        Laser light instead of photon pairs.
    emitter
        One quantum emitter with this lifetime, excited by the pulses of ``pulsed``: at most one photon a pulse; ``rate`` is that
        of its photons, which the channels share.
    pulsed
        Emit light only in pulses, one each period.
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
    for name, text, example in (("rate", rate, "100kHz"), ("tick", tick, "156.25ps"), ("live", live, "1MHz")):
        if text is not None:
            options.append((name, _text(name, text, example)))
    for name, number in (("seed", seed), ("frames", frames), ("files", files)):
        if number is not None:
            if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 2**64:
                raise WrongTypeError(f"{name}: a whole number from 0 to 2^64 - 1 is wanted, not {number!r}")
            options.append((name, str(number)))
    flags = {"coherent": coherent, "beam_splitter": beam_splitter, "checksum": checksum, "faults": faults}
    flags |= {"force": replace, "long": long}
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise WrongTypeError(f"{name.replace('force', 'replace')}: True or False is wanted, not {flag!r}")
        options.append((name, str(flag).lower()))
    durations = {"duration": duration, "start": start, "gap": gap, "emitter": emitter, "pulsed": pulsed, "late": late}
    options += [(name, _duration(name, of)) for name, of in durations.items() if of is not None]
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
