/** The canvas of a figure with its cursor and its selection, by uPlot. */

import uPlot from "../../../vendor/uplot/uPlot.js";
import type { Fraction } from "../kinds/content";
import type { Box } from "../paint/pen";

/** What a frame asks and tells its figure. */
export interface FrameOwner {
  /** Returns the area of values for a size in points, at least `left` from the left. */
  area(width: number, height: number, left: number): Box;
  paint(context: CanvasRenderingContext2D, area: Box, width: number): void;
  moved(at: Fraction | null): void;
  selected(from: Fraction, to: Fraction): void;
  reset(): void;
}

/** Lines through the cursor, and directions in which a part can be selected. */
export interface FrameLook {
  lines: { x: boolean; y: boolean };
  selects: { x: boolean; y: boolean };
}

export class Frame {
  private readonly plot: uPlot;
  private width: number;
  private height: number;
  private box: Box;

  constructor(
    private readonly host: HTMLElement,
    private readonly owner: FrameOwner,
    look: FrameLook,
    [width, height]: [number, number],
  ) {
    [this.width, this.height] = [width, height];
    this.box = owner.area(width, height, 0);
    // The figure has its own axes; uPlot knows places from 0 to 1.
    const whole = (): [number, number] => [0, 1];
    this.plot = new uPlot(
      {
        width,
        height,
        padding: [
          () => this.box.top,
          () => this.width - this.box.right,
          () => this.height - this.box.bottom,
          () => this.box.left,
        ],
        scales: { x: { time: false, range: whole }, y: { range: whole } },
        axes: [{ show: false }, { show: false }],
        series: [{}, { paths: () => null, points: { show: false } }],
        legend: { show: false },
        cursor: {
          ...look.lines,
          points: { show: false },
          drag: { ...look.selects, setScale: false, dist: 5 },
          bind: {
            dblclick: () => () => {
              owner.reset();
              return null;
            },
          },
        },
        hooks: {
          draw: [(plot) => this.draw(plot)],
          setCursor: [(plot) => owner.moved(this.cursorAt(plot))],
          setSelect: [(plot) => this.select(plot, look.selects)],
        },
      },
      [[0, 1], [0, 1]],
      host,
    );
  }

  /** The element above the area of values, which has the events of pointers. */
  get over(): HTMLElement {
    return this.plot.over;
  }

  get area(): Box {
    return this.box;
  }

  /** Draws again, in a new size if there is one. */
  redraw(width: number, height: number): void {
    const isSame = width === this.width && height === this.height;
    // Numbers that become shorter do not move the area.
    const left = width === this.width ? this.box.left : 0;
    [this.width, this.height] = [width, height];
    this.box = this.owner.area(width, height, left);
    if (isSame) this.plot.redraw(false, true);
    else this.plot.setSize({ width, height });
  }

  /** Puts the cursor at a position, or removes it. */
  setCursor(at: Fraction | null): void {
    const { left, top, right, bottom } = this.box;
    const place = at ? { left: at.x * (right - left), top: at.y * (bottom - top) } : { left: -10, top: -10 };
    this.plot.setCursor(place, false);
  }

  /** Returns the position of a pointer. */
  fractionOf(event: { clientX: number; clientY: number }): Fraction {
    const { left, top, width, height } = this.plot.over.getBoundingClientRect();
    return { x: (event.clientX - left) / width, y: (event.clientY - top) / height };
  }

  destroy(): void {
    this.plot.destroy();
    this.host.replaceChildren();
  }

  private draw(plot: uPlot): void {
    const { ctx } = plot;
    // The area may be at another place, and uPlot remembers the last one.
    plot.syncRect(true);
    ctx.save();
    ctx.setTransform(uPlot.pxRatio, 0, 0, uPlot.pxRatio, 0, 0);
    this.owner.paint(ctx, this.box, this.width);
    ctx.restore();
  }

  private cursorAt(plot: uPlot): Fraction | null {
    const { left = -10, top = -10 } = plot.cursor;
    if (left < 0 || top < 0) return null;
    return { x: left / plot.over.clientWidth, y: top / plot.over.clientHeight };
  }

  private select(plot: uPlot, selects: FrameLook["selects"]): void {
    const { left, top, width, height } = plot.select;
    const [wide, high] = [plot.over.clientWidth, plot.over.clientHeight];
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    if ((selects.x && width < 3) || (selects.y && height < 3)) return;
    this.owner.selected(
      { x: left / wide, y: top / high },
      { x: (left + width) / wide, y: (top + height) / high },
    );
  }
}
