"""Figures that follow a recording, in a notebook."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _tagq
from ._errors import ClosedError, MissingLibraryError, QuestionError
from ._result import PLAIN, Result

if TYPE_CHECKING:
    import anywidget


#: The shortest time in seconds between two figures that are sent to a notebook.
EVERY_S = 0.2
HERE = Path(__file__).parent


class Live:
    """A figure of a query that follows a recording; ``Run.live`` makes one.

    A notebook shows it as a widget, or as a picture of the newest result where anywidget is missing. ``stop()``, the end
    of a ``with`` block or closing the widget ends it; the last figure stays.
    """

    def __init__(self, run: _tagq.Run, ask: Callable[[], Result], follower: _tagq.Follower) -> None:
        self._run, self._ask, self._follower = run, ask, follower
        self._widget: anywidget.AnyWidget | None = None
        self._is_stopped = threading.Event()
        self._error: BaseException | None = None
        try:
            if not follower.next(run):
                raise QuestionError("timeout: there was no answer before it")
            self._result = ask()
        except BaseException:
            self._close()
            raise
        self._thread = threading.Thread(target=self._follow, name="tagq live figure", daemon=True)
        self._thread.start()

    @property
    def result(self) -> Result:
        """The newest result."""
        return self._result

    @property
    def is_running(self) -> bool:
        """Whether the figure still follows the recording."""
        return self._thread.is_alive()

    @property
    def error(self) -> BaseException | None:
        """The error that ended it, if one did."""
        return self._error

    @property
    def widget(self) -> anywidget.AnyWidget:
        """The widget, for layouts of ipywidgets."""
        if self._widget is None:
            try:
                self._widget = _widget_class()(self)
            except ImportError:
                raise MissingLibraryError("a live widget wants anywidget: pip install tagq[jupyter]") from None
        return self._widget

    def stop(self) -> None:
        """Stops following. The last figure and its result stay."""
        self._is_stopped.set()
        self._follower.close()
        if self._thread is not threading.current_thread():
            self._thread.join()

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        state = "follows the recording" if self.is_running else "stopped"
        return f"tagq.Live ({state}): {_tagq.escaped(self._result.header)}"

    def _repr_html_(self) -> str:
        return self._result._answer.svg(PLAIN)

    def _repr_mimebundle_(self, **options: Any) -> Any:
        try:
            widget = self.widget
        except MissingLibraryError:
            return {"text/html": self._repr_html_(), "text/plain": repr(self)}
        shown = widget._repr_mimebundle_(**options)
        # A page that was saved without its widgets has the picture.
        data = shown[0] if isinstance(shown, tuple) else shown
        return {**(data or {}), "text/html": self._repr_html_(), "text/plain": repr(self)}

    def _follow(self) -> None:
        """Shows each new answer, until it is stopped."""
        try:
            # Commits that come in between are in the next answer.
            while not self._is_stopped.wait(EVERY_S) and self._follower.next(self._run):
                self._result = self._ask()
                self._show()
        except ClosedError as error:
            # Closing the follower in the middle of a call is a way to stop.
            self._error = None if self._is_stopped.is_set() else error
        except Exception as error:
            self._error = error
        finally:
            self._close()
            self._show()

    def _show(self) -> None:
        """Gives the newest figure to the widget, if there is one."""
        if self._widget is not None:
            self._widget.set_trait("figure", self._figure())
            self._widget.set_trait("state", self._state())

    def _figure(self) -> str:
        return self._result._answer.figure(PLAIN)

    def _state(self) -> str:
        if self._error is not None:
            return str(self._error)
        return "stopped" if self._is_stopped.is_set() else ""

    def _close(self) -> None:
        self._is_stopped.set()
        self._follower.close()
        self._run.close()


@functools.cache
def _widget_class() -> Callable[[Live], anywidget.AnyWidget]:
    """Returns the class of widgets, which needs a library that not everybody has."""
    import anywidget
    import traitlets

    class LiveWidget(anywidget.AnyWidget):
        """The figure as JSON, and why it ended."""

        _esm = HERE / "_live.js"
        _css = HERE / "_live.css"
        figure = traitlets.Unicode().tag(sync=True)
        state = traitlets.Unicode().tag(sync=True)

        def __init__(self, live: Live) -> None:
            super().__init__(figure=live._figure(), state=live._state())
            self._live = live

        def close(self) -> None:
            """Closes the widget and stops its figure."""
            super().close()
            self._live._is_stopped.set()
            self._live._follower.close()

    return LiveWidget
