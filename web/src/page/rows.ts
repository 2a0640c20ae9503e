// Rows of answers: their names and their columns of numbers.

import type { Answer, Channel, Row } from "./api";
import { errorColumn } from "./numbers";

const nameOf = (channels: Channel[], channel: unknown): string =>
  channels.find((of) => of.channel === channel)?.name ?? String(channel);

/** Returns the name of a channel of an answer. */
export const channelName = (answer: Answer, channel: unknown): string => nameOf(answer.run.channels, channel);

/** Returns the name of a row: its channel, or the channels of its group. */
export function rowName(answer: Answer, row: Row): string {
  if (Array.isArray(row.channels)) return row.channels.map((of) => channelName(answer, of)).join(",");
  if ("channel" in row) return channelName(answer, row.channel);
  if (typeof row.start_s === "number") return `${row.start_s} s`;
  return "all";
}

/** Returns the rows of an answer and its totals. */
export function rowsOf(answer: Answer): { name: string; row: Row }[] {
  const rows = answer.rows.map((row) => ({ name: rowName(answer, row), row }));
  const totals = answer.total ? [answer.total].flat() : [];
  return rows.concat(totals.map((row) => ({ name: "all", row })));
}

/** Returns the columns that hold numbers and are no standard errors. */
export function numberColumns(rows: Row[]): string[] {
  const names = Object.keys(rows[0] ?? {});
  const errors = new Set(names.map(errorColumn));
  const isNumber = (name: string) => rows.some((row) => typeof row[name] === "number");
  const plain = (name: string) => !errors.has(name) && !name.endsWith("_ticks") && name !== "channel";
  return names.filter((name) => plain(name) && isNumber(name));
}

/** Returns a value of a row and its standard error: a count without one has that of steady light. */
export function valueOf(row: Row | undefined, column: string): { value: number | undefined; err: number | undefined } {
  const value = row?.[column];
  const err = row?.[errorColumn(column)];
  if (typeof value !== "number") return { value: undefined, err: undefined };
  if (typeof err === "number") return { value, err };
  return { value, err: column === "count" ? Math.sqrt(value) : undefined };
}

/** Returns a column's name in words. */
export function columnName(column: string): string {
  const names: Record<string, string> = { car: "CAR", rate_hz: "rate", p_a_given_b: "P(A|B)", p_b_given_a: "P(B|A)" };
  return names[column] ?? column.replace(/_(hz|s)$/, "").replaceAll("_", " ");
}
