// A panel: its head with controls and the age of its data, and its view.

import type { Kind, Options, OptionType } from "./api";
import { button, h, setText } from "./dom";
import { figureView } from "./figure";
import { read, written } from "./form";
import { type Knob, knob } from "./knob";
import type { Panel } from "./layout";
import { matrixView } from "./matrix";
import { numberView } from "./number";
import { span, stepped } from "./numbers";
import { tableView } from "./table";
import type { Host, Result, View } from "./view";

/** Age from which numbers are no longer shown as live. */
export const STALE_S = 3;
/** Returns whether an option has a knob in the head of a panel: the window, and the bins where rows are bins. */
function hasKnob({ name }: OptionType, panel: Panel, kind: Kind): boolean {
  const isBinned = kind.options.some((option) => option.name === "range") || panel.options?.bin !== undefined;
  return name === "window" || name === "range" || (name === "bin" && isBinned);
}

/** What a panel needs of the page. */
export interface PanelHost {
  kind: Kind | undefined;
  runName: string | undefined;
  info: () => View;
  /** The channels that are asked if the panel names none. */
  channels(): string;
  /** What the panel waits for. */
  waitsFor(): string;
  changed(asks: boolean): void;
  alarm(owner: unknown, reason: string | undefined): void;
  edit(): void;
  drop(onto: Panel, from: Panel): void;
  enlarge(): void;
}

/** The panel that is dragged to another place. */
let dragged: Panel | undefined;

export class PanelBox {
  readonly element: HTMLElement;
  private readonly view: View;
  private readonly age = h("span", { class: "age" });
  private readonly message = h("p", { class: "message", role: "status" });
  private readonly knobs = new Map<string, Knob>();
  /** What is shown, for tests. */
  result: Result | undefined;
  private question: string | undefined;
  /** When the shown data were the newest, in ms since 1970. */
  private newest: number | undefined;

  constructor(
    readonly panel: Panel,
    /** What it was made from. */
    readonly made: string,
    private readonly page: PanelHost,
  ) {
    const host: Host = {
      panel,
      changed: (asks) => page.changed(asks),
      alarm: (reason) => {
        this.element.classList.toggle("alarm", reason !== undefined);
        page.alarm(this, reason && `${this.title()}: ${reason}`);
      },
    };
    const views = { number: numberView, figure: figureView, matrix: matrixView, table: () => tableView(), info: page.info };
    this.view = views[panel.view](host);
    const title = h("h2", {}, this.title());
    title.draggable = true;
    const tools = h("span", { class: "tools" },
      button("⚙", "settings, copy, move, remove", () => page.edit()),
      button("⤢", "enlarge this panel, or show all", () => page.enlarge()),
    );
    const { kind } = page;
    const knobs = kind && panel.view !== "info" ? kind.options.filter((option) => hasKnob(option, panel, kind)) : [];
    const head = h("header", { class: "panel-head" }, title, this.channels(), ...knobs.map((option) => this.knobOf(option)), this.view.controls, this.age, tools);
    this.element = h("section", { class: `panel ${panel.view}-panel`, "aria-label": this.title() }, head, this.view.element, this.message);
    this.resize();
    title.addEventListener("dragstart", () => (dragged = panel));
    title.addEventListener("dragend", () => (dragged = undefined));
    this.element.addEventListener("dragover", (event) => {
      if (dragged) event.preventDefault();
    });
    this.element.addEventListener("drop", () => {
      if (dragged && dragged !== panel) page.drop(panel, dragged);
    });
  }

  private title(): string {
    const { view, query, options } = this.panel;
    const words: Record<string, string> = { g2: "g2", rates: "Rates", coincidences: "Coincidences", micro: "Micro times" };
    const name = view === "info" ? "Info" : (words[query ?? ""] ?? (query ?? "").replace(/^./, (first) => first.toUpperCase()));
    const over = query === "rates" && options && "bin" in options ? " over time" : "";
    const parts = ["last", "from", "to"].filter((key) => typeof options?.[key] === "string").map((key) => ` · ${key} ${options?.[key]}`);
    return `${name}${over}${parts.join("")}${this.page.runName ? ` · ${this.page.runName}` : ""}`;
  }

