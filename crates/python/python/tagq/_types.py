"""Types of arguments: channels, durations and delays."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterable, Mapping
    from typing import Any

    import numpy

    Channel = int | str
    #: Channels without a keyword: those of the first keywords of a query, in order, or as one list; groups, as lists.
    Channels = Channel | Iterable[Channel] | Iterable[Iterable[Channel]]
    #: A text with its unit, such as "2ns" or "13t" (whole ticks), or a timedelta. Seconds have keywords of their own.
    Duration = str | datetime.timedelta | numpy.timedelta64
    #: The keys of a mapping are numbers, names, or both: a type of keys is not the type of more keys. What ``delays`` found,
    #: ``query["delays"]``, is a list of dicts.
    Delays = Mapping[int, Duration] | Mapping[str, Duration] | Mapping[Channel, Duration] | Iterable[Mapping[str, Any]]
    DelaysInSeconds = Mapping[int, float] | Mapping[str, float] | Mapping[Channel, float]
