// The channels of a run: their rates, names, delays and limits on this page.

import type { Answer, Channel } from "./api";
import { button, field, h, setText } from "./dom";
import { limitsText, outside } from "./alarm";
import { knob, type Knob } from "./knob";
import type { Layout } from "./layout";
import { added, duration, line } from "./numbers";
import { valueOf } from "./rows";

/** The place of a channel. */
interface Item {
  element: HTMLElement;
  name: HTMLElement;
  rate: HTMLElement;
  delay: HTMLElement;
  why: HTMLElement;
  /** Whether the alarm of its limits is on. */
  isOn: boolean;
}

/** The rates of all channels, one beside the other. */
export class Strip {
  readonly element = h("ul", { class: "strip", tabindex: 0, "aria-label": "rates of the channels in the last second" });
  /** The rate of each channel in the last second. */
  readonly rates = new Map<number, number>();
  private readonly items = new Map<number, Item>();

  constructor(private readonly alarm: (owner: unknown, reason: string | undefined) => void) {}

  show(answer: Answer | null, layout: Layout): void {
    this.element.classList.toggle("refused", answer === null);
    if (!answer) {
      for (const { rate } of this.items.values()) setText(rate, "–");
      return;
    }
    const names = new Map(answer.run.channels.map((of) => [of.channel, of]));
    for (const row of answer.rows) {
      const channel = Number(row.channel);
      const { value, err } = valueOf(row, "rate_hz");
      const of = names.get(channel);
      const name = of?.name ?? String(channel);
      const item = this.item(channel);
      this.rates.set(channel, value ?? 0);
      setText(item.name, name);
      setText(item.rate, line("rate_hz", value, err));
      const isDead = (value ?? 0) === 0 && (of?.count ?? 0) > 0;
      const limits = layout.alarms[channel] ?? {};
      item.isOn = outside(limits, value ?? 0, item.isOn);
      const reason = isDead ? "no tags" : item.isOn ? limitsText(limits, "rate_hz") : undefined;
      const delay = layout.delays[channel];
      setText(item.delay, delay === undefined ? "" : `delay ${delay}`);
      item.element.classList.toggle("alarm", reason !== undefined);
      setText(item.why, reason ?? "");
      this.alarm(item, reason && `channel ${name}: ${reason}`);
    }
  }

  /** Shows the rates as old ones. */
  setStale(isStale: boolean): void {
    this.element.classList.toggle("stale", isStale);
  }

  clear(): void {
    for (const item of this.items.values()) this.alarm(item, undefined);
    this.items.clear();
    this.rates.clear();
    this.element.replaceChildren();
  }

  private item(channel: number) {
    let item = this.items.get(channel);
    if (!item) {
      const [name, rate, delay, why] = [h("b"), h("span", { class: "rate" }), h("span", { class: "delay" }), h("span", { class: "why" })];
      item = { element: h("li", {}, name, rate, delay, why), name, rate, delay, why, isOn: false };
      this.items.set(channel, item);
      this.element.append(item.element);
    }
    return item;
  }
}

/** Delays that were found, in seconds by channel, and what is said of them. */
export interface Found {
  delays: Map<number, number>;
  notes: string[];
}

/** Returns the form in which names, delays, limits and groups are edited, for this page only; `find` finds delays. */
export function channelForm(
  channels: Channel[],
  layout: Layout,
  changed: () => void,
  again: () => void,
  find: () => Promise<Found>,
): HTMLElement {
  let step = "100ps";
  const nameOf = (channel: number) => Object.entries(layout.names).find(([, of]) => of === channel)?.[0];
  const delays = new Map<number, Knob>();
  const rows = channels.map((of) => {
    const name = h("input", { type: "text", size: 8, value: nameOf(of.channel) ?? of.name ?? "", "aria-label": `name of channel ${of.channel}` });
    name.addEventListener("change", () => {
      const old = nameOf(of.channel);
      if (old !== undefined) delete layout.names[old];
      const text = name.value.trim();
      if (text !== "" && text !== of.name) layout.names[text] = of.channel;
      changed();
      // Another channel may have had this name.
      again();
    });
    const delay = knob(`delay of ${of.channel}`, "added to the times of this channel", layout.delays[of.channel] ?? "", "0", 
      (value, steps) => added(value, duration(step) ?? { number: 100, unit: "ps" }, steps),
      (text) => {
        if (text === "" || duration(text)?.number === 0) delete layout.delays[of.channel];
        else layout.delays[of.channel] = text;
        changed();
      }, { number: 100, unit: "ps" });
    const limit = (key: "below" | "above") => {
      const input = h("input", { type: "number", size: 8, min: 0, step: "any", placeholder: "Hz",
        value: layout.alarms[of.channel]?.[key] ?? "", "aria-label": `alarm ${key}, in Hz, for channel ${of.channel}` });
      input.addEventListener("change", () => {
        const own = { ...layout.alarms[of.channel] };
        if (input.value === "") delete own[key];
        else own[key] = Number(input.value);
        if (Object.keys(own).length > 0) layout.alarms[of.channel] = own;
        else delete layout.alarms[of.channel];
        changed();
      });
      return field(`alarm ${key}`, input);
    };
    delays.set(of.channel, delay);
    const legend = h("legend", {}, `channel ${of.channel}`);
    return h("fieldset", { class: "channel" }, legend, field("name", name), field("delay", delay.element), limit("below"), limit("above"));
  });
  const said = h("p", { class: "message", role: "status" });
  const finder = button("Find delays", "find the delays of all channels by their coincidences, in the whole run", () => void found());
  const found = async () => {
    finder.disabled = true;
    setText(said, "looking for peaks …");
    try {
      const { delays: all, notes } = await find();
      for (const [channel, seconds] of all) {
        // Twelve digits are exact for ticks, and keep away what is added by floats.
        layout.delays[channel] = `${Number((seconds * 1e9).toPrecision(12))}ns`;
        delays.get(channel)?.set(layout.delays[channel]);
      }
      setText(said, notes.join(" · "));
      changed();
    } catch (error) {
      setText(said, error instanceof Error ? error.message : String(error));
    } finally {
      finder.disabled = false;
    }
  };
  const steps = h("input", { type: "text", value: step, size: 7 });
  steps.addEventListener("change", () => {
    if (duration(steps.value)) step = steps.value;
    else steps.value = step;
  });
  const groups = h("input", { type: "text", value: layout.groups.map((group) => group.join(",")).join(" "), placeholder: "every pair" });
  groups.addEventListener("change", () => {
    const words = groups.value.trim().split(/\s+/).filter(Boolean);
    const channel = (of: string) => layout.names[of] ?? channels.find(({ channel, name }) => name === of || String(channel) === of)?.channel;
    const asked = words.map((word) => word.split(",").map(channel));
    const isGroup = (group: (number | undefined)[]): group is number[] => group.length > 1 && !group.includes(undefined);
    const isRight = asked.every(isGroup);
    groups.setAttribute("aria-invalid", String(!isRight));
    if (!isRight) return;
    layout.groups = asked.filter(isGroup);
    changed();
  });
  return h("div", { class: "form" },
    h("p", {}, "These hold for this page and its address; tagq.toml is not changed."),
    ...rows, finder, said,
    field("step of delays", steps),
    field("groups, such as 1,2 1,2,3", groups),
    button("No delays, names, groups and alarms", "forget all of these", () => {
      Object.assign(layout, { names: {}, delays: {}, groups: [], alarms: {} });
      changed();
      again();
    }),
  );
}
