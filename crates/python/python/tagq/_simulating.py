"""Files of simulated detections."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from . import _tagq
from ._durations import text_of
from ._errors import QuestionError, WrongTypeError, unexpected
from ._run import _path

if TYPE_CHECKING:
    from ._requests import Duration


def _text(name: str, value: Any) -> str:
    return text_of(name, value, has_seconds=False)


def simulate(
    out: str | os.PathLike[str],
    *,
    duration: Duration = "1s",
    rate: str = "100kHz",
    channels: Iterable[int] = (1, 2),
    coherent: bool = False,
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
    replace: bool = False,
    **unknown: NoReturn,
) -> int:
    """Writes simulated photon detections to a file named .tags.zst, as ``tagq simulate`` does, and returns the number of
    tags. The same options give the same file.

    duration, start, tick
        Recording time, time of the first recorded tick, and unit of the times.
    rate
        Pairs per second of each pair source; with ``coherent``, photons per second on each detector.
    channels
        Channels of the detectors. Photon pairs go to them two by two.
    coherent
        Laser light instead of photon pairs.
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
    replace
        Whether a file that is there is replaced.
    """
    if unknown:
        raise unexpected("simulate", unknown, simulate.__kwdefaults__ or ())
    for name, text in (("rate", rate), ("tick", tick)):
        if not isinstance(text, str):
            raise WrongTypeError(f"{name}: a text with its unit is wanted, not {type(text).__name__}")
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**64:
        raise WrongTypeError("seed: a whole number from 0 to 2^64 - 1 is wanted")
    labels = list(channels)
    for label in labels:
        if isinstance(label, bool) or not isinstance(label, int) or not 0 <= label <= 65535:
            raise WrongTypeError(f"channels: {label!r} is no channel")
    given = {"efficiency": efficiency, "dark": dark, "jitter": jitter, "dead_time": dead_time, "delays": delays or {}}
    for name, values in given.items():
        if isinstance(values, Mapping) and (other := next((of for of in values if of not in labels), None)) is not None:
            raise QuestionError(f"{name}: {other} is none of the channels")

    def of(name: str, label: int, default: Any) -> Any:
        values = given[name]
        return values.get(label, default) if isinstance(values, Mapping) else values

    def detector(label: int) -> dict[str, Any]:
        probability, counts = of("efficiency", label, 1.0), of("dark", label, "0Hz")
        if isinstance(probability, (bool, str)) or not hasattr(probability, "__float__"):
            raise WrongTypeError("efficiency: a number from 0 to 1 is wanted")
        if not isinstance(counts, str):
            raise WrongTypeError(f"dark: a text with its unit is wanted, as \"1kHz\", not {type(counts).__name__}")
        return {
            "channel": label,
            "efficiency": float(probability),
            "dark": counts,
            "jitter": _text("jitter", of("jitter", label, "0t")),
            "dead_time": _text("dead_time", of("dead_time", label, "0t")),
            "delay": _text("delays", of("delays", label, "0t")),
        }

    options = {
        "duration": _text("duration", duration),
        "tick": tick,
        "start": _text("start", start),
        "seed": seed,
        "rate": rate,
        "coherent": coherent,
        "pulsed": None if pulsed is None else _text("pulsed", pulsed),
        "beam_splitter": beam_splitter,
        "detectors": [detector(label) for label in labels],
    }
    return _tagq.simulate(_path(out, "out"), options, replace)
