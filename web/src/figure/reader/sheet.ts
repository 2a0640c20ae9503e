/** A figure with its title, its header and its legend, for files. */

import { HEADER, MARGIN, TICK, widest } from "../paint/axes";
import type { Palette } from "../paint/colour";
import type { Content } from "../kinds/content";
import { broken, cutTo, type Pen } from "../paint/pen";
import type { Figure } from "../types";

const TITLE = 20;
const NAMES = 190;

/** A page: its size, and how it is painted. */
export interface Sheet {
  width: number;
  height: number;
  paint(pen: Pen): void;
}

/** Lays a figure out on a page of some width. */
export function sheetOf(figure: Figure, content: Content, palette: Palette, width: number, measure: Pen): Sheet {
  const room = width - 2 * MARGIN;
  // A figure without a caption has neither.
  const header = figure.header === "" ? [] : broken(measure, figure.header, HEADER, room);
  const lines = [...header, ...(figure.note === null ? [] : [figure.note])];
  const head = figure.title === "" ? MARGIN : MARGIN + TITLE + 4;
  const top = head + lines.length * HEADER * 1.45 + 16;
  const legend = content.hasPanels ? [] : content.legend(palette);
  const names = legend.length > 0 ? Math.min(widest(measure, legend.map(({ name }) => name), TICK), NAMES) + 52 : 0;
  const wide = room - names;
  const high = Math.max(content.height(wide), legend.length * 22 + 20);
  return {
    width,
    height: Math.ceil(top + high + MARGIN),
    paint: (pen) => {
      pen.words(cutTo(pen, figure.title, TITLE, room), [MARGIN, MARGIN + TITLE], TITLE, palette.ink, "start");
      lines.forEach((line, number) => {
        const y = head + (number + 1) * HEADER * 1.45;
        pen.words(line, [MARGIN, y], HEADER, palette.faint, "start");
      });
      const area = content.area(pen, wide, high);
      const moved = new MovedPen(pen, MARGIN, top);
      content.paint(moved, palette, area, wide);
      legend.forEach(({ name, colour, dash }, number) => {
        const y = top + area.top + 12 + 22 * number;
        const x = MARGIN + area.right + 14;
        pen.lines([[[x, y], [x + 26, y]]], colour ?? palette.ink, 2.5, dash ?? []);
        pen.words(cutTo(pen, name, TICK, NAMES), [x + 34, y + 0.36 * TICK], TICK, palette.ink, "start");
      });
    },
  };
}

/** Draws at another place. */
class MovedPen implements Pen {
  constructor(
    private readonly pen: Pen,
    private readonly x: number,
    private readonly y: number,
  ) {}

  area: Pen["area"] = (corners, ...look) => this.pen.area(this.places(corners), ...look);
  cell: Pen["cell"] = (box, colour) => this.pen.cell(this.box(box), colour);
  grid: Pen["grid"] = (box, ...cells) => this.pen.grid(this.box(box), ...cells);
  lines: Pen["lines"] = (lines, ...look) => this.pen.lines(lines.map((line) => this.places(line)), ...look);
  dots: Pen["dots"] = (at, ...look) => this.pen.dots(this.places(at), ...look);
  words: Pen["words"] = (text, [x, y], ...look) => this.pen.words(text, [x + this.x, y + this.y], ...look);
  within: Pen["within"] = (box, draw) => this.pen.within(this.box(box), draw);
  width: Pen["width"] = (text, size) => this.pen.width(text, size);

  private places(all: [number, number][]): [number, number][] {
    return all.map(([x, y]) => [x + this.x, y + this.y]);
  }

  private box({ left, top, right, bottom }: Parameters<Pen["cell"]>[0]): Parameters<Pen["cell"]>[0] {
    return { left: left + this.x, top: top + this.y, right: right + this.x, bottom: bottom + this.y };
  }
}
