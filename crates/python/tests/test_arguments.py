"""Keywords: durations in every form, channels alone, misspelt names, types, and the examples of the docstrings."""

from __future__ import annotations

import datetime
import doctest
import inspect

import numpy
import pytest

import tagq
from tagq import _durations

DURATIONS = [
    (datetime.timedelta(microseconds=3), "3us"),
    (datetime.timedelta(days=-1, seconds=1), "-86399s"),
    (datetime.timedelta(0), "0s"),
    (numpy.timedelta64(2, "ns"), "2ns"),
    (numpy.timedelta64(2_500, "ps"), "2500ps"),
    (numpy.timedelta64(7, "fs"), "7fs"),
    (numpy.timedelta64(90, "m"), "5400s"),
    (numpy.timedelta64(2, "D"), "172800s"),
    ("13t", "13t"),
]
SECONDS = [
    (2e-9, "2ns"),
    (1, "1s"),
    (0, "0s"),
    (-4.0625e-9, "-4062500fs"),
    (1e-12, "1ps"),
    (numpy.float32(0.5), "500ms"),
    (numpy.int64(3), "3s"),
    (0.1 + 0.2, "300000000000000040as"),
    (2e-9 / 3, "666666666.6666667as"),
]


@pytest.mark.parametrize(("value", "text"), DURATIONS)
def test_durations_are_texts(value: object, text: str) -> None:
    assert _durations.text_of("window", value) == text


@pytest.mark.parametrize(("value", "text"), SECONDS)
def test_seconds_are_exact_texts(value: object, text: str) -> None:
    assert _durations.text_of_seconds("window_s", value) == text


def test_every_form_counts_the_same(run: tagq.Run) -> None:
    def same(kind: str, *ends: object, **forms: list) -> None:
        (name, values), *rest = forms.items()
        others = {name: value for name, (value,) in rest}
        asked = [getattr(run, kind)(*ends, **{form: value}, **others) for form, value in values]
        for one in asked[1:]:
            assert one["count"].tolist() == asked[0]["count"].tolist(), (kind, name)
        assert asked[0]["count"].sum() > 0

    nanoseconds = numpy.timedelta64(2_000, "ps")
    same("coincidences", forms=[("window", "2ns"), ("window_s", 2e-9), ("window", nanoseconds)])
    same("coincidences", forms=[("full_width", "4ns"), ("full_width_s", 4e-9)])
    same("coincidences", forms=[("groups", [(1, 2)]), ("groups", (1, 2)), ("groups", [[1, 2]])], window=["2ns"])
    same("coincidences", forms=[("delays", {2: "1us"}), ("delays_s", {2: 1e-6}), ("delays", {2: datetime.timedelta(microseconds=1)})], window=["10us"])
    same("histogram", 1, 2, forms=[("range", "20ns"), ("range_s", 2e-8)], bin=["5ns"])
    ends = ("-20ns", numpy.timedelta64(20, "ns"))
    same("histogram", 1, 2, forms=[("range", "-20ns..20ns"), ("range", ends), ("range_s", (-2e-8, 2e-8))], bin=["5ns"])
    same("rates", forms=[("last", "2ms"), ("last_s", 0.002), ("last", datetime.timedelta(milliseconds=2))])
    same("rates", forms=[("from_", "1ms"), ("from_s", 0.001), ("from_", datetime.timedelta(milliseconds=1))])
    same("rates", forms=[("channels", 3), ("channels", [3]), ("channels", "3"), ("channels", numpy.array([3]))])
    tags = [run.tags(**words).to_arrow() for words in (dict(last="2ms", channels=3), dict(last_s=0.002, channels=[3]))]
    assert tags[0].equals(tags[1]) and tags[0].num_rows > 0
    assert len(next(run.watch("rates", timeout_s=0.1))) == len(next(run.watch("rates", timeout="100ms"))) == 4


