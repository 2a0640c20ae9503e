// The page as a whole: its bar, the panels, the drawer, and what the server says.

import type { Kind, Question, RunState, Update } from "./api";
import * as api from "./api";
import { Refused } from "./api";
import { Alarms } from "./alarm";
import { channelForm, type Found, Strip } from "./channels";
import { button, field, h, select, setText } from "./dom";
import { form, written } from "./form";
import { infoView } from "./info";
import { knob } from "./knob";
import { fragment, type Layout, LAYOUTS, type Mode, NEW_PANELS, type Panel, PANELS_MAX, parsed, question, runOf } from "./layout";
import { span, stepped } from "./numbers";
import { PanelBox, STALE_S } from "./panel";
import { type Connection, Stream } from "./stream";
import { beep } from "./tone";

/** Time between two looks at the state of the runs. */
const POLL_MS = 1000;
/** Time without an event although the run grew, after which the stream is opened again. */
const SILENT_MS = 4000;
/** Age of the newest data from which a recording that was live is an alarm. */
const ENDED_S = 10;
/** Time from a change to the new address. */
const ADDRESS_MS = 250;
const MODES: [Mode, string, string][] = [
  ["all", "Whole run", "count the whole run, up to now"],
  ["since", "Since", "count from the moment of this press on"],
  ["last", "Last", "count the newest part only"],
];

export class App {
  private layout: Layout;
  private kinds: Kind[] = [];
  private runs: RunState[] = [];
  private boxes: PanelBox[] = [];
  private isFrozen = false;
  private sounds = false;
  /** The newest event, until it is drawn. */
  private next: { keys: string[]; update: Update } | undefined;
  private lastEvent = Date.now();
  private commits = "";
  private lostSince: number | undefined;
  private state: Connection = "connecting";
  /** Why the stream ended, and why the runs could not be asked. */
  private reason: string | undefined;
  private pollFailure: string | undefined;
  private isPolling = false;
  /** The value of the field that has the focus, as it was applied. */
  private typed: string | undefined;
  /** When the server answered last about its runs. */
  private polled = 0;
  /** Whether the run of the page was live here. */
  private wasLive = false;
  private addressTimer: number | undefined;
  /** When the data of the strip were the newest, and its run. */
  private stripAt = 0;
  private stripRun: number | undefined;

  private readonly stream = new Stream(
    (keys, update) => this.updated(keys, update),
    (state, reason) => this.connection(state, reason),
  );
  private readonly alarms = new Alarms((reasons, isNew) => this.alarmed(reasons, isNew));
  private readonly strip = new Strip((owner, reason) => this.alarms.set(owner, reason));
  private readonly grid = h("main", { class: "grid" });
  private readonly drawer = h("aside", { class: "drawer", hidden: true, "aria-label": "settings" });
  private readonly banner = h("p", { class: "banner", role: "status" });
  private readonly alarmList = h("p", { class: "alarms", role: "alert" });
  private readonly layouts = h("nav", { "aria-label": "layouts" });
  private readonly modes = h("span", { class: "modes", role: "group", "aria-label": "what is counted" });
  private readonly runChoice = h("span");

  constructor(body: HTMLElement) {
    this.layout = parsed(location.hash) ?? structuredClone(LAYOUTS.align!.layout);
    const bar = h("header", { class: "bar" }, h("h1", {}, "tagq"), this.layouts, this.runChoice, this.modes,
      button("Channels", "names, delays, groups and alarms", () => this.editChannels()),
      this.adder(), this.soundButton());
    const news = h("div", { class: "news" }, this.alarmList, this.banner);
    body.replaceChildren(bar, this.strip.element, h("div", { class: "middle" }, this.grid, this.drawer), news);
  }

