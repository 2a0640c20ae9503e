/** The values at the cursor, as text beside it. */

import type { Reading, Spot } from "../kinds/content";
import type { Box } from "../paint/pen";

let count = 0;

export class Readout {
  readonly element = document.createElement("div");
  private readonly heading = document.createElement("div");
  private readonly rows: { row: HTMLElement; swatch: HTMLElement; name: HTMLElement; text: HTMLElement }[] = [];

  constructor() {
    count += 1;
    this.element.className = "tagq-readout";
    this.element.id = `tagq-readout-${count}`;
    this.element.hidden = true;
    this.heading.className = "tagq-readout-heading";
    this.element.append(this.heading);
  }

  /** Shows a bin beside its place in the area, or nothing. */
  show(spot: Spot | null, area: Box): void {
    this.element.hidden = spot === null;
    if (!spot) return;
    setText(this.heading, spot.heading);
    spot.readings.forEach((reading, number) => this.fill(number, reading));
    for (const { row } of this.rows.splice(spot.readings.length)) row.remove();
    const x = area.left + spot.at.x * (area.right - area.left);
    const y = area.top + spot.at.y * (area.bottom - area.top);
    const { offsetWidth: wide, offsetHeight: high } = this.element;
    const room = this.element.parentElement?.clientWidth ?? area.right;
    const isLeft = x + 14 + wide > room && x - 14 - wide >= 0;
    const left = isLeft ? x - 14 - wide : Math.max(Math.min(x + 14, room - wide), 0);
    const top = Math.max(Math.min(y + 10, area.bottom - high), 0);
    this.element.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }

  private fill(number: number, reading: Reading): void {
    let parts = this.rows[number];
    if (!parts) {
      const [row, swatch, name, text] = [0, 1, 2, 3].map((at) => document.createElement(at === 0 ? "div" : "span"));
      parts = { row: row!, swatch: swatch!, name: name!, text: text! };
      parts.row.className = "tagq-readout-row";
      parts.row.append(parts.swatch, parts.name, parts.text);
      this.rows.push(parts);
      this.element.append(parts.row);
    }
    setSwatch(parts.swatch, reading);
    setText(parts.name, reading.name);
    setText(parts.text, reading.text);
  }
}

/** Gives an element the stroke of a series. */
export function setSwatch(element: HTMLElement, { colour, dash }: Reading): void {
  element.className = "tagq-swatch";
  element.hidden = colour === undefined;
  element.style.borderTopColor = colour ?? "transparent";
  element.style.borderTopStyle = dash && dash.length > 0 ? "dashed" : "solid";
}

/** Changes a text if it is another one, so that nothing is laid out again without need. */
export function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}
