/** Values one below the other. */

import { BELOW, HEADER, MARGIN, TICK, drawBelow, drawNothing, widest } from "../paint/axes";
import { clamp, place } from "../scales/axis";
import type { Palette } from "../paint/colour";
import type { Content, Fraction, Reading, Spot } from "./content";
import { SOLID, cutTo, type Box, type Pen } from "../paint/pen";
import type { Bars } from "../types";
import { fixed, valueText } from "../scales/words";

/** Height of a bar with its space. */
const STEP = 30;

export class BarsContent implements Content {
  readonly zooms = { x: false, y: false };
  readonly canBeLogarithmic = false;
  readonly hasPanels = false;
  private readonly texts: string[];
  private readonly hasAccidentals: boolean;

  constructor(private readonly content: Bars) {
    this.texts = content.bars.map((bar) => valueText(content.axis, bar.value, bar.err));
    this.hasAccidentals = content.bars.some((bar) => bar.accidentals !== null);
  }

  legend(): Reading[] {
    return [];
  }

  height(): number {
    return Math.max(this.content.bars.length, 2) * STEP + this.top() + BELOW;
  }

  area(pen: Pen, width: number, height: number): Box {
    const names = this.content.bars.map((bar) => bar.name);
    const left = Math.min(widest(pen, names, TICK), 0.3 * width) + 12 + MARGIN;
    const numbers = this.isNarrow(width) ? 0 : widest(pen, this.texts, TICK) + 12;
    const right = Math.max(width - numbers - MARGIN, left + 40);
    return { left: Math.ceil(left), top: this.top(), right: Math.floor(right), bottom: height - BELOW };
  }

  paint(pen: Pen, palette: Palette, area: Box, width: number): void {
    const { axis, bars } = this.content;
    if (bars.length === 0) {
      drawNothing(pen, palette, "nothing was counted", area);
      return;
    }
    const across = (value: number) => area.left + clamp(place(axis, value), 0, 1) * (area.right - area.left);
    drawBelow(pen, palette, axis, area, width);
    const step = (area.bottom - area.top) / bars.length;
    bars.forEach((bar, number) => {
      const y = area.top + step * (number + 0.5);
      const stands = y + 0.36 * TICK;
      pen.words(cutTo(pen, bar.name, TICK, area.left - 12), [area.left - 8, stands], TICK, palette.ink, "end");
      if (!this.isNarrow(width)) pen.words(this.texts[number]!, [width - 4, stands], TICK, palette.ink, "end");
      if (bar.value === null) return;
      const half = 0.3 * step;
      const [left, right] = [across(Math.min(bar.value, 0)), across(Math.max(bar.value, 0))];
      pen.cell({ left, top: y - half, right, bottom: y + half }, palette.series[0]!);
      const [low, high] = [across(bar.value - bar.err), across(bar.value + bar.err)];
      const ends: [number, number][][] = [low, high].map((x) => [[x, y - 4], [x, y + 4]]);
      pen.lines([[[low, y], [high, y]], ...ends], palette.ink, 1.3, SOLID);
      if (bar.accidentals !== null) {
        const x = across(bar.accidentals);
        pen.lines([[[x, y - step / 2 + 2], [x, y + step / 2 - 2]]], palette.series[1]!, 3, SOLID);
      }
    });
    if (this.hasAccidentals) {
      const y = area.top - 12;
      pen.words("accidentals", [area.right, y + 0.36 * HEADER], HEADER, palette.ink, "end");
      const x = area.right - pen.width("accidentals", HEADER) - 8;
      pen.lines([[[x, y - 7], [x, y + 7]]], palette.series[1]!, 3, SOLID);
    }
    pen.lines([[[across(0), area.top], [across(0), area.bottom]]], palette.faint, 1.2, SOLID);
  }

  spotAt(at: Fraction, palette: Palette): Spot | null {
    const { bars } = this.content;
    return bars.length > 0 ? this.spot(Math.floor(at.y * bars.length), palette) : null;
  }

  spotFrom(spot: Spot | null, columns: number, rows: number, palette: Palette): Spot | null {
    if (this.content.bars.length === 0) return null;
    return this.spot(spot ? spot.row + columns + rows : 0, palette);
  }

  csv(): (string | number | null)[][] {
    const rows = this.content.bars.map((bar) => [bar.name, bar.value, bar.err, bar.accidentals]);
    return [["channels", "value", "err", "accidentals"], ...rows];
  }

  private spot(number: number, palette: Palette): Spot {
    const { axis, bars } = this.content;
    const row = clamp(number, 0, bars.length - 1);
    const bar = bars[row]!;
    const readings: Reading[] = [{ name: axis.label, text: this.texts[row]!, colour: palette.series[0]! }];
    if (bar.accidentals !== null) {
      const text = fixed(bar.accidentals, bar.accidentals < 100 ? 2 : 0);
      readings.push({ name: "accidentals", text, colour: palette.series[1]! });
    }
    const x = clamp(place(axis, bar.value ?? 0), 0, 1);
    return { column: 0, row, at: { x, y: (row + 0.5) / bars.length }, heading: bar.name, readings };
  }

  private top(): number {
    return this.hasAccidentals ? 28 : 8;
  }

  private isNarrow(width: number): boolean {
    return width < 420;
  }
}