  start(): void {
    void this.poll();
    window.setInterval(() => void this.poll(), POLL_MS);
    window.setInterval(() => this.tick(), 250);
    document.addEventListener("visibilitychange", () => this.seen());
    window.addEventListener("online", () => this.stream.again());
    window.addEventListener("hashchange", () => {
      const layout = parsed(location.hash);
      if (layout && fragment(layout) !== fragment(this.layout)) {
        this.layout = layout;
        this.build();
      }
    });
    window.addEventListener("keydown", (event) => this.key(event));
    document.addEventListener("focusin", ({ target }) => {
      this.typed = target instanceof HTMLInputElement ? target.value : undefined;
    });
    document.addEventListener("change", ({ target }) => {
      if (target instanceof HTMLInputElement) this.typed = target.value;
    });
  }

  /** What each panel asks and shows, for tests and for the console of a browser. */
  results(): unknown[] {
    return this.boxes.map(({ panel, result }) => ({
      view: panel.view, query: panel.query ?? null, question: this.question(panel) ?? null,
      answer: result?.answer ?? null, figure: result?.figure ?? null, error: result?.error ?? null,
    }));
  }

  // What the server says.

  private async poll(): Promise<void> {
    if (document.hidden || this.isPolling) return;
    this.isPolling = true;
    try {
      if (this.kinds.length === 0) this.kinds = await api.kinds();
      const runs = await api.runs();
      this.polled = Date.now();
      const shape = (of: RunState[]) => JSON.stringify(of.map(({ name, facts }) => [name, facts?.channels.map((one) => [one.channel, one.name])]));
      const isNew = shape(runs) !== shape(this.runs);
      this.runs = runs;
      if (isNew) this.build();
      const commits = JSON.stringify(runs.map(({ facts }) => facts?.tags));
      if (commits !== this.commits && this.state === "open" && Date.now() - this.lastEvent > SILENT_MS) this.stream.again();
      if (commits !== this.commits && this.commits === "") this.lastEvent = Date.now();
      this.commits = commits;
      this.pollFailure = undefined;
      this.sayConnection();
      for (const box of this.boxes) if (box.panel.view === "info") box.refresh(this.newestOf(box.panel));
    } catch (error) {
      if (error instanceof Refused && error.status === 401) return location.reload();
      this.pollFailure = error instanceof Refused ? error.message : "The server does not answer; trying again.";
      this.sayConnection();
    } finally {
      this.isPolling = false;
    }
  }

  private newestOf(panel: Panel): number | undefined {
    const age = this.runs[runOf(panel, this.layout, this.runs)]?.age_s;
    return age === null || age === undefined ? undefined : this.polled - age * 1000;
  }

  private updated(keys: string[], update: Update): void {
    const isFirst = this.next === undefined;
    this.next = { keys, update };
    this.lastEvent = Date.now();
    // A page that is drawn rarely shows the newest event only.
    if (isFirst) requestAnimationFrame(() => this.drawNext());
  }

  private drawNext(): void {
    const { next } = this;
    this.next = undefined;
    if (!next || this.isFrozen) return;
    const { keys, update } = next;
    document.body.dataset.update = String(update.update);
    for (const box of this.boxes) {
      const asked = JSON.stringify(this.question(box.panel));
      const place = keys.indexOf(asked);
      if (place < 0) continue;
      const result = {
        answer: update.answers[place] ?? null,
        figure: update.figures?.[place] ?? null,
        columns: update.columns?.[place] ?? [],
        notes: update.notes[place] ?? [],
        error: update.errors[place] ?? null,
      };
      box.show(asked, result, update.ages_s[place] ?? 0);
    }
    const own = keys.indexOf(JSON.stringify(this.stripQuestion()));
    if (own >= 0) {
      this.strip.show(update.answers[own] ?? null, this.layout);
      this.stripAt = Date.now() - (update.ages_s[own] ?? 0) * 1000;
    }
    this.tick();
  }

  private connection(state: Connection, reason?: string): void {
    this.state = state;
    this.reason = reason;
    this.sayConnection();
  }

