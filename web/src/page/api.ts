// The server's API: what it answers, and how it is asked.

import type { Figure } from "../figure/types";

/** A value of an option, as docs/requests.schema.json types it. */
export type Value = string | number | boolean | null | Value[];
export type Options = Record<string, Value>;

/** An option of a query. */
export interface OptionType {
  name: string;
  type: "flag" | "text" | "texts" | "number" | "choice" | "channel" | "channels" | "groups" | "delays";
  value_name: string | null;
  help: string;
  section: "counts" | "accidentals" | "selection";
  default: string | null;
  excludes: string[];
  requires: string | null;
  repeated: boolean;
  duration: boolean;
  choices?: { name: string; help: string }[];
}

/** A type of queries. */
export interface Kind {
  name: string;
  summary: string;
  channels: { value_name: string; options: string[]; help: string } | null;
  options: OptionType[];
}

/** A channel of a run. */
export interface Channel {
  channel: number;
  name?: string;
  count: number;
}

/** What is known of a run. */
export interface Facts {
  path: string;
  tick: string;
  tick_assumed: boolean;
  commit: number;
  tags: number;
  sources: number;
  live_s: number;
  elapsed_s: number;
  channels: Channel[];
}

/** A run of the server; `facts` are missing before its first tags. */
export interface RunState {
  index: number;
  name: string;
  age_s: number | null;
  facts: Facts | null;
  /** Why nothing new is ingested, while that is so. */
  problem: string | null;
}

/** One question, as `POST /api/query` takes it. */
export interface Question {
  run: number;
  query: string;
  options: Options;
  names?: Record<string, number>;
  figure?: { is_logarithmic?: boolean; quantity?: string; figure?: string; brightness?: boolean };
}

export type Row = Record<string, Value>;

/** The answer to a question. */
export interface Answer {
  query: Record<string, unknown>;
  run: Facts;
  /** Missing in an event with the figure of the answer. */
  rows: Row[];
  total?: Row | Row[] | null;
}

/** An event: lists with one entry for each question. */
export interface Update {
  update: number;
  at_s: number;
  took_s: number;
  answers: (Answer | null)[];
  figures?: (Figure | null)[];
  /** The columns that each figure may be of. */
  columns?: (string[] | null)[];
  ages_s: (number | null)[];
  notes: string[][];
  errors: (string | null)[];
}

/** A refusal of the server. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    reason: string,
  ) {
    super(reason);
  }
}

/** Time after which a server is said not to answer. */
const TIMEOUT_MS = 5000;

/** Time that an answer to a query may take. */
const ANSWER_MS = 120_000;

async function asked(path: string, init?: RequestInit, timeout = TIMEOUT_MS): Promise<unknown> {
  const response = await fetch(`api/${path}`, { ...init, signal: AbortSignal.timeout(timeout) });
  if (response.status === 204) return undefined;
  const body: unknown = await response.json().catch(() => undefined);
  if (!response.ok) {
    const reason = (body as { error?: string } | undefined)?.error ?? `the server answers ${response.status}`;
    throw new Refused(response.status, reason);
  }
  return body;
}

const post = (path: string, body: unknown, timeout?: number) =>
  asked(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) }, timeout);

export const kinds = async () => ((await asked("kinds")) as { kinds: Kind[] }).kinds;
export const runs = async () => ((await asked("run")) as { runs: RunState[] }).runs;
export const info = async (run: number) => (await asked(`info?run=${run}`)) as Record<string, unknown>;
export const command = async (question: Question) => (await post("command", question)) as { command: string; python: string };
export const answer = async (question: Question) => (await post("query", question, ANSWER_MS)) as Answer & { notes: string[] };
export const login = (token: string) => post("login", { token });