WRONG = [
    (lambda run: run.coincidences(1, 2, groups=[(1, 2)]), ValueError, "groups: given with and without its keyword; give it once"),
    (lambda run: run.histogram(1, 2, 3), ValueError, "histogram: 3 channels for start, stop"),
    (lambda run: run.coincidences(window=2e-9), TypeError, r'window: a duration is a text with its unit, as "2ns" .* not float; seconds are window_s=2e-9'),
    (lambda run: run.coincidences(window=2), TypeError, "seconds are window_s"),
    (lambda run: run.rates(from_=1), TypeError, "seconds are from_s"),
    (lambda run: run.coincidences(window=("1ns", "2ns")), TypeError, "not tuple"),
    (lambda run: run.coincidences(window_s="2ns"), TypeError, "window_s: a number of seconds is wanted, as 2e-9, not str"),
    (lambda run: run.coincidences(window_s=True), TypeError, "not bool"),
    (lambda run: run.coincidences(window_s=float("nan")), ValueError, "nan is no duration"),
    (lambda run: run.coincidences(window=numpy.timedelta64("NaT")), ValueError, "NaT is no duration"),
    (lambda run: run.coincidences(window=numpy.timedelta64(1, "Y")), ValueError, "no fixed length"),
    (lambda run: run.coincidences(window="2ns", window_s=2e-9), ValueError, "`window` and `window_s` are one option; give one of them"),
    (lambda run: run.rates(from_="1ms", from_s=1e-3), ValueError, "`from_` and `from_s` are one option"),
    (lambda run: run.coincidences(window="2ns", delays={2: 1e-9}), TypeError, "seconds are delays_s"),
    (lambda run: run.coincidences(window="2ns", delays_s={2: "1ns"}), TypeError, "a number of seconds"),
    (lambda run: run.coincidences(window="2ns", delays_s=[1]), TypeError, r"a dict is wanted, as \{15: -4e-9\}"),
    (lambda run: run.watch("rates", every=1), TypeError, "seconds are every_s"),
    (lambda run: run.watch("rates", every="1s", every_s=1.0), ValueError, "one option"),
    (lambda run: run.coincidences(windows="2ns"), TypeError, r"coincidences\(\) got an unexpected keyword argument 'windows'; did you mean window\?"),
    (lambda run: run.g2(1, 2, rnage="2ns"), TypeError, r"did you mean range\?"),
    (lambda run: run.histogram(1, 2, bins="2ns"), TypeError, r"did you mean bin\?"),
    (lambda run: run.rates(chanels=1), TypeError, r"did you mean channels\?"),
    (lambda run: run.coincidences(qqq=1), TypeError, "its keywords are groups, window, window_s"),
    (lambda run: run.tags(form_="1s"), TypeError, r"did you mean from_\?"),
    (lambda run: run.tuples(grops=[(1, 2)]), TypeError, r"did you mean groups\?"),
    (lambda run: tagq.open("run", tik="1ps"), TypeError, r"open\(\) .* did you mean tick\?"),
    (lambda run: tagq.ingest("run", strore="a"), TypeError, r"did you mean store\?"),
    (lambda run: tagq.from_arrays(run.time, run.channel, tick="1ps", micros=run.time), TypeError, r"did you mean micro\?"),
    (lambda run: tagq.from_table(run, chanel="a"), TypeError, r"did you mean channel\?"),
]


@pytest.mark.parametrize(("ask", "error", "message"), WRONG)
def test_a_mistake_says_what_to_write(run: tagq.Run, ask, error, message: str) -> None:
    with pytest.raises(error, match=message):
        ask(run)


def test_the_examples_of_the_docstrings_are_right(run: tagq.Run) -> None:
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    names = [*tagq._tagq.query_types(), "tuples"]
    for name in names:
        method = getattr(tagq.Run, name)
        (found,) = finder.find(method, name, globs={"run": run, "tagq": tagq})
        assert found.examples, name
        runner.run(found)
        text = inspect.getdoc(method)
        for part in ("\nReturns\n", "\nRaises\n", "\nExample\n"):
            assert part in text, name
    assert runner.summarize(verbose=False).failed == 0


def live(run: tagq.Run, query: str, *of: object, **words: object) -> tagq.Result:
    with run.live(query, *of, **words) as figure:
        return figure.result


#: Each way to ask a query by its name, and the words that it needs besides.
CALLS = {
    "method": lambda run, query, *of, **words: getattr(run, query)(*of, **words),
    "sum": lambda run, query, *of, **words: getattr(tagq.sum([run]), query)(*of, **words),
    "watch": lambda run, query, *of, **words: next(run.watch(query, *of, timeout="1s", **words)),
    "live": live,
    "scan": lambda run, query, *of, **words: run.scan(query, *of, live_time="1s..2s:2", **words),
    "scan of a sum": lambda run, query, *of, **words: tagq.sum([run]).scan(query, *of, live_time="1s..2s:2", **words),
    "fit": lambda run, query, *of, **words: run.fit("sin", query, *of, bin="20ms", fix={"period": "1s"}, **words),
}
#: Channels without a keyword, and delays, in each form. The first is the plain one.
FORMS = {
    "coincidences": [(1, 2), ([1, 2],), ([(1, 2)],), ((1, 2),), (numpy.array([1, 2]),), (["1", 2],), ([numpy.uint16(1), 2],)],
    "rates": [(1, 2), ([1, 2],), ((1, 2),), (numpy.array([1, 2]),), (["1", "2"],), (iter([1, 2]),)],
    "histogram": [(1, 2), ([1, 2],), ((1, 2),), (numpy.array([1, 2]),), (["1", "2"],), (iter([1, 2]),)],
    "g2": [(1, 2), ([1, 2],), ("1", 2), (iter([1, 2]),)],
    "histogram2d": [(3, 1, 2), ([3, 1, 2],), ("3", 1, 2)],
    "delays": [(1, 2), ([1, 2],), ("1", 2), (iter([1, 2]),)],
}
#: The calls that take every query.
EVERY = ("method", "watch", "live")
ASKED = [(call, query) for query in FORMS for call in CALLS if call in EVERY or query in ("coincidences", "rates")]