  /** Says that the server does not answer, and when it does again. */
  private sayConnection(): void {
    if (this.state === "lost" || this.pollFailure !== undefined) {
      this.lostSince ??= Date.now();
      this.banner.dataset.state = "lost";
      return setText(this.banner, this.reason ?? this.pollFailure ?? "The server does not answer; trying again.");
    }
    if (this.lostSince === undefined || this.state === "connecting") return;
    const text = `The server answers again, after ${span((Date.now() - this.lostSince) / 1000)}.`;
    this.lostSince = undefined;
    this.banner.dataset.state = "back";
    setText(this.banner, text);
    window.setTimeout(() => {
      if (this.banner.textContent === text) setText(this.banner, "");
    }, 6000);
  }

  private alarmed(reasons: string[], isNew: boolean): void {
    setText(this.alarmList, reasons.length > 0 ? `⚠ ${reasons.join(" · ")}` : "");
    document.title = reasons.length > 0 ? "⚠ tagq" : "tagq";
    if (isNew && this.sounds) beep();
  }

  // Questions.

  private question(panel: Panel): Question | undefined {
    return question(panel, this.layout, this.kinds, this.runs);
  }

  private stripQuestion(): Question | undefined {
    const own: Panel = { view: "table", query: "rates", options: { last: "1s" }, width: 1, height: 1 };
    // Delays do not change rates, and a wrong one must not stop them.
    return question(own, { ...this.layout, delays: {} }, this.kinds, this.runs);
  }

  private ask(): void {
    const own = [this.stripQuestion(), ...this.boxes.map(({ panel }) => this.question(panel))];
    this.stream.ask(own.filter((of): of is Question => of !== undefined));
  }

  /** Keeps a change of the layout, in the address too. */
  private changed(asks: boolean): void {
    // A drag makes many changes, and browsers refuse too many addresses.
    clearTimeout(this.addressTimer);
    this.addressTimer = window.setTimeout(() => history.replaceState(null, "", `#${fragment(this.layout)}`), ADDRESS_MS);
    this.marks();
    if (!asks) return;
    this.thaw();
    this.ask();
  }

  /** Ends a freeze: other questions have other numbers. */
  private thaw(): void {
    if (this.isFrozen) this.freeze?.click();
  }

  // What is shown.

  private build(): void {
    const run = runOf({ view: "info", width: 1, height: 1 }, this.layout, this.runs);
    if (run !== this.stripRun) {
      this.strip.clear();
      this.wasLive = false;
    }
    this.stripRun = run;
    // A panel that shows the same kind of content stays, with what the person chose in it.
    const before = new Map(this.boxes.map((box) => [box.panel, box]));
    this.boxes = this.layout.panels.map((panel) => {
      const own = before.get(panel);
      if (!own || own.made !== this.made(panel)) return this.box(panel);
      before.delete(panel);
      own.resize();
      return own;
    });
    for (const box of before.values()) box.destroy();
    const elements = this.boxes.map(({ element }) => element);
    if (elements.length === 0) elements.push(h("p", { class: "caption" }, "This page has no panel; “+ Panel” adds one."));
    const isSame = elements.length === this.grid.children.length && elements.every((of, at) => of === this.grid.children[at]);
    if (!isSame) this.grid.replaceChildren(...elements);
    if (!this.boxes.some(({ element }) => element.classList.contains("enlarged"))) this.grid.classList.remove("one");
    this.marks();
    this.ask();
    for (const box of this.boxes) if (box.panel.view === "info") box.refresh(this.newestOf(box.panel));
  }

  /** What the box of a panel is made from. */
  private made(panel: Panel): string {
    const { view, query, options = {} } = panel;
    const own = [...["last", "from", "to"].map((name) => options[name]), "bin" in options];
    return JSON.stringify([view, query, own, this.kinds.length, runOf(panel, this.layout, this.runs), this.runs.map(({ name }) => name)]);
  }

