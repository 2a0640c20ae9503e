// Alarms: limits of values, and channels without tags.

import type { Limits } from "./layout";
import { line } from "./numbers";

/** How far a value has to be within its limits, as a share of them, for its alarm to end. */
const BACK = 0.02;

/** Returns whether the alarm of a value is on; one that is on ends some way within the limits. */
export function outside({ below, above }: Limits, value: number, isOn: boolean): boolean {
  const way = isOn ? BACK : 0;
  return (below !== undefined && value < below + way * Math.abs(below)) || (above !== undefined && value > above - way * Math.abs(above));
}

/** Returns the limits in words. */
export function limitsText({ below, above }: Limits, column: string): string {
  const parts = [below !== undefined && `below ${line(column, below)}`, above !== undefined && `above ${line(column, above)}`];
  return parts.filter(Boolean).join(" or ");
}

/** The alarms that are on, by who raised them. */
export class Alarms {
  private readonly on = new Map<unknown, string>();

  constructor(private readonly changed: (reasons: string[], isNew: boolean) => void) {}

  /** Sets or ends the alarm of `owner`. */
  set(owner: unknown, reason: string | undefined): void {
    const before = this.on.get(owner);
    if (before === reason) return;
    if (reason === undefined) this.on.delete(owner);
    else this.on.set(owner, reason);
    this.changed([...this.on.values()], before === undefined && reason !== undefined);
  }
}
