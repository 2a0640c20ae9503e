// What a person arranged: panels, mode, names, delays, groups, alarms. The address of the page holds it.

import type { Kind, Options, Question, RunState } from "./api";
import { QUESTIONS_MAX } from "./stream";

export type View = "number" | "figure" | "matrix" | "table" | "info";

/** Limits outside of which an alarm sounds. */
export interface Limits {
  below?: number;
  above?: number;
}

/** A panel. */
export interface Panel extends Limits {
  view: View;
  query?: string;
  options?: Options;
  /** The index of its run; the run of the page if it is left out. */
  run?: number;
  /** The row and the column that are shown as a number; the column of a matrix. */
  row?: string;
  column?: string;
  is_logarithmic?: boolean;
  /** The column that a figure draws, if it is not the one that the answer is about. */
  quantity?: string;
  /** The figure of an image, if it is not the map, and whether pixels are as bright as they have photons. */
  figure?: string;
  brightness?: boolean;
  peak?: boolean;
  tone?: boolean;
  /** Width in twelfths of the page, and height in rows. */
  width: number;
  height: number;
}

/** Which part of the run all panels count. */
export type Mode = "all" | "since" | "last";

export interface Layout {
  panels: Panel[];
  mode: Mode;
  /** The length of the newest part that is counted. */
  last: string;
  /** The times after the first tag of each run from which on is counted. */
  since: string[];
  run: number;
  /** Channels by their names on this page. */
  names: Record<string, number>;
  /** Delays by the number of their channel. */
  delays: Record<string, string>;
  groups: number[][];
  /** Limits of the rates of channels. */
  alarms: Record<string, Limits>;
}

const BASE: Layout = {
  panels: [], mode: "last", last: "1s", since: [], run: 0, names: {}, delays: {}, groups: [], alarms: {},
};

/** Panels of a page at most: each asks one query, and the strip of rates another one. */
export const PANELS_MAX = QUESTIONS_MAX - 1;

/** The layouts that come with the page. */
export const LAYOUTS: Record<string, { title: string; layout: Layout }> = {
  align: {
    title: "Align",
    layout: {
      ...BASE,
      panels: [
        { view: "number", query: "coincidences", options: { window: "2ns" }, column: "rate_hz", peak: true, width: 12, height: 4 },
        { view: "number", query: "rates", column: "rate_hz", width: 4, height: 3 },
        { view: "figure", query: "rates", options: { bin: "500ms", last: "60s" }, width: 8, height: 3 },
      ],
    },
  },
  count: {
    title: "Count",
    layout: {
      ...BASE,
      mode: "all",
      panels: [
        { view: "matrix", query: "coincidences", options: { window: "2ns", choose: 2 }, column: "count", width: 6, height: 4 },
        { view: "table", query: "coincidences", options: { window: "2ns" }, width: 6, height: 4 },
        { view: "figure", query: "coincidences", options: { window: "2ns" }, quantity: "car", width: 6, height: 3 },
        { view: "info", width: 6, height: 3 },
      ],
    },
  },
  g2: {
    title: "g2",
    layout: {
      ...BASE,
      mode: "all",
      panels: [
        { view: "figure", query: "g2", width: 12, height: 4 },
        { view: "figure", query: "histogram", is_logarithmic: true, width: 6, height: 3 },
        { view: "figure", query: "micro", is_logarithmic: true, width: 6, height: 3 },
      ],
    },
  },
};

/** What a new panel shows. */
export const NEW_PANELS: { title: string; panel: Panel }[] = [
  { title: "Number", panel: { view: "number", query: "rates", column: "rate_hz", width: 6, height: 3 } },
  { title: "Rates over time", panel: { view: "figure", query: "rates", options: { bin: "500ms", last: "60s" }, width: 6, height: 3 } },
  { title: "Matrix", panel: { view: "matrix", query: "coincidences", options: { window: "2ns", choose: 2 }, column: "count", width: 6, height: 3 } },
  { title: "Coincidences", panel: { view: "figure", query: "coincidences", options: { window: "2ns" }, width: 6, height: 3 } },
  { title: "g2", panel: { view: "figure", query: "g2", width: 6, height: 3 } },
  { title: "Histogram", panel: { view: "figure", query: "histogram", width: 6, height: 3 } },
  { title: "Micro times", panel: { view: "figure", query: "micro", is_logarithmic: true, width: 6, height: 3 } },
  { title: "Table", panel: { view: "table", query: "coincidences", options: { window: "2ns" }, width: 6, height: 3 } },
  { title: "Info", panel: { view: "info", width: 6, height: 3 } },
];