  private box(panel: Panel): PanelBox {
    const box: PanelBox = new PanelBox(panel, this.made(panel), {
      kind: this.kinds.find(({ name }) => name === panel.query),
      runName: this.runs.length > 1 ? this.runs[runOf(panel, this.layout, this.runs)]?.name : undefined,
      info: () => infoView(() => this.runs[runOf(panel, this.layout, this.runs)], () => this.strip.rates),
      waitsFor: () => (this.runs[runOf(panel, this.layout, this.runs)]?.facts === null ? "no tags yet" : "waiting"),
      changed: (asks) => this.changed(asks),
      alarm: (owner, reason) => this.alarms.set(owner, reason),
      channels: () => this.defaultChannels(panel),
      edit: () => this.editPanel(panel),
      drop: (onto, from) => this.move(from, this.layout.panels.indexOf(onto)),
      enlarge: () => {
        const isOne = this.grid.classList.toggle("one");
        for (const other of this.boxes) other.element.classList.toggle("enlarged", isOne && other.panel === panel);
      },
    });
    return box;
  }

  /** The channels that a panel asks if it names none. */
  private defaultChannels(panel: Panel): string {
    const asked = this.question(panel)?.options ?? {};
    const own = this.kinds.find(({ name }) => name === panel.query)?.channels?.options ?? [];
    return own.map((name) => written(asked[name])).filter(Boolean).join(",") || "all";
  }

  /** Moves a panel to another place. */
  private move(panel: Panel, to: number): void {
    const { panels } = this.layout;
    const from = panels.indexOf(panel);
    if (from < 0) return;
    panels.splice(from, 1);
    panels.splice(Math.max(0, to), 0, panel);
    this.rebuild();
  }

  private rebuild(): void {
    this.changed(false);
    this.build();
  }

  /** Shows in the bar what is chosen. */
  private marks(): void {
    const shape = (panels: Panel[]) => JSON.stringify(panels);
    const now = shape(this.layout.panels);
    this.layouts.replaceChildren(
      ...Object.values(LAYOUTS).map(({ title, layout }) =>
        button(title, `layout ${title}`, () => {
          // What belongs to the experiment stays. The address before is one step back.
          const { names, delays, groups, alarms, run, since } = this.layout;
          history.pushState(null, "", `#${fragment(this.layout)}`);
          this.layout = { ...structuredClone(layout), names, delays, groups, alarms, run, since };
          this.drawer.hidden = true;
          this.rebuild();
        }, { "aria-pressed": shape(layout.panels) === now }),
      ),
    );
    const runs = this.runs.map(({ index, name }): [string, string] => [String(index), name]);
    this.runChoice.replaceChildren(
      ...(runs.length > 1 ? [select("run", runs, String(this.layout.run), (index) => {
        this.layout.run = Number(index);
        this.rebuild();
      })] : []),
    );
    if (this.modes.childElementCount === 0) this.buildModes();
    for (const [mode, element] of this.modeButtons) element.setAttribute("aria-pressed", String(this.layout.mode === mode));
    this.lastKnob?.set(this.layout.last);
  }

  private readonly modeButtons = new Map<Mode, HTMLButtonElement>();
  private lastKnob: ReturnType<typeof knob> | undefined;

  private buildModes(): void {
    for (const [mode, title, help] of MODES) {
      const element = button(title, help, () => this.setMode(mode));
      this.modeButtons.set(mode, element);
      this.modes.append(element);
    }
    this.lastKnob = knob("length of the last part", "how much of the newest part is counted", this.layout.last, "1s",
      (of, steps) => stepped(of, steps > 0),
      (text) => {
        this.layout.last = text || "1s";
        this.layout.mode = "last";
        this.changed(true);
      }, { number: 1, unit: "s" });
    const freeze = button("Freeze", "show the numbers as they are now", () => {
      this.isFrozen = !this.isFrozen;
      freeze.setAttribute("aria-pressed", String(this.isFrozen));
      document.body.classList.toggle("frozen", this.isFrozen);
      this.seen();
    }, { "aria-pressed": "false", "aria-keyshortcuts": "f" });
    this.modes.append(this.lastKnob.element, freeze);
    this.freeze = freeze;
  }

  private freeze: HTMLButtonElement | undefined;

  private setMode(mode: Mode): void {
    this.layout.mode = mode;
    if (mode === "since") this.layout.since = this.runs.map((_, run) => `${this.recorded(run)}s`);
    for (const box of this.boxes) box.reset();
    this.changed(true);
  }

