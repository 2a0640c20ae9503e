"""Fits of decays, g2, dips, fringes and peaks: compared with SciPy, with plain NumPy and with light of known truth."""

from __future__ import annotations

import json
import math
import pickle
import warnings
from pathlib import Path

import numpy
import pytest
import scipy.optimize

import tagq
from conftest import cli_json
from tagq import _tagq
from tagq._fit_options import OPTIONS

#: Ticks of common instruments, of a recorder, and of a file of mode T3.
TICKS = ("1ps", "156.25ps", "96.97ps")
PERIOD = 250


def micro_run(seed: int, photons: int, taus: list[tuple[float, float]], store: Path | None = None) -> tagq.Run:
    """A run whose channel 1 has decays after a detector with jitter, and channel 2 the response of the detector. Times in
    units of micro times."""
    random = numpy.random.default_rng(seed)

    def response(count: int) -> numpy.ndarray:
        return random.normal(30, 2, count) + random.exponential(4, count) * (random.random(count) < 0.3)

    chosen = random.choice([tau for _, tau in taus], photons, p=[part for part, _ in taus])
    decay = (response(photons) + random.exponential(chosen)) % PERIOD
    background = random.uniform(0, PERIOD, photons // 50)
    pulse = response(200_000) % PERIOD
    micro = numpy.concatenate([decay, background, pulse])
    channel = numpy.repeat([1, 2], [len(decay) + len(background), len(pulse)])
    order = random.permutation(len(micro))
    # One photon in 30 pulses.
    times = numpy.arange(len(micro)) * 375_000
    return tagq.from_arrays(
        times, channel[order].astype("u2"), tick="1ps", micro=micro[order].astype("u2"), micro_tick="50ps", store=store
    )


def convolved(shares: numpy.ndarray, tau: float, period: int) -> numpy.ndarray:
    """The decay after a response, summed over 60 periods. Each eighth of a bin has a constant density, so that the shares up to
    an edge are a cubic through those at four edges."""
    sums = numpy.concatenate([[0.0], numpy.cumsum(shares)])
    sums = numpy.concatenate([[0.0], sums, [sums[-1]]])
    x = numpy.arange(8)[:, None] / 8
    before, first, second, after = sums[:-3], sums[1:-2], sums[2:-1], sums[3:]
    slopes = ((second - before) / 2, (after - first) / 2)
    # A cubic by Hermite, with the slopes of Catmull and Rom.
    cubic = (
        first * (1 + 2 * x) * (1 - x) ** 2
        + second * x**2 * (3 - 2 * x)
        + slopes[0] * x * (1 - x) ** 2
        + slopes[1] * x**2 * (x - 1)
    )
    eighths = numpy.diff(numpy.append(cubic.T.ravel(), sums[-1]))
    return constant(eighths, 8 * tau, 8 * period).reshape(period, 8).sum(axis=1)


def constant(shares: numpy.ndarray, tau: float, period: int) -> numpy.ndarray:
    """The decay of a response that is constant in each bin, summed over 60 periods: a circular convolution."""
    lags = numpy.arange(-1, 60 * period + 1)
    # The second integral of the decay, from which the integral over two bins follows.
    second = numpy.where(lags > 0, lags - tau + tau * numpy.exp(-numpy.maximum(lags, 0) / tau), 0.0)
    kernel = (second[2:] - 2 * second[1:-1] + second[:-2]).reshape(60, period).sum(axis=0)
    return numpy.fft.irfft(numpy.fft.rfft(shares) * numpy.fft.rfft(kernel), period)


def deviance(counts: numpy.ndarray, means: numpy.ndarray) -> float:
    means = numpy.maximum(means, 1e-9)
    logs = numpy.where(counts > 0, counts * numpy.log(numpy.maximum(counts, 1) / means), 0)
    return float(2 * numpy.sum(means - counts + logs))


@pytest.mark.parametrize("seed", range(20))
def test_decays_with_a_response_equal_those_of_scipy(seed: int) -> None:
    tau = 40.0 + seed
    run = micro_run(seed, 20_000, [(1.0, tau)])
    words = {"range": f"0ns..{PERIOD * 0.05}ns"}
    counted = run.micro(channels=[1, 2], **words)
    counts, response = counted["count"].reshape(2, PERIOD)
    words |= {"irf_channel": 2, "pulse_period": f"{PERIOD * 0.05}ns", "pile_up": "ignored"}
    fitted = run.fit("decay", "micro", 1, fix={"shift": "0ns"}, **words)
    # The same background of the response as docs/queries.md states it.
    low = response[response < 0.05 * response.max()]
    median = numpy.sort(low)[len(low) // 2]
    net = numpy.maximum(response - low[low <= median + 3 * math.sqrt(median + 1)].mean(), 0)
    shares = net / net.sum()

    def of(parameters: numpy.ndarray) -> float:
        photons, tau, background = numpy.abs(parameters)
        return deviance(counts, photons * convolved(shares, tau, PERIOD) + background)

    start = [fitted["photons"][0] * 1.02, tau, fitted["background"][0] * 0.9 + 0.1]
    found = scipy.optimize.minimize(of, start, method="Nelder-Mead", options={"xatol": 1e-5, "fatol": 1e-7, "maxiter": 4000})
    assert found.success
    photons, tau, background = numpy.abs(found.x)
    assert fitted["deviance"][0] == pytest.approx(found.fun, rel=1e-7)
    assert fitted["tau_s"][0] == pytest.approx(tau * 50e-12, rel=2e-5)
    assert fitted["photons"][0] == pytest.approx(photons, rel=2e-5)
    assert fitted["background"][0] == pytest.approx(background, rel=2e-3)


def test_a_decay_is_near_its_truth_and_a_wrong_model_is_told() -> None:
    run = micro_run(77, 200_000, [(0.5, 60.0), (0.5, 15.0)])
    words = {"range": f"0ns..{PERIOD * 0.05}ns", "irf_channel": 2, "pulse_period": f"{PERIOD * 0.05}ns", "pile_up": "ignored"}
    two = run.fit("decay", "micro", 1, exponentials=2, **words)
    for name, truth in (("tau_1_s", 3e-9), ("tau_2_s", 0.75e-9), ("fraction_1", 0.5)):
        assert abs(two[name][0] - truth) < 4 * two[f"{name}_err"][0], name
    assert 0.7 < two["deviance_ratio"][0] < 1.3
    with pytest.warns(tagq.TagqWarning, match="does not describe the counts"):
        one = run.fit("decay", "micro", 1, **words)
    assert one["deviance_ratio"][0] > 5


def test_the_number_of_exponentials_is_found() -> None:
    words = {"range": f"0ns..{PERIOD * 0.05}ns", "irf_channel": 2, "pulse_period": f"{PERIOD * 0.05}ns", "pile_up": "ignored"}
    one = micro_run(3, 30_000, [(1.0, 50.0)]).fit("decay", "micro", 1, exponentials="auto", **words)
    two = micro_run(77, 200_000, [(0.5, 60.0), (0.5, 15.0)]).fit("decay", "micro", 1, exponentials="auto", **words)
    assert "tau_s" in one.rows[0] and "tau_1_s" in two.rows[0] and "tau_3_s" not in two.rows[0]
    # Of three, the third is not there, and its values are missing.
    with pytest.warns(tagq.TagqWarning, match="no third exponential"):
        three = micro_run(3, 30_000, [(1.0, 50.0)]).fit("decay", "micro", 1, exponentials=3, **words)
    row = three.rows[0]
    assert row["tau_1_s"] == pytest.approx(one["tau_s"][0], rel=1e-6)
    assert row["photons_2"] is None and row["tau_2_s"] is None and row["tau_intensity_s"] is None


@pytest.mark.parametrize("irf", ["auto", "tail"])
@pytest.mark.parametrize("taus", [[(1.0, 50.0)], [(0.6, 60.0), (0.4, 12.0)]])
def test_a_response_is_found(irf: str, taus: list[tuple[float, float]]) -> None:
    random = numpy.random.default_rng(8)
    photons = 100_000
    chosen = random.choice([tau for _, tau in taus], photons, p=[part for part, _ in taus])
    micro = (random.normal(30, 2, photons) + random.exponential(chosen)) % PERIOD
    micro = numpy.concatenate([micro, random.uniform(0, PERIOD, 2_000)])
    run = tagq.from_arrays(
        numpy.arange(len(micro)) * 375_000, numpy.ones(len(micro), "u2"), tick="1ps", micro=micro.astype("u2"), micro_tick="50ps"
    )
    words = {"range": "0ns..12.5ns", "irf": irf, "pulse_period": "12.5ns", "pile_up": "ignored", "exponentials": len(taus)}
    fitted = run.fit("decay", "micro", 1, **words)
    names = ["tau_s"] if len(taus) == 1 else ["tau_1_s", "tau_2_s"]
    truths = dict(zip(names, [tau * 50e-12 for _, tau in taus], strict=True))
    if irf == "auto":
        # A photon at 30.0 is in the unit 30, which is from 29.5 to 30.5.
        truths |= {"centre_s": 29.5 * 50e-12, "fwhm_s": 2.35482 * 2 * 50e-12}
    else:
        assert fitted["from_s"][0] == pytest.approx((29.5 + 3 * 2) * 50e-12, rel=0.02)
    for name, truth in truths.items():
        # Near a bound there are intervals in place of errors.
        err = (fitted[f"{name}_high"] - fitted[f"{name}_low"])[0] / 2 if math.isnan(fitted[f"{name}_err"][0]) else fitted[f"{name}_err"][0]
        assert abs(fitted[name][0] - truth) < 4 * err < 0.2 * truth, name
    # An answer that was counted has all that is needed.
    again = run.micro(1, range="0ns..12.5ns").fit("decay", **{key: words[key] for key in words if key != "range"})
    assert again.rows == fitted.rows
    assert fitted.query["irf"] == irf


def test_a_response_in_other_units_is_refused(tmp_path: Path) -> None:
    run = micro_run(6, 20_000, [(1.0, 50.0)])
    micro = numpy.full(2_000, 30, "u2")
    words = {"tick": "1ps", "micro_tick": "100ps", "store": tmp_path / "other.tagq"}
    tagq.from_arrays(numpy.arange(len(micro)) * 375_000, numpy.ones(len(micro), "u2"), micro=micro, **words)
    with pytest.raises(tagq.QuestionError, match="the response has bins of 0.1000 ns and the decay of 0.05000 ns"):
        run.fit("decay", "micro", 1, irf=tmp_path / "other.tagq")


def test_photons_that_an_earlier_one_hides_are_corrected_for() -> None:
    random = numpy.random.default_rng(8)
    pulses, photons = 2_000_000, 100_000
    pulse = random.integers(0, pulses, photons)
    place = random.exponential(40, photons)
    order = numpy.lexsort((place, pulse))
    pulse, place = pulse[order], place[order]
    first = numpy.append(True, pulse[1:] != pulse[:-1]) & (place < PERIOD)
    run = tagq.from_arrays(
        pulse[first] * 12_500, numpy.ones(first.sum(), "u2"), tick="1ps", micro=place[first].astype("u2"), micro_tick="50ps"
    )
    words = {"pulse_period": "12.5ns", "range": "0ns..12.45ns"}
    with pytest.warns(tagq.TagqWarning, match="4.9 % photons a pulse.*changes tau"):
        corrected = run.fit("decay", "micro", 1, **words)
    ignored = run.fit("decay", "micro", 1, pile_up="ignored", **words)
    high = corrected["tau_s_high"][0] if math.isnan(corrected["tau_s_err"][0]) else 0
    err = high - corrected["tau_s"][0] if high else corrected["tau_s_err"][0]
    assert abs(corrected["tau_s"][0] - 2e-9) < 3 * err
    assert ignored["tau_s"][0] < 2e-9 - 2.5 * err


def test_intervals_on_request() -> None:
    fitted = peak_run().fit("peak", "histogram", 1, 2, bin="10ps", range="1ns", intervals="profile")
    for name in ("net", "centre_s", "fwhm_s", "background"):
        value, err = fitted[name][0], fitted[f"{name}_err"][0]
        assert fitted[f"{name}_low"][0] == pytest.approx(value - err, abs=0.05 * err)
        assert fitted[f"{name}_high"][0] == pytest.approx(value + err, abs=0.05 * err)


@pytest.mark.parametrize("tick", TICKS)
def test_g2_equals_the_fit_of_scipy(tick: str) -> None:
    random = numpy.random.default_rng(5)
    # Photons of a single emitter: after each emission it is excited after 100 ticks on average, and emits after 60.
    steps = random.exponential(100, 60_000) + random.exponential(60, 60_000)
    times = numpy.cumsum(steps)
    times = numpy.concatenate([times, random.uniform(0, times[-1], 10_000)])
    times = numpy.sort(numpy.floor(times).astype("i8"))
    run = tagq.from_arrays(times, random.integers(1, 3, len(times)).astype("u2"), tick=tick)
    counted = run.g2(1, 2, bin="20t", range="1500t")
    fitted = run.fit("g2", "g2", 1, 2, bin="20t", range="1500t")
    unit = run.tick_s
    counts, expected = counted["count"], counted["count"] / counted["g2"]
    low = counted["first_tick"] - 0.5
    high = low + 20

    def cumulated(t: numpy.ndarray, tau: float) -> numpy.ndarray:
        return numpy.where(t > 0, 2 - numpy.exp(-numpy.maximum(t, 0) / tau), numpy.exp(numpy.minimum(t, 0) / tau)) * tau

    def of(parameters: numpy.ndarray) -> float:
        level, contrast, tau, centre = parameters
        if not (0 < contrast < 1 and tau > 0):
            return 1e12
        mean = (cumulated(high - centre, tau) - cumulated(low - centre, tau)) / 20
        return deviance(counts, expected * level * (1 - contrast * mean))

    start = [1, 0.9, 40, 1]
    found = scipy.optimize.minimize(of, start, method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-8, "maxiter": 8000})
    assert fitted["deviance"][0] == pytest.approx(found.fun, rel=1e-6)
    level, contrast, tau, centre = found.x
    assert fitted["tau_s"][0] == pytest.approx(tau * unit, rel=1e-4)
    assert fitted["g2_0"][0] == pytest.approx(1 - contrast, abs=1e-4)
    assert fitted["level"][0] == pytest.approx(level, rel=1e-5)
    assert abs(fitted["centre_s"][0] - centre * unit) < 1e-2 * fitted["centre_s_err"][0]


def peak_run() -> tagq.Run:
    random = numpy.random.default_rng(9)
    starts = numpy.cumsum(random.exponential(1e5, 40_000))
    stops = starts[: 20_000] + random.normal(300, 80, 20_000)
    dark = random.uniform(0, starts[-1], 40_000)
    times = numpy.concatenate([starts, stops, dark])
    channels = numpy.repeat([1, 2, 2], [len(starts), len(stops), len(dark)])
    order = numpy.argsort(times)
    return tagq.from_arrays(numpy.floor(times[order]).astype("i8"), channels[order].astype("u2"), tick="1ps")


def test_a_peak_of_pairs() -> None:
    fitted = peak_run().fit("peak", "histogram", 1, 2, bin="10ps", range="1ns")
    for name, truth in (("net", 20_000), ("centre_s", 300e-12), ("fwhm_s", 2.3548 * 80e-12)):
        assert abs(fitted[name][0] - truth) < 4 * fitted[f"{name}_err"][0], name


def test_a_function_of_ones_own() -> None:
    run = micro_run(3, 30_000, [(1.0, 50.0)])
    result = run.micro(1)
    built_in = result.fit("decay", between="3ns..12ns")

    def decay(t: numpy.ndarray, a: float, tau: float, background: float) -> numpy.ndarray:
        return a * numpy.exp(-t / tau) + background

    guess = {"a": 1000, "tau": 2e-9, "background": 1}
    bounds = {"a": (0, math.inf), "tau": (1e-10, 1e-7), "background": (0, math.inf)}
    own = result.fit(decay, guess=guess, bounds=bounds, between=(3e-9, 12e-9))
    # Bins of 50 ps of 2.5 ns: the mean over a bin is a constant times the value in its middle.
    assert own["tau"][0] == pytest.approx(built_in["tau_s"][0], rel=1e-5)
    # A lifetime that is not known to a tenth, or a background near zero, has intervals.
    kind = "err" if built_in["tau_s_err"][0] > 0 else "high"
    assert own[f"tau_{kind}"][0] == pytest.approx(built_in[f"tau_s_{kind}"][0], rel=1e-3)
    assert own["deviance"][0] == pytest.approx(built_in["deviance"][0], rel=1e-8)
    assert own.query["model"] == "decay" and own.query["fitted"]["kind"] == "micro"
    held = result.fit(decay, guess=guess, bounds=bounds, fix={"background": 5}, between=(3e-9, 12e-9))
    assert held["background"][0] == 5 and math.isnan(held["background_err"][0])
    with pytest.raises(ZeroDivisionError):
        result.fit(lambda t, a: 1 / 0, guess={"a": 1})
    with pytest.raises(tagq.TagqError, match="returned 1 values"):
        result.fit(lambda t, a: numpy.zeros(1), guess={"a": 1})
    with pytest.raises(tagq.QuestionError, match="guess"):
        result.fit(decay)
    with pytest.raises(tagq.QuestionError, match="no parameter"):
        result.fit(decay, guess=guess, bounds={"x": (0, 1)})


def test_a_fit_is_that_of_the_command(tmp_path: Path) -> None:
    store = tmp_path / "made.tagq"
    run = micro_run(4, 30_000, [(1.0, 50.0)], store)
    fitted = run.fit("decay", "micro", 1, between=("3ns", "12ns"), fix={"background": 2}, bin="100ps")
    answer = cli_json("fit", "decay", "--between", "3ns..12ns", "--fix", "background=2", "micro", 1, "--bin", "100ps", store)
    assert answer["rows"] == fitted.rows and answer["query"] == fitted.query
    assert tagq.sum([run]).fit("decay", "micro", 1, between="3ns..12ns", bin="100ps")["degrees"][0] == 90 - 3
    saved = tmp_path / "fit.json"
    fitted.save(saved)
    again = tagq.reproduce(saved)
    assert again.rows == fitted.rows
    for name in ("fit.svg", "fit.png", "fit.html", "fit.arrow", "fit.csv"):
        fitted.save(tmp_path / name)
    assert "residuals" in (tmp_path / "fit.svg").read_text()


def test_residuals_are_below_the_fit() -> None:
    run = micro_run(4, 30_000, [(1.0, 50.0)])
    fitted = run.fit("decay", "micro", 1, between=("3ns", "12ns"), bin="100ps")
    values, residuals = fitted.plot().figure.axes
    assert residuals.get_ylabel() == "residuals"
    assert residuals.get_xlabel() and not values.get_xlabel()
    x, r = residuals.lines[0].get_data()
    # The first bin has the micro times 3.00 ns and 3.05 ns.
    assert len(r) == 90 and x[0] == pytest.approx(3.025)
    # docs/estimates.md: the deviance is the sum of their squares.
    assert (r**2).sum() == pytest.approx(fitted["deviance"][0])
    # On axes that are there, the values alone.
    assert len(fitted.plot(ax=values).figure.axes) == 2


def test_mistakes_are_named() -> None:
    run = micro_run(6, 2_000, [(1.0, 50.0)])
    for words, wanted in (
        ({"model": "line"}, "is none of decay"),
        ({"jitter": "1ns"}, "no option"),
        ({"between": "9ns..3ns"}, "not after"),
        ({"fix": {"sigma": 1}}, "no parameter"),
        ({"fix": {"tau": 1}}, "no unit"),
        ({"guess": {"background": -4}}, "must be from 0"),
        ({"irf_channel": 9}, "no counts"),
        ({"between": "3ns..3.06ns"}, "cannot determine"),
        ({"exponentials": 4}, "1, 2 or 3"),
        ({"irf": "auto", "irf_channel": 2}, "leave `irf` out"),
        ({"irf": "tail", "irf_channel": 2}, "leave `irf` out"),
        ({"trace": "1ms"}, "one value for each bin"),
    ):
        with pytest.raises(tagq.TagqError, match=wanted), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run.fit(words.pop("model", "decay"), "micro", 1, **words)
    with pytest.raises(tagq.QuestionError, match="another process"):
        pickle.loads(pickle.dumps(run.micro(1))).fit("decay")


def test_options_are_those_of_the_command() -> None:
    assert sorted(OPTIONS) == sorted(_tagq.fit_options())
    # No other query that can be fitted has a keyword of a fit than an image, where these are the response and the period.
    def keywords(of: bool) -> set[str]:
        return {key for name, text in _tagq.cases() if (name == "image") == of for key in json.loads(text)}

    assert not keywords(False) & set(OPTIONS)
    assert keywords(True) & set(OPTIONS) <= {"irf", "irf_channel", "pulse_period"}