  /** Returns the field for the channels or groups of the query. */
  private channels(): HTMLElement | undefined {
    const of = this.page.kind?.channels;
    if (!of || this.panel.view === "info") return undefined;
    const own = this.page.kind?.options.filter(({ name }) => of.options.includes(name)) ?? [];
    const { options = {} } = this.panel;
    const value = own.map(({ name }) => written(options[name])).filter(Boolean).join(",");
    const input = h("input", { type: "text", class: "channels", value, placeholder: this.page.channels(), size: 6, title: of.help,
      "aria-label": "channels", spellcheck: "false", autocomplete: "off" });
    input.addEventListener("change", () => {
      const changed: Options = { ...this.panel.options };
      for (const { name } of own) delete changed[name];
      const [first] = own;
      if (first && own.length === 1) {
        const value = read(first, input.value);
        if (value !== undefined) changed[first.name] = value;
        for (const other of this.page.kind?.options ?? []) if (other.excludes.includes(first.name)) delete changed[other.name];
      } else {
        const words = input.value.split(/[\s,]+/).filter(Boolean);
        own.forEach((option, at) => {
          const value = read(option, words[at] ?? "");
          if (value !== undefined) changed[option.name] = value;
        });
      }
      this.panel.options = changed;
      this.page.changed(true);
    });
    return input;
  }

  private knobOf(option: OptionType): HTMLElement {
    const set = (text: string) => {
      const options: Options = { ...this.panel.options };
      delete options[option.name];
      for (const other of option.excludes) if (text) delete options[other];
      if (text) options[option.name] = text;
      this.panel.options = options;
      this.page.changed(true);
    };
    const value = this.panel.options?.[option.name];
    const text = typeof value === "string" ? value : "";
    const step = (of: { number: number; unit: string }, steps: number) => {
      let next = of;
      for (let at = 0; at < Math.abs(steps); at += 1) next = stepped(next, steps > 0);
      return next;
    };
    const made = knob(option.name, option.help, text, "auto", step, set, { number: 1, unit: "ns" });
    this.knobs.set(option.name, made);
    return made.element;
  }

  /** Shows the answer to a question, whose data were `age` seconds old when it came. */
  show(question: string, result: Result, age: number): void {
    this.newest = Date.now() - age * 1000;
    this.result = result;
    // What was held of another question does not belong to this one.
    if (this.question !== undefined && this.question !== question) this.view.reset?.();
    this.question = question;
    const texts = result.error === null ? result.notes : [result.error];
    this.element.classList.toggle("refused", result.error !== null);
    setText(this.message, texts.join(" · "));
    this.message.title = texts.join("\n");
    for (const [name, own] of this.knobs) own.refuse(result.error?.includes(name) ? result.error : undefined);
    if (result.error === null || this.panel.view === "number") this.view.show(result);
    this.tick();
  }

  /** Shows what is known beside the answers, such as the facts of a run. */
  refresh(newest: number | undefined): void {
    this.newest = newest;
    this.view.show({ answer: null, figure: null, columns: [], notes: [], error: null });
    this.tick();
  }

  /** Shows the age of the data. */
  tick(): void {
    const isRefused = this.result !== undefined && this.result.error !== null;
    if (this.newest === undefined || isRefused) {
      this.element.classList.add("stale");
      return setText(this.age, isRefused ? "not counted" : this.page.waitsFor());
    }
    const seconds = Math.max(0, (Date.now() - this.newest) / 1000);
    const isStale = seconds >= STALE_S;
    this.element.classList.toggle("stale", isStale);
    setText(this.age, isStale ? `${span(seconds)} old` : "live");
  }

  /** Shows options in the head that were changed elsewhere. */
  follow(): void {
    for (const [name, own] of this.knobs) own.set(written(this.panel.options?.[name]));
  }

  /** Sets the size on the page. */
  resize(): void {
    this.element.style.setProperty("--w", String(this.panel.width));
    this.element.style.setProperty("--h", String(this.panel.height));
  }

  reset(): void {
    this.view.reset?.();
  }

  destroy(): void {
    this.view.destroy?.();
    this.page.alarm(this, undefined);
    this.element.remove();
  }
}