  /** The time from the first to the newest tag of a run, in seconds, as far as is known here. */
  private recorded(run: number): number {
    const own = this.boxes.filter(({ panel }) => (panel.run ?? this.layout.run) === run);
    const answers = own.map(({ result }) => result?.answer?.run.elapsed_s ?? 0);
    return Math.max(this.runs[run]?.facts?.elapsed_s ?? 0, ...answers);
  }

  /** Asks only while somebody looks. */
  private seen(): void {
    this.stream.want(!document.hidden && !this.isFrozen);
    if (!document.hidden) {
      this.tick();
      void this.poll();
    }
  }

  private tick(): void {
    for (const box of this.boxes) box.tick();
    const age = (Date.now() - this.stripAt) / 1000;
    this.strip.setStale(age >= STALE_S);
    // A recording that was seen live and has ended is an alarm, until it goes on.
    if (age < STALE_S) this.wasLive = true;
    const hasEnded = this.wasLive && age >= ENDED_S && !this.isFrozen;
    const since = new Date(this.stripAt).toLocaleTimeString();
    this.alarms.set(this, hasEnded ? `nothing new since ${since}` : undefined);
  }

  // The drawer.

  private open(title: string, ...content: Node[]): void {
    const close = button("✕", "close", () => {
      this.drawer.hidden = true;
    });
    this.drawer.replaceChildren(h("header", {}, h("h2", {}, title), close), ...content);
    this.drawer.hidden = false;
    close.focus();
  }

  private editChannels(): void {
    const channels = this.runs[this.layout.run]?.facts?.channels ?? [];
    this.open("Channels", channelForm(channels, this.layout, () => this.changed(true), () => this.editChannels(), () => this.findDelays()));
  }

  /** Finds the delays of the run of the page. */
  private async findDelays(): Promise<Found> {
    const options = { window: "2ns", delays: ["auto"] };
    const { query, notes } = await api.answer({ run: this.layout.run, query: "coincidences", options });
    const delays = query.delays as { channel: number; seconds: number }[] | undefined;
    return { delays: new Map(delays?.map(({ channel, seconds }) => [channel, seconds])), notes };
  }

  private editPanel(panel: Panel): void {
    const rebuild = () => this.rebuild();
    const { panels } = this.layout;
    const sizes = (key: "width" | "height", most: number) => {
      const input = h("input", { type: "number", min: 1, max: most, value: panel[key] });
      input.addEventListener("change", () => {
        panel[key] = Math.min(most, Math.max(1, Math.round(input.valueAsNumber) || 1));
        rebuild();
      });
      return input;
    };
    const kinds = this.kinds.map(({ name, summary }): [string, string] => [name, `${name}: ${summary}`]);
    const views: [string, string][] = [["number", "one number"], ["figure", "figure"], ["matrix", "matrix of pairs"], ["table", "table"], ["info", "facts and warnings"]];
    const runs = this.runs.map(({ index, name }): [string, string] => [String(index), name]);
    const again = (change: () => void) => {
      change();
      rebuild();
      this.editPanel(panel);
    };
    const kind = this.kinds.find(({ name }) => name === panel.query);
    const limit = (key: "below" | "above") => {
      const input = h("input", { type: "number", step: "any", value: panel[key] ?? "" });
      input.addEventListener("change", () => {
        if (input.value === "") delete panel[key];
        else panel[key] = input.valueAsNumber;
        this.changed(false);
      });
      return input;
    };
    const isNumber = panel.view === "number";
    const tools = h("p", { class: "tools" },
      button("Copy …", "copy as command or as Python", () => void this.copy(panel)),
      button("←", "move this panel to the front", () => this.move(panel, panels.indexOf(panel) - 1)),
      button("→", "move this panel to the back", () => this.move(panel, panels.indexOf(panel) + 1)),
      button("Remove", "remove this panel", () => {
        if (panels.includes(panel)) panels.splice(panels.indexOf(panel), 1);
        this.drawer.hidden = true;
        rebuild();
      }));
    this.open("Panel", tools,
      h("div", { class: "form" },
        field("shows", select("shows", views, panel.view, (view) => again(() => (panel.view = view as Panel["view"])))),
        field("query", select("query", kinds, panel.query ?? "", (query) => again(() => {
          panel.query = query;
          panel.options = {};
          delete panel.row;
          delete panel.column;
        }))),
        ...(runs.length > 1 ? [field("run", select("run", [["", "that of the page"], ...runs], panel.run === undefined ? "" : String(panel.run), (run) =>
          again(() => {
            if (run === "") delete panel.run;
            else panel.run = Number(run);
          })))] : []),
        field("width, in twelfths", sizes("width", 12)),
        field("height, in rows", sizes("height", 12)),
        ...(isNumber ? [field("alarm below", limit("below")), field("alarm above", limit("above"))] : []),
      ),
      ...(kind && panel.view !== "info" ? [form(kind, panel.options ?? {}, (name, value) => {
        const options = { ...panel.options };
        if (value === undefined) delete options[name];
        else options[name] = value;
        panel.options = options;
        this.thaw();
        rebuild();
        this.boxes.find((box) => box.panel === panel)?.follow();
      })] : []),
    );
  }

