"""A store that a program writes while it records."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NoReturn

from . import _tagq
from ._durations import text_of_either
from ._errors import QuestionError, unexpected
from ._making import _append, _check_tick, _delays_of, _whole
from ._paths import path_of as _path

if TYPE_CHECKING:
    from ._making import Array
    from ._types import Duration


class Recorder:
    """Writes tags to a store while they are recorded, so that queries, also of other processes, follow them::

        with tagq.Recorder("live.tagq", "1ps") as recorder:
            while measuring:
                recorder.append(time, channel)

    The store is there at once, and ``tagq.open`` and ``Run.watch`` show its commits. A call of ``append`` commits if
    the last commit is ``every`` or longer ago; ``close``, the end of ``with`` and ``commit`` commit the rest. A commit
    is durable; tags that no commit has are lost if the process ends. If the store exists, the recorder continues it,
    and the time between the two recordings is no live time. Until it is closed, no other process writes the store.

    path
        Folder of the store.
    tick
        Unit of the times, such as "1ps".
    micro_tick
        Unit of micro times, such as "4ps" [default: unknown].
    every, every_s
        Shortest time between two commits; "0s" commits each call.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        tick: str,
        *,
        micro_tick: str | None = None,
        every: Duration | None = None,
        every_s: float | None = None,
        **unknown: NoReturn,
    ) -> None:
        if unknown:
            raise unexpected("Recorder", unknown, ("micro_tick", "every", "every_s"))
        _check_tick(tick)
        if micro_tick is not None:
            _check_tick(micro_tick, "micro_tick")
        self._path = _path(path)
        wait = text_of_either("every", every, every_s)
        self._recorder = _tagq.Recorder(self._path, tick, micro_tick, "1s" if wait is None else wait)

    @property
    def path(self) -> str:
        """The folder of the store."""
        return self._path

    @property
    def uncommitted(self) -> int:
        """The number of tags since the last commit."""
        return self._recorder.uncommitted()

    def append(self, time: Array, channel: Array, micro: Array | None = None) -> None:
        """Appends tags: arrays of whole numbers of the same length, as in ``tagq.from_arrays``.

        Times are in order, and not before the last one that was appended: a call with others raises
        ``QuestionError``, appends nothing, and leaves the recorder as it was. Sort what a device delivers out of order
        before (``numpy.argsort(time, kind="stable")``), and hold back what later calls may still precede.
        """
        times = _whole("time", time, -(2**63), 2**63 - 1)
        channels = _whole("channel", channel, 0, 65535)
        if len(times) != len(channels):
            raise QuestionError(f"channel: {len(channels)} channels for {len(times)} times; a tag has one of each")
        if len(times) > 1 and (times[1:] < times[:-1]).any():
            row = int((times[1:] < times[:-1]).argmax()) + 1
            raise QuestionError(
                f"time: row {row} is {times[row]}, before {times[row - 1]}; sort them first, as by "
                f'numpy.argsort(time, kind="stable")'
            )
        _append(self._recorder, times, channels, _delays_of(micro, times))

    def commit(self) -> None:
        """Makes the tags so far durable and visible."""
        self._recorder.commit()

    @property
    def closed(self) -> bool:
        """Whether the recorder is closed."""
        return self._recorder.is_closed()

    def close(self) -> None:
        """Commits, and gives the store back to other writers."""
        self._recorder.close()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else f"{self.uncommitted:,} tags since the last commit"
        return f"tagq.Recorder {_tagq.escaped(self._path)}: {state}"
