// The one stream of a page: the questions of all panels, answered at each commit.

import type { Question, Update } from "./api";

/** The state of the connection. */
export type Connection = "connecting" | "open" | "lost" | "closed";

/** Time from a change of the questions to the new stream, so that a drag does not open a hundred. */
const SETTLE_MS = 120;
const RETRY_MS = [500, 1000, 2000, 5000];
/** Questions of one stream at most; the server refuses more. */
export const QUESTIONS_MAX = 16;

/** Asks the server again and again, and gives each answer to those who asked. */
export class Stream {
  private source: EventSource | undefined;
  private timer: number | undefined;
  private tries = 0;
  private keys: string[] = [];
  /** The questions of the open stream. */
  private open = "";
  private isWanted = true;

  constructor(
    private readonly update: (keys: string[], update: Update) => void,
    private readonly changed: (state: Connection, reason?: string) => void,
  ) {}

  /** Sets the questions; equal ones are asked once. The new stream opens a moment later. */
  ask(questions: Question[]): void {
    this.keys = [...new Set(questions.map((question) => JSON.stringify(question)))].slice(0, QUESTIONS_MAX);
    if (this.isWanted && JSON.stringify(this.keys) !== this.open) this.later(SETTLE_MS);
  }

  /** Opens the stream, or closes it: while the page is hidden or frozen nothing is asked. */
  want(isWanted: boolean): void {
    if (isWanted === this.isWanted) return;
    this.isWanted = isWanted;
    if (isWanted) this.later(0);
    else this.close("closed");
  }

  /** Opens the stream again, after a network that was gone without a word. */
  again(): void {
    if (!this.isWanted) return;
    this.close("lost");
    this.later(0);
  }

  private later(ms: number): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.connect(), ms);
  }

  private close(state: Connection): void {
    clearTimeout(this.timer);
    this.source?.close();
    this.source = undefined;
    this.open = "";
    this.changed(state);
  }

  private connect(): void {
    if (!this.isWanted || this.keys.length === 0) return;
    this.source?.close();
    const keys = this.keys;
    this.open = JSON.stringify(keys);
    const source = new EventSource(`api/watch?queries=${encodeURIComponent(`[${keys.join(",")}]`)}`);
    this.source = source;
    this.changed("connecting");
    source.onopen = () => {
      this.tries = 0;
      this.changed("open");
    };
    source.onmessage = (event: MessageEvent<string>) => this.update(keys, JSON.parse(event.data) as Update);
    source.onerror = (event) => {
      // An error event of the server has data; a failure of the connection has none.
      const data = (event as MessageEvent<string>).data as string | undefined;
      const reason = data === undefined ? undefined : (JSON.parse(data) as { error: string }).error;
      if (source !== this.source) return;
      source.close();
      this.source = undefined;
      this.open = "";
      this.changed("lost", reason);
      if (reason === undefined) void refusal(source.url).then((why) => why && !this.source && this.changed("lost", why));
      this.later(RETRY_MS[Math.min(this.tries, RETRY_MS.length - 1)] ?? 5000);
      this.tries += 1;
    };
  }
}

/** Returns why the server refuses a stream, which the browser does not tell; `undefined` if it does not answer, or not so. */
async function refusal(url: string): Promise<string | undefined> {
  const stop = new AbortController();
  try {
    const response = await fetch(url, { signal: stop.signal });
    if (response.ok) return undefined;
    const body = (await response.json().catch(() => undefined)) as { error?: string } | undefined;
    return body?.error ?? `The server refuses the queries of this page: ${response.status} ${response.statusText}.`;
  } catch {
    return undefined;
  } finally {
    stop.abort();
  }
}
