// Alarms: limits of values, and channels without tags.

import type { Limits } from "./layout";
import { line } from "./numbers";

/** Returns why a value is outside of its limits. */
export function outside(limits: Limits | undefined, column: string, value: number): string | undefined {
  if (limits?.below !== undefined && value < limits.below) return `${line(column, value)} is below ${line(column, limits.below)}`;
  if (limits?.above !== undefined && value > limits.above) return `${line(column, value)} is above ${line(column, limits.above)}`;
  return undefined;
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