const isIndex = (value: unknown): value is number => Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 0xffff;
const isChannel = (key: string) => /^\d{1,5}$/.test(key);
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns the layout of a fragment of an address: a name, or `layout=` and its JSON in base64; `undefined` if it is neither. */
export function parsed(fragment: string): Layout | undefined {
  const text = fragment.replace(/^#/, "");
  const named = Object.hasOwn(LAYOUTS, text) ? LAYOUTS[text] : undefined;
  if (named) return structuredClone(named.layout);
  if (!text.startsWith("layout=")) return undefined;
  try {
    const base64 = text.slice("layout=".length).replace(/-/g, "+").replace(/_/g, "/");
    const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
    return checked(JSON.parse(new TextDecoder().decode(bytes)));
  } catch {
    return undefined;
  }
}

/** Returns what is valid of a layout of an address, which may come from anywhere. */
function checked(given: unknown): Layout | undefined {
  if (!isObject(given) || !Array.isArray(given.panels)) return undefined;
  const layout = structuredClone(BASE);
  const views: View[] = ["number", "figure", "matrix", "table", "info"];
  const bounded = (value: unknown, most: number) => Math.min(most, Math.max(1, Math.round(Number(value)) || 1));
  for (const panel of given.panels.filter(isObject).slice(0, PANELS_MAX)) {
    const view = views.find((view) => view === panel.view);
    if (!view) continue;
    const of: Panel = { view, width: bounded(panel.width, 12), height: bounded(panel.height, 12) };
    for (const key of ["query", "row", "column", "quantity", "figure"] as const) if (typeof panel[key] === "string") of[key] = panel[key];
    for (const key of ["is_logarithmic", "peak", "tone", "brightness"] as const) if (panel[key] === true) of[key] = true;
    for (const key of ["below", "above"] as const) if (Number.isFinite(panel[key])) of[key] = panel[key] as number;
    if (isIndex(panel.run)) of.run = panel.run;
    if (isObject(panel.options)) of.options = panel.options as Options;
    layout.panels.push(of);
  }
  if (given.mode === "all" || given.mode === "since") layout.mode = given.mode;
  if (typeof given.last === "string") layout.last = given.last;
  if (Array.isArray(given.since)) layout.since = given.since.map(String);
  if (isIndex(given.run)) layout.run = given.run;
  const entries = (of: unknown) => (isObject(of) ? Object.entries(of) : []);
  for (const [name, channel] of entries(given.names)) if (isIndex(channel)) layout.names[name] = channel;
  for (const [channel, delay] of entries(given.delays)) if (isChannel(channel) && typeof delay === "string") layout.delays[channel] = delay;
  for (const [channel, limits] of entries(given.alarms)) {
    const own = Object.fromEntries(entries(limits).filter(([key, value]) => ["below", "above"].includes(key) && Number.isFinite(value)));
    if (isChannel(channel) && Object.keys(own).length > 0) layout.alarms[channel] = own as Limits;
  }
  if (Array.isArray(given.groups)) layout.groups = given.groups.filter((group): group is number[] => Array.isArray(group) && group.every(isIndex));
  return layout;
}

/** Returns the fragment of a layout, without what is as in a new one. */
export function fragment(layout: Layout): string {
  for (const [name, own] of Object.entries(LAYOUTS)) {
    if (JSON.stringify(own.layout) === JSON.stringify(layout)) return name;
  }
  const changed = Object.entries(layout).filter(
    ([key, value]) => JSON.stringify(value) !== JSON.stringify(BASE[key as keyof Layout]) || key === "panels",
  );
  const bytes = new TextEncoder().encode(JSON.stringify(Object.fromEntries(changed)));
  const base64 = btoa(String.fromCharCode(...bytes));
  return `layout=${base64.replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "")}`;
}

/** Whether a kind of queries has an option. */
export const has = (kind: Kind | undefined, option: string) => kind?.options.some((of) => of.name === option) ?? false;

/** Returns the index of the run of a panel: the first, if there is none with its own. */
export function runOf(panel: Panel, layout: Layout, runs: RunState[]): number {
  const run = panel.run ?? layout.run;
  return run < runs.length ? run : 0;
}

/** Returns the question of a panel: its own options, then those that the page sets for all panels. */
export function question(panel: Panel, layout: Layout, kinds: Kind[], runs: RunState[]): Question | undefined {
  const kind = kinds.find((kind) => kind.name === panel.query);
  const run = runOf(panel, layout, runs);
  if (!kind || !runs[run]?.facts) return undefined;
  const options: Options = { ...panel.options };
  const isSelected = "last" in options || "from" in options || "to" in options;
  if (!isSelected && layout.mode === "last" && has(kind, "last")) options.last = layout.last;
  const since = layout.since[run];
  if (!isSelected && layout.mode === "since" && since && has(kind, "from")) options.from = since;
  const delays = Object.entries(layout.delays).map(([channel, delay]) => [Number(channel), delay]);
  if (!("delays" in options) && delays.length > 0 && has(kind, "delays")) options.delays = delays;
  if (!("groups" in options) && !("choose" in options) && layout.groups.length > 0 && has(kind, "groups")) {
    options.groups = layout.groups;
  }
  nameChannels(kind, options, runs[run]?.facts?.channels.map(({ channel }) => channel) ?? []);
  const asked: Question = { run, query: kind.name, options };
  if (Object.keys(layout.names).length > 0) asked.names = layout.names;
  if (panel.view === "figure") {
    const { quantity, figure, brightness } = panel;
    asked.figure = { ...(quantity && { quantity }), ...(figure && { figure }), ...(brightness && { brightness }) };
  }
  return asked;
}

/** Names the first channels for a kind that needs a set number of them, if the run has more and none is named. */
function nameChannels(kind: Kind, options: Options, channels: number[]): void {
  const own = kind.channels?.options ?? [];
  const isSingle = (name: string) => kind.options.find((option) => option.name === name)?.type === "channel";
  if (own.length === 0 || !own.every(isSingle) || own.some((name) => name in options)) return;
  if (channels.length > own.length) own.forEach((name, at) => (options[name] = channels[at] ?? 0));
}
