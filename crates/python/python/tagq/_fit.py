"""Fits of models to the answers of queries."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from ._fit_options import given
from ._requests import with_channels
from ._result import Result

if TYPE_CHECKING:
    from . import _tagq
    from ._fit_options import Values
    from ._types import Channel, Channels, Duration


class Fits:
    """Fits of the answers of a run, or of the sum of several runs."""

    _fit: Callable[[tuple[str, dict[str, Any]], str, dict[str, Any]], _tagq.Answer]

    def fit(
        self,
        model: Literal["decay", "g2", "fcs", "dip", "sin", "peak"],
        query: str,
        *channels: Channels,
        exponentials: int | Literal["auto"] | None = None,
        irf: str | os.PathLike[str] | None = None,
        irf_channel: Channel | None = None,
        pulse_period: Duration | None = None,
        pile_up: Literal["corrected", "ignored"] | None = None,
        emission: Literal["two-level", "three-level", "bunching"] | None = None,
        jitter: Duration | None = None,
        components: int | None = None,
        triplet: bool | None = None,
        waist: str | None = None,
        shape: Literal["gaussian", "triangle"] | None = None,
        between: str | tuple[str, str] | None = None,
        fix: Values | None = None,
        guess: Values | None = None,
        intervals: Literal["near-bounds", "profile"] | None = None,
        methods: bool | None = None,
        **words: Any,
    ) -> Result:
        """Answers a query and fits a model to it: ``run.fit("decay", "micro", 1, between="3ns..40ns")``.

        ``query`` is the name of a query that has one value for each bin (``micro``, ``histogram``, ``g2``, ``rates`` and
        ``coincidences`` with ``bin``, ``image`` with ``mask``: the decay of each region), ``channels`` are its channels, and further keywords its options. The result has one row
        for each channel, group or region: the parameters with their standard errors (``tau_s``, ``tau_s_err``), times in seconds, and
        the deviance. Its figure shows the curve and the residuals. docs/estimates.md, section "Fits", has the formulas.

        - ``exponentials``, ``irf``, ``irf_channel``, ``pulse_period``, ``pile_up``: of a decay. ``irf`` is a run, a text file with one
          count a bin, ``"auto"`` (a Gaussian at the rise, whose ``centre_s`` and ``fwhm_s`` are fitted, too) or ``"tail"`` (only photons
          after it are used); ``irf_channel`` a channel of the same run, or of ``irf``. With ``image``, they are those of the fit.
        - ``emission``, ``jitter``: of g2. ``jitter`` is the standard deviation of a time difference.
        - ``components``, ``triplet``, ``waist``: of FCS; ``waist`` is a length, ``"250nm"``.
        - ``shape``: of a dip.
        - ``between``: the fitted range; ``fix`` and ``guess``: values of parameters by name, ``{"tau": "2.3ns"}``.
        - ``intervals="profile"``: intervals of all parameters (``tau_s_low``, ``tau_s_high``); ``methods``: a note describes the fit.

        Raises ``tagq.QuestionError`` for options that do not fit the model, and ``tagq.TagqError`` if the counts determine
        no parameters."""
        options = given(dict(locals()))
        return Result(self._fit((model, options), query, with_channels(query, channels, words)))
