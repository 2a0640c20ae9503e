// Rows of answers: their names and their columns of numbers.

import type { Answer, Channel, Row } from "./api";
import { errorColumns, line, withoutUnit } from "./numbers";

const nameOf = (channels: Channel[], channel: unknown): string =>
  channels.find((of) => of.channel === channel)?.name ?? String(channel);

/** Returns the name of a channel of an answer. */
export const channelName = (answer: Answer, channel: unknown): string => nameOf(answer.run.channels, channel);

/** A row with its name, and a key that does not change with the names of channels. */
export interface NamedRow {
  key: string;
  name: string;
  row: Row;
}

/** Columns with the place of a bin. */
const PLACES = ["start_s", "delay_s", "micro_s", "a_delay_s"];

/** Whether the rows of an answer are bins. */
export const isBinned = (answer: Answer): boolean => PLACES.some((place) => place in (answer.rows[0] ?? {}));

function named(answer: Answer, row: Row): NamedRow {
  const channels = Array.isArray(row.channels) ? row.channels : "channel" in row ? [row.channel] : [];
  const place = PLACES.find((place) => typeof row[place] === "number");
  const bin = place === undefined ? [] : [line(place, row[place] as number)];
  const of = channels.map((channel) => channelName(answer, channel)).join(",");
  const pixel = ["frame", "line", "pixel"].filter((part) => part in row).map((part) => `${part} ${String(row[part])}`).join(", ");
  const name = [of, ...bin].filter(Boolean).join(" at ") || pixel || "all";
  const at = place === undefined ? pixel : String(row[place]);
  return { key: `${channels.join(",")}${at === "" ? "" : `@${at}`}` || "all", name, row };
}

/** Returns the rows of an answer and its totals. */
export function rowsOf(answer: Answer): NamedRow[] {
  const totals = answer.total ? [answer.total].flat() : [];
  return [...answer.rows.map((row) => named(answer, row)), ...totals.map((row) => ({ key: "all", name: "all", row }))];
}

/** Returns the columns that hold numbers and are no standard errors. */
export function numberColumns(rows: Row[]): string[] {
  const names = Object.keys(rows[0] ?? {});
  const errors = new Set(names.flatMap(errorColumns));
  const isNumber = (name: string) => rows.some((row) => typeof row[name] === "number");
  const plain = (name: string) => !errors.has(name) && !name.endsWith("_ticks") && name !== "channel";
  return names.filter((name) => plain(name) && isNumber(name));
}

/** Returns a value of a row and its standard error: a count without one has that of steady light. */
export function valueOf(row: Row | undefined, column: string): { value: number | undefined; err: number | undefined } {
  const value = row?.[column];
  const err = errorColumns(column).map((name) => row?.[name]).find((of) => typeof of === "number");
  if (typeof value !== "number") return { value: undefined, err: undefined };
  if (typeof err === "number") return { value, err };
  return { value, err: column === "count" ? Math.sqrt(value) : undefined };
}

/** Returns a column's name in words. */
export function columnName(column: string): string {
  const names: Record<string, string> = { car: "CAR", rate_hz: "rate", p_a_given_b: "P(A|B)", p_b_given_a: "P(B|A)" };
  return names[column] ?? withoutUnit(column).replaceAll("_", " ");
}
