// What a panel shows of its answer.

import type { Answer } from "./api";
import type { Figure } from "../figure/types";
import type { Panel } from "./layout";

/** An answer, or why there is none. */
export interface Result {
  answer: Answer | null;
  figure: Figure | null;
  /** The columns that the figure may be of. */
  columns: string[];
  notes: string[];
  error: string | null;
}

/** The content of a panel. */
export interface View {
  element: HTMLElement;
  /** Controls of its own for the head of the panel. */
  controls?: HTMLElement;
  show(result: Result): void;
  destroy?(): void;
  /** What the person did with the content, such as reset. */
  reset?(): void;
}

/** What a view may do to its panel. */
export interface Host {
  panel: Panel;
  /** Keeps a change of the panel; `asks` if the server has to be asked again. */
  changed(asks: boolean): void;
  alarm(reason: string | undefined): void;
}
