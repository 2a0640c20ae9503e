"""The page of `tagq serve` in a browser: it shows what `tagq watch` says, and says what it does not know."""

import base64
import json
import pathlib
import re
import shlex
import shutil
import signal

import pytest
from serving import Network, Recorder, Server, Watch, answer, drawn, tagq, until


@pytest.fixture(scope="session")
def simulated(tmp_path_factory):
    """A recording that does not grow, with a store."""
    folder = tmp_path_factory.mktemp("still") / "run"
    tagq("simulate", "--files", 2, "--channels", "1,2,3,4", "--rate", "10kHz", "--jitter", "300ps",
         "--dark", "1kHz", "--duration", "1s", "--delay", "2=5ns", folder, "--quiet")
    tagq("ingest", folder, "--quiet")
    return folder


@pytest.fixture
def still(simulated, tmp_path):
    """A copy of it."""
    return pathlib.Path(shutil.copytree(simulated, tmp_path / "run"))


def opened(browser, url, **options):
    """A page at this address, which fails the test if a script of it fails."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
    page = context.new_page()
    failures = []
    page.on("pageerror", lambda error: failures.append(str(error)))
    page.on("console", lambda message: message.type == "error" and failures.append(message.text))
    page.failures = failures
    page.goto(url)
    page.wait_for_selector(".panel")
    return page


def shown(page):
    """The panels with their answers, as the page has them."""
    return page.evaluate("window.tagq.results()")


def answered(page, update_after=-1):
    """Waits until each panel with a query has an answer."""

    def all_there():
        panels = shown(page)
        asked = [of for of in panels if of["query"]]
        return asked and all(of["answer"] or of["error"] for of in asked) and panels

    return until(all_there, what="an answer in each panel")


def rows(of):
    """The channels and counts of an answer; none of a missing one."""
    if of is None:
        return []
    return [(row.get("channel", row.get("channels")), row["count"]) for row in of["rows"]]


def values(figure):
    """The values of a figure, series by series; none of a missing one."""
    series = figure["plot"]["chart"]["series"] if figure else []
    return [point["value"] for of in series for point in of["points"]]


def number(page, at=0):
    """The text of a number panel, without its separators."""
    return page.locator(".digits").nth(at).inner_text().replace(",", "").replace("\u2212", "-")


def knob(page, name, at=0):
    return page.locator(f".panel input[aria-label='{name}']").nth(at)


def test_a_number_is_that_of_the_command(browser, still):
    with Server(still) as server:
        page = opened(browser, f"{server.url}#count")
        panels = answered(page)
        said = answer("coincidences", "--window", "2ns", still)
        for of in panels:
            # A figure comes without the rows that it is drawn from.
            if of["query"] == "coincidences" and of["view"] != "figure":
                assert rows(of["answer"]) == rows(said)
        # The cells of the matrix are the counts.
        counts = {tuple(row["channels"]): row["count"] for row in said["rows"]}
        cells = page.locator("table.matrix tbody tr")
        first, third = cells.nth(0).locator("td").nth(1), cells.nth(2).locator("td").nth(3)
        texts = [int(cell.inner_text().replace(",", "")) for cell in (first, third)]
        assert texts == [counts[1, 2], counts[3, 4]] and texts[1] > 1000
        assert page.failures == []


def layout(panels, **more):
    """The fragment of a layout."""
    panels = [{"width": 6, "height": 3, **of} for of in panels]
    text = json.dumps({"panels": panels, **more}).encode()
    return f"layout={base64.urlsafe_b64encode(text).decode().rstrip('=')}"


def kept(page):
    """The layout in the address of a page, if there is one."""
    _, _, text = page.evaluate("location.hash").partition("layout=")
    return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))) if text else None


def test_live_answers_are_those_of_a_watch_at_the_same_commit(browser, tmp_path):
    run = tmp_path / "run"
    g2 = {"start": 1, "stop": 2, "bin": "1ns", "range": "20ns"}
    panels = [
        {"view": "number", "query": "rates"},
        {"view": "figure", "query": "rates", "options": {"bin": "500ms"}},
        {"view": "matrix", "query": "coincidences", "options": {"window": "2ns"}},
        {"view": "figure", "query": "g2", "options": g2},
        {"view": "figure", "query": "histogram", "options": g2},
    ]
    words = [
        *["rates", run, "--and", "rates", "--bin", "500ms", "--and", "coincidences", "--window", "2ns"],
        *["--and", "g2", "1,2", "--bin", "1ns", "--range", "20ns"],
        *["--and", "histogram", "1,2", "--bin", "1ns", "--range", "20ns"],
    ]
    with Recorder(run / "live.tags.zst"), Watch(*words) as watch, Server(run) as server:
        page = opened(browser, f"{server.url}#{layout(panels, mode='all')}")
        answered(page)
        seen = [{} for _ in panels]

        def enough():
            for at, of in enumerate(shown(page)):
                if of["answer"]:
                    seen[at][of["answer"]["run"]["commit"]] = of["answer"].get("rows") or values(of["figure"])
            return all(len(own.keys() & watch.commits.keys()) >= 5 for own in seen)

        until(enough, seconds=40, what="five commits that both saw")
        for at, own in enumerate(seen):
            for commit in own.keys() & watch.commits.keys():
                rows = watch.commits[commit][at]
                column = {1: "rate_hz", 3: "g2", 4: "count"}.get(at)
                channels = sorted({row.get("channel", 0) for row in rows})
                if column is None:
                    assert own[commit] == rows, (at, commit)
                    continue
                said = [row[column] for of in channels for row in rows if row.get("channel", 0) == of]
                # A bin that may still change is not drawn.
                pairs = list(zip(own[commit], said, strict=True))
                assert len(pairs) > 3 and all(drawn in (None, value) for drawn, value in pairs), (at, commit)
        assert page.failures == []


def test_window_and_delay_by_keys_wheel_mouse_and_typing(browser, still):
    with Server(still) as server:
        page = opened(browser, f"{server.url}#count")
        answered(page)
        window = knob(page, "window")

        def counts():
            return rows(next(of for of in shown(page) if of["query"] == "coincidences" and of["view"] == "matrix")["answer"])

        def agrees(text, *more):
            said = rows(answer("coincidences", "--window", text, *more, still))
            until(lambda: counts() == said, what=f"the counts of {text}")
            return said

        agrees("2ns")
        window.fill("3ns")
        window.press("Enter")
        agrees("3ns")
        window.press("ArrowUp")
        assert window.input_value() == "5ns"
        agrees("5ns")
        window.press("ArrowDown")
        assert window.input_value() == "2ns"
        window.hover()
        page.mouse.wheel(0, -100)
        assert window.input_value() == "5ns"
        page.mouse.wheel(0, 100)
        page.mouse.wheel(0, 100)
        assert window.input_value() == "1ns"
        agrees("1ns")
        name = page.locator(".panel .knob-name").first
        box = name.bounding_box()
        page.mouse.move(box["x"] + 5, box["y"] + 5)
        page.mouse.down()
        page.mouse.move(box["x"] + 5 + 26, box["y"] + 5, steps=6)
        page.mouse.up()
        assert window.input_value() == "5ns"
        window.fill("2 bananas")
        window.press("Enter")
        until(lambda: window.get_attribute("aria-invalid") == "true")
        # A number that is not counted is not shown as live.
        until(lambda: page.locator(".panel.stale .age", has_text="not counted").count() == 1, what="a word in place of live")
        assert "window" in page.locator(".panel.refused .message").first.inner_text()
        window.fill("2ns")
        window.press("Enter")
        before = agrees("2ns")
        # The photons of channel 2 come 5 ns later, which its delay takes back.
        page.keyboard.press("Escape")
        page.locator("body").press("c")
        delay = page.get_by_label("delay of 2", exact=True).last
        delay.fill("-5ns")
        delay.press("Enter")
        moved = agrees("2ns", "--delay", "2=-5ns")
        assert dict_of(moved)[1, 2] > 2 * dict_of(before)[1, 2]
        delay.press("ArrowUp")
        assert delay.input_value() == "-4.9ns"
        agrees("2ns", "--delay", "2=-4.9ns")
        assert page.failures == [] or all("400" in text for text in page.failures)


def dict_of(pairs):
    return {tuple(channels): count for channels, count in pairs}


def test_one_switch_for_all_panels(browser, tmp_path):
    file = tmp_path / "run" / "live.tags.zst"
    with Recorder(file), Server(tmp_path / "run") as server:
        page = opened(browser, f"{server.url}#count")
        answered(page)

        def total():
            of = next(of for of in shown(page) if of["view"] == "table")
            return sum(count for _, count in rows(of["answer"])) if of["answer"] else 0

        page.locator("body").press("a")
        before = until(total)
        until(lambda: total() > 4 * before, what="growth of the whole run")
        whole = total()
        page.locator("body").press("r")
        until(lambda: total() < whole, what="a count from now on")
        since = total()
        until(lambda: total() > since, what="growth since then")
        page.locator("body").press("l")
        until(lambda: '"last":"1s"' in json.dumps([of["question"] for of in shown(page)], separators=(",", ":")))
        page.locator("body").press("f")
        frozen = page.evaluate("document.body.dataset.update")
        # The server goes on: the page gets, and does not show, what it answers.
        more = 2 * server.tags()
        until(lambda: server.tags() > more, what="growth of the recording")
        drawn(page)
        assert page.evaluate("document.body.dataset.update") == frozen
        assert page.locator("button[aria-keyshortcuts=f]").get_attribute("aria-pressed") == "true"
        # What is frozen is not shown as live.
        until(lambda: page.locator(".panel.stale").count() >= 3, what="old numbers in grey")
        page.locator("body").press("f")
        until(lambda: page.locator(".panel.stale").count() == 0, what="live numbers again")
        assert page.failures == []


def test_a_layout_is_an_address(browser, still):
    with Server(still) as server:
        page = opened(browser, f"{server.url}#align")
        answered(page)
        page.get_by_label("add a panel").select_option(label="Matrix")
        window = knob(page, "window", 1)
        window.fill("7ns")
        window.press("Enter")
        until(lambda: "7ns" in json.dumps(kept(page)), what="the window in the address")
        url = page.evaluate("location.href")
        page.reload()
        page.wait_for_selector(".panel")
        answered(page)
        assert page.locator(".panel").count() == 4
        assert knob(page, "window", 1).input_value() == "7ns"
        other = opened(browser, url)
        answered(other)
        assert [of["question"] for of in shown(other)] == [of["question"] for of in shown(page)]
        # Nonsense is no layout, and runs nothing.
        for text in ("layout=AAAA", "layout=eyJwYW5lbHMiOjd9", "nowhere", "__proto__"):
            strange = opened(browser, f"{server.url}#{text}")
            answered(strange)
            assert strange.locator(".panel").count() == 3
            strange.context.close()


def test_eight_tabs_and_two_runs(browser, tmp_path):
    with Recorder(tmp_path / "a" / "live.tags.zst"), Recorder(tmp_path / "b" / "live.tags.zst", "--seed", 7):
        with Server("a", "b", cwd=tmp_path) as server:
            context = browser.new_context()
            tabs = []
            for _ in range(8):
                page = context.new_page()
                page.goto(f"{server.url}#align")
                page.wait_for_selector(".panel")
                answered(page)
                # A browser hides the tabs behind; a headless one has to be told.
                for behind in tabs:
                    hide(behind, True)
                tabs.append(page)
            before = tabs[7].evaluate("document.body.dataset.update")
            until(lambda: tabs[7].evaluate("document.body.dataset.update") != before)
            hide(tabs[7], True)
            hide(tabs[0], False)
            before = tabs[0].evaluate("document.body.dataset.update")
            until(lambda: tabs[0].evaluate("document.body.dataset.update") != before, what="news in the first tab")
            page = tabs[0]
            page.get_by_label("run", exact=True).first.select_option(label="b")
            until(lambda: all(of["question"]["run"] == 1 for of in shown(page) if of["question"]))
            until(lambda: any(of["answer"] and of["answer"]["run"]["path"].endswith("b") for of in shown(page)))
            context.close()


def hide(page, is_hidden):
    page.evaluate(
        """(isHidden) => {
          Object.defineProperty(document, "hidden", { configurable: true, get: () => isHidden });
          document.dispatchEvent(new Event("visibilitychange"));
        }""",
        is_hidden,
    )


def test_a_server_that_ends_and_comes_back(browser, tmp_path):
    file = tmp_path / "run" / "live.tags.zst"
    with Recorder(file):
        with Server(tmp_path / "run") as server:
            page = opened(browser, f"{server.url}#align")
            answered(page)
            address = server.address
            server.stop(signal.SIGKILL)
        banner = page.locator(".banner")
        until(lambda: "does not answer" in banner.inner_text(), what="a word about the loss")
        until(lambda: page.locator(".panel.stale").count() == 3, what="grey numbers")
        with Server(tmp_path / "run", bind=address):
            until(lambda: "answers again, after" in banner.inner_text(), what="a word about the return")
            until(lambda: page.locator(".panel.stale").count() == 0, what="live numbers")


def test_a_network_that_is_lost(browser, tmp_path):
    run = tmp_path / "run"
    with Recorder(run / "live.tags.zst"), Server(run) as server, Network(server.address) as network:
        page = opened(browser, f"http://{network.address}/#align")
        answered(page)
        # A laptop that slept finds it the same way: nothing comes, and no error either.
        network.is_cut = True
        until(lambda: page.locator(".panel.stale").count() == 3, what="grey numbers")
        until(lambda: "does not answer" in page.locator(".banner").inner_text(), what="a word about the loss")
        network.heal()
        until(lambda: page.locator(".panel.stale").count() == 0, what="live numbers")
        until(lambda: "answers again, after" in page.locator(".banner").inner_text(), what="a word about the return")


def test_a_recording_that_stops_is_not_live(browser, tmp_path):
    file = tmp_path / "run" / "live.tags.zst"
    with Recorder(file) as recorder, Server(tmp_path / "run") as server:
        page = opened(browser, f"{server.url}#count")
        answered(page)
        until(lambda: page.locator(".age", has_text="live").count() == 4, what="live panels")
        recorder.stop()
        until(lambda: page.locator(".panel.stale").count() == 4, what="grey panels")
        assert re.fullmatch(r"[3-9]\.\d s old", page.locator(".age").first.inner_text())
        until(lambda: "no file grows" in page.locator(".warnings").inner_text(), what="the warning")
        until(lambda: "nothing new since" in page.locator(".alarms").inner_text(), what="the alarm")


def test_files_that_follow_each_other(browser, tmp_path):
    run = tmp_path / "run"
    parts = tmp_path / "parts"
    tagq("simulate", "--files", 4, "--duration", "1s", "--rate", "5kHz", parts, "--quiet")
    files = sorted(parts.iterdir())
    run.mkdir()
    shutil.copy(files[0], run)
    with Server(run) as server:
        page = opened(browser, f"{server.url}#count")
        page.locator("body").press("a")
        answered(page)
        for count, file in enumerate(files[1:], start=2):
            shutil.copy(file, run / "copied")
            (run / "copied").rename(run / file.name)
            until(lambda: f"{count}" == fact(page, "files"), what="the new file")
        said = rows(answer("coincidences", "--window", "2ns", run))
        until(lambda: rows(next(of for of in shown(page) if of["view"] == "table")["answer"]) == said)


def fact(page, name):
    return page.locator(f".facts dt:text-is('{name}') + dd").inner_text()


def test_alarms(browser, tmp_path):
    file = tmp_path / "run" / "live.tags.zst"
    with Recorder(file), Server(tmp_path / "run") as server:
        page = opened(browser, f"{server.url}#align")
        answered(page)
        page.locator("body").press("c")
        limit = page.get_by_label("alarm below, in Hz, for channel 1")
        limit.fill("1000000")
        limit.press("Enter")
        alarms = page.locator(".alarms")
        until(lambda: "channel 1: below 1.000 MHz" in alarms.inner_text(), what="the alarm")
        assert page.title().startswith("⚠")
        limit.fill("1")
        limit.press("Enter")
        until(lambda: alarms.inner_text() == "", what="the end of the alarm")


def test_a_token_leaves_the_address(browser, still):
    with Server(still, "--token") as server:
        token = server.url.split("token=")[1]
        page = opened(browser, server.url)
        answered(page)
        assert token not in page.url
        assert token not in page.evaluate("document.cookie + localStorage.length + history.state")
        page.go_back()
        assert token not in page.url
        cookies = page.context.cookies()
        assert [(of["httpOnly"], of["sameSite"]) for of in cookies] == [(True, "Strict")]
        # Without it the page asks for it.
        other = browser.new_context().new_page()
        other.goto(f"http://{server.address}/")
        other.get_by_label("token").fill("0" * 64)
        other.get_by_role("button", name="Open").click()
        until(lambda: "token" in other.get_by_role("alert").inner_text())
        other.get_by_label("token").fill(token)
        other.get_by_role("button", name="Open").click()
        other.wait_for_selector(".panel")


@pytest.mark.parametrize("width", [1280, 360])
def test_nothing_is_cut_and_nothing_overlaps(browser, still, width):
    # A note is below the answers: there is no channel 9.
    options = {"window": "2ns", "groups": [[1, 2], [1, 9]]}
    panels = [
        {"view": "number", "query": "coincidences", "options": options, "column": "rate_hz", "width": 3, "height": 3},
        {"view": "figure", "query": "coincidences", "options": options, "width": 4, "height": 2},
        {"view": "figure", "query": "rates", "options": {"bin": "100ms"}, "width": 5, "height": 2},
    ]
    with Server(still) as server:
        page = opened(browser, f"{server.url}#{layout(panels, mode='all')}", viewport={"width": width, "height": 740})
        answered(page)
        said = page.locator(".panel .message").all_inner_texts()
        assert all("channel 9 has no tags" in text for text in said[:2]), said
        for name in ("settings, copy, move, remove", "Channels"):
            opener = page.locator(f"button[title='{name}']") if "," in name else page.get_by_role("button", name=name)
            opener.first.click()
            drawn(page)
            wrong = page.evaluate(
                """() => {
                  const wrong = [];
                  const box = (element) => element.getBoundingClientRect();
                  const drawer = document.querySelector(".drawer");
                  for (const element of drawer.querySelectorAll("*")) {
                    if (box(element).right > box(drawer).right + 1) wrong.push(`cut: ${element.outerHTML.slice(0, 90)}`);
                    if (element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).overflowX !== "visible"
                      && element.tagName !== "INPUT" && element.tagName !== "SELECT") wrong.push(`scrolled: ${element.outerHTML.slice(0, 90)}`);
                  }
                  for (const panel of document.querySelectorAll(".panel")) {
                    for (const element of panel.querySelectorAll("button, select, input")) {
                      if (box(element).right > box(panel).right + 1) wrong.push(`out of its panel: ${element.outerHTML.slice(0, 90)}`);
                    }
                    const parts = [...panel.children].filter((part) => part.textContent || part.querySelector("canvas"));
                    parts.slice(1).forEach((part, at) => {
                      if (box(parts[at]).bottom > box(part).top + 1) wrong.push(`${parts[at].className} lies over ${part.className}`);
                    });
                    const message = panel.querySelector(".message");
                    if (message.scrollHeight > message.clientHeight + 1) wrong.push("a note is cut");
                    const canvas = panel.querySelector(".tagq-canvas");
                    if (canvas && message.textContent && box(canvas).bottom > box(message).top + 1) {
                      wrong.push(`the note lies over the figure: ${box(canvas).bottom} > ${box(message).top}`);
                    }
                    if (canvas && box(canvas).height < 150) wrong.push(`a figure of ${box(canvas).height} points`);
                  }
                  if (document.documentElement.scrollWidth > innerWidth) wrong.push("the page has to be scrolled to the side");
                  return wrong;
                }"""
            )
            assert wrong == [], name
        page.context.close()


def test_delays_are_found(browser, still):
    # Channel 2 is simulated with a delay of 5 ns.
    with Server(still) as server:
        page = opened(browser, server.url)
        answered(page)
        page.get_by_role("button", name="Channels").click()
        page.get_by_role("button", name="Find delays").click()
        found = page.locator("input[aria-label='delay of 2']")
        until(lambda: found.input_value() != "", what="a delay")
        text = found.input_value()
        assert text.endswith("ns") and abs(float(text[:-2]) + 5) < 0.5, text
        until(lambda: "delays found" in page.locator(".drawer .message").inner_text(), what="what was found")
        page.context.close()


def test_names_cannot_run(browser, still, tmp_path):
    name = "<img src=x onerror=document.title='run'>"
    strange = tmp_path / name
    still.rename(strange)
    shutil.copytree(strange, tmp_path / "other")
    panels = [
        {"view": "number", "query": "rates", "row": name, "column": name},
        {"view": "table", "query": "rates", "options": {"channels": [name]}},
        {"view": "matrix", "query": "coincidences", "column": name, "width": name, "height": -3},
        {"view": "figure", "query": "g2", "quantity": name},
        {"view": "info"},
    ]
    hostile = layout(panels, alarms={"1": {"below": name}}, last=name)
    with Server(name, "other", cwd=tmp_path) as server:
        for address in ("align", "count", "g2", hostile):
            page = opened(browser, f"{server.url}#{address}")
            answered(page)
            page.locator("body").press("c")
            drawn(page)
            assert page.title() == "tagq"
            assert page.locator("img").count() == 0
            assert name in page.locator("body").inner_text()
            page.context.close()


def test_copied_commands_give_what_is_shown(browser, still):
    with Server(still) as server:
        page = opened(browser, f"{server.url}#count")
        page.locator("body").press("a")
        of = next(of for of in answered(page) if of["view"] == "table")
        page.locator(".table-panel").get_by_label("settings, copy, move, remove").click()
        page.get_by_role("button", name="Copy …").click()
        page.wait_for_selector(".copied")
        command = page.get_by_label("command", exact=True).last.input_value()
        assert command.startswith("tagq coincidences")
        said = answer(*shlex.split(command)[1:])
        assert said["rows"] == of["answer"]["rows"]
        python = page.get_by_label("Python", exact=True).last.input_value()
        assert "coincidences(" in python and "tagq.open(" in python


@pytest.mark.parametrize("name", ["align", "count", "g2"])
@pytest.mark.parametrize("width", [360, 1280])
def test_accessibility(browser, still, name, width, axe):
    with Server(still) as server:
        page = opened(browser, f"{server.url}#{name}", viewport={"width": width, "height": 800})
        answered(page)
        page.locator("body").press("c")
        found = page.evaluate(axe + "; axe.run({ runOnly: ['wcag2a', 'wcag21a', 'wcag2aa'] }).then((of) => of.violations)")
        assert [(of["id"], [node["html"][:100] for node in of["nodes"]][:2]) for of in found] == []
        # Nothing is wider than the page.
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0


def test_nothing_jumps_and_memory_does_not_grow(browser, tmp_path):
    file = tmp_path / "run" / "live.tags.zst"
    with Recorder(file), Server(tmp_path / "run") as server:
        page = opened(browser, f"{server.url}#count")
        answered(page)
        devtools = page.context.new_cdp_session(page)

        def used():
            devtools.send("HeapProfiler.collectGarbage")
            return devtools.send("Runtime.getHeapUsage")["usedSize"]

        def update():
            return int(page.evaluate("document.body.dataset.update"))

        until(lambda: update() > 5, what="the first updates")
        first = used()
        page.evaluate(
            """() => {
              window.moved = 0;
              const add = (list) => list.getEntries().forEach((entry) => (window.moved += entry.value));
              new PerformanceObserver(add).observe({ type: "layout-shift" });
            }"""
        )
        before = update()
        until(lambda: update() > before + 10, what="eleven updates")
        assert used() < first + 2_000_000
        # The share of the page that moved while its numbers changed.
        assert page.evaluate("window.moved") < 0.01