@pytest.mark.filterwarnings("ignore::tagq.TagqWarning")
@pytest.mark.parametrize(("call", "query"), ASKED)
def test_each_call_takes_channels_in_each_form(run: tagq.Run, call: str, query: str) -> None:
    ranges = {"bin": "5ns", "range": "20ns"}
    words = {"coincidences": {"window": "2ns"}, "rates": {}, "delays": {}}.get(query, ranges)
    one, *others = [CALLS[call](run, query, *of, **words) for of in map(again, FORMS[query])]
    assert len(one) > 0
    for other in others:
        assert other.to_dict()["rows"] == one.to_dict()["rows"]


def test_tags_and_tuples_take_channels_in_each_form(run: tagq.Run) -> None:
    for of in ((1, 2), ([1, 2],), ("1", 2)):
        assert run.tags(*of).to_arrow().equals(run.tags(channels=[1, 2]).to_arrow())
    one, *others = [run.tuples(*of, window="2ns").to_arrow() for of in map(again, FORMS["coincidences"])]
    assert one.num_rows > 0 and all(other.equals(one) for other in others)


def again(of: tuple) -> tuple:
    """The same arguments, with an iterator that nobody has used."""
    return tuple(iter([1, 2]) if isinstance(each, type(iter([]))) else each for each in of)


@pytest.mark.filterwarnings("ignore::tagq.TagqWarning")
@pytest.mark.parametrize("call", [*CALLS, "derive"])
def test_each_call_takes_delays_in_each_form(run: tagq.Run, call: str) -> None:
    found = run.delays([1, 2], range="100ns").query["delays"]
    assert [set(each) for each in found] == [{"channel", "ticks", "seconds"}] * 2
    (ticks,) = (each["ticks"] for each in found if each["channel"] == 2)
    second = ticks * run.tick_s
    forms = [{"delays": {2: f"{ticks}t"}}, {"delays": found}, {"delays": iter(found)}, {"delays_s": {2: second}}]
    forms.append({"delays": {numpy.int64(2): numpy.timedelta64(round(second * 1e15), "fs")}})

    def ask(words: dict) -> object:
        if call == "derive":
            return run.derive(Pair="1 & 2 within 2ns", **words).rates()["count"].tolist()
        answer = CALLS[call](run, "coincidences", [1, 2], window="2ns", **words)
        return answer.to_dict()["rows"]

    one, *others = map(ask, forms)
    assert all(other == one for other in others)


def test_a_derivation_takes_channels_and_gates_as_queries_do(run: tagq.Run) -> None:
    for channels in (3, [3], "3", numpy.array([3]), numpy.int64(3)):
        assert set(run.derive(channels=channels).channel.tolist()) == {3}
    gated = [len(run.derive(gates=gates)) for gates in ("2 for 1us", ["2 for 1us"], iter(["2 for 1us"]))]
    assert len(set(gated)) == 1 and 0 < gated[0] < len(run)


def test_words_of_other_programs_are_understood(run: tagq.Run, tmp_path) -> None:
    for ask, meant in (
        (lambda: tagq.simulate(tmp_path / "a.tags.zst", force=True), "replace"),
        (lambda: tagq.convert(tmp_path / "a", tmp_path / "b", overwrite=True), "replace"),
        (lambda: run.export(tmp_path / "a.csv", force=True), "replace"),
        (lambda: run.rates().save(tmp_path / "a.csv", force=True), "replace"),
        (lambda: run.rates(start="1s"), "from_"),
        (lambda: run.rates(end="1s"), "to"),
    ):
        with pytest.raises(TypeError, match=rf"did you mean {meant}\?"):
            ask()
    with pytest.raises(ValueError, match="groups: given with and without its keyword"):
        run.scan("coincidences", 1, 2, groups=[(1, 2)], window="1ns..2ns:2")


@pytest.mark.filterwarnings("ignore::tagq.TagqWarning")
def test_a_range_of_a_fit_takes_durations(run: tagq.Run) -> None:
    microsecond = datetime.timedelta(microseconds=1)
    ranges = ["-1us..1us", ("-1us", "1us"), (-microsecond, microsecond)]
    fits = [run.fit("peak", "histogram", 1, 2, bin="50ns", range="2us", between=between) for between in ranges]
    assert fits[0].to_dict()["rows"] == fits[1].to_dict()["rows"] == fits[2].to_dict()["rows"]
