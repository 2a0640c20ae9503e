// What is known of a run, and warnings.

import type { Facts, RunState } from "./api";
import * as api from "./api";
import { h, setText } from "./dom";
import { count, line, span } from "./numbers";
import type { View } from "./view";

/** Age of the data from which a recording is said to have stopped. */
const STILL_S = 10;
/** Time between two looks at the store of the run. */
const EVERY_MS = 5000;

interface StoreInfo {
  reordered?: number;
  sources?: { name: string; remarks?: string[] }[];
  gaps?: { count: number; total_s: number };
  store_bytes?: number;
  sources_bytes?: number;
}

/** Returns what a person should know of a run: nothing new, channels without tags, damage, late tags. */
export function warnings(state: RunState, rates: Map<number, number>, info: StoreInfo): string[] {
  const found: string[] = [];
  if (state.problem !== null) found.push(state.problem);
  else if (state.age_s !== null && state.age_s >= STILL_S) found.push(`nothing new for ${span(state.age_s)}: no file grows`);
  for (const { channel, name, count } of state.facts?.channels ?? []) {
    if (count > 0 && rates.get(channel) === 0) found.push(`channel ${name ?? channel} has no tags in the last second`);
  }
  if (state.facts?.tick_assumed) found.push("the tick is assumed; tagq set --tick states it");
  if (info.reordered) found.push(info.reordered === 1 ? "1 tag came late and was put in order" : `${count(info.reordered)} tags came late and were put in order`);
  for (const source of info.sources ?? []) {
    for (const remark of source.remarks ?? []) found.push(`${source.name}: ${remark}`);
  }
  if (info.gaps?.count) found.push(`${info.gaps.count} gap${info.gaps.count === 1 ? "" : "s"} between files, ${span(info.gaps.total_s)} together`);
  return found;
}

export function infoView(state: () => RunState | undefined, rates: () => Map<number, number>): View {
  const facts = h("dl", { class: "facts" });
  const list = h("ul", { class: "warnings" });
  const element = h("div", { class: "scrolled", tabindex: 0, role: "region", "aria-label": "facts about the run" }, list, facts);
  let info: StoreInfo = {};
  let asked = 0;
  const values = new Map<string, HTMLElement>();
  const set = (name: string, value: string) => {
    let own = values.get(name);
    if (!own) {
      own = h("dd");
      values.set(name, own);
      facts.append(h("dt", {}, name), own);
    }
    setText(own, value);
  };
  const showFacts = (of: Facts, name: string) => {
    set("run", name);
    set("tags", count(of.tags));
    set("recorded", line("elapsed_s", of.elapsed_s));
    set("live time", line("live_s", of.live_s));
    set("files", String(of.sources));
    set("tick", `${tickText(of.tick)}${of.tick_assumed ? ", assumed" : ""}`);
    set("commit", String(of.commit));
    set("channels", of.channels.map((one) => `${one.name ?? one.channel}: ${count(one.count)}`).join(", "));
    if (info.store_bytes !== undefined) set("store", `${count(Math.round(info.store_bytes / 1e6))} MB`);
  };
  return {
    element,
    show() {
      const own = state();
      if (!own) return;
      if (Date.now() - asked > EVERY_MS) {
        asked = Date.now();
        api.info(own.index).then((got) => (info = got as StoreInfo), () => undefined);
      }
      if (own.facts) showFacts(own.facts, own.name);
      const texts = warnings(own, rates(), info);
      if (JSON.stringify(texts) !== list.dataset.texts) {
        list.dataset.texts = JSON.stringify(texts);
        list.replaceChildren(...texts.map((text) => h("li", {}, text)));
      }
    },
  };
}

/** Returns a tick, given in attoseconds as a fraction, as text. */
function tickText(tick: string): string {
  const [over = 0, under = 1] = tick.split("/").map(Number);
  const ps = over / under / 1e6;
  // As tagq shows it: all digits, or four if there are many.
  const all = ps.toPrecision(9);
  return `${Number(Number(all) === ps ? all : ps.toPrecision(4))} ps`;
}