  private async copy(panel: Panel): Promise<void> {
    const asked = this.question(panel);
    const lines = (name: string, text: string) => {
      const code = h("textarea", { readonly: true, rows: 3, "aria-label": name }, text);
      const press = button("Copy", `copy ${name}`, () => {
        code.select();
        // The clipboard is there for secure addresses only; elsewhere the selected text is copied.
        if (navigator.clipboard) void navigator.clipboard.writeText(text);
        else document.execCommand("copy");
        setText(press, "Copied");
      });
      return h("div", { class: "copied" }, h("h3", {}, name), code, press);
    };
    const address = lines("address of this page", location.href);
    if (!asked) return this.open("Copy", address);
    try {
      const { command, python } = await api.command(asked);
      this.open("Copy", lines("command", command), lines("Python", python), address);
    } catch (error) {
      this.open("Copy", h("p", {}, String(error instanceof Error ? error.message : error)), address);
    }
  }

  private adder(): HTMLElement {
    const names = NEW_PANELS.map(({ title }, at): [string, string] => [String(at), title]);
    const element = select("add a panel", [["", "+ Panel"], ...names], "", (at) => {
      element.value = "";
      const of = NEW_PANELS[Number(at)];
      if (!of) return;
      if (this.layout.panels.length >= PANELS_MAX) return this.open("Panel", h("p", {}, `A page has ${PANELS_MAX} panels at most.`));
      this.thaw();
      this.layout.panels.push(structuredClone(of.panel));
      this.rebuild();
    });
    return element;
  }

  private soundButton(): HTMLElement {
    const element = button("Sound", "a sound for each new alarm", () => {
      this.sounds = !this.sounds;
      element.setAttribute("aria-pressed", String(this.sounds));
      if (this.sounds) beep();
    }, { "aria-pressed": "false" });
    return element;
  }

  private key(event: KeyboardEvent): void {
    const of = event.target;
    const isTyping = of instanceof HTMLInputElement || of instanceof HTMLSelectElement || of instanceof HTMLTextAreaElement;
    if (event.key === "Escape") {
      // A value that is half typed is not applied.
      if (of instanceof HTMLInputElement) of.value = this.typed ?? of.value;
      if (isTyping) return of.blur();
      if (this.grid.classList.contains("one")) this.boxes.forEach(({ element }) => element.classList.remove("enlarged"));
      this.grid.classList.remove("one");
      this.drawer.hidden = true;
      return;
    }
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    const names = Object.keys(LAYOUTS);
    const at = Number(event.key) - 1;
    if (names[at] !== undefined) this.layouts.querySelectorAll("button")[at]?.click();
    else if (event.key === "f") this.freeze?.click();
    else if (event.key === "r") this.setMode("since");
    else if (event.key === "a") this.setMode("all");
    else if (event.key === "l") this.setMode("last");
    else if (event.key === "c") this.editChannels();
  }
}
