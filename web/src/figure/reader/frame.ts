/** The canvas of a figure with its cursor and its selection. */

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

/** Points that a pointer moves before it selects, and that a selection has at least. */
const DRAG = 5;
const SELECTION = 3;

type Place = { x: number; y: number };

export class Frame {
  /** The element above the area of values, which has the events of pointers. */
  readonly over = element("tagq-over");
  private readonly canvas = document.createElement("canvas");
  private readonly vertical = element("tagq-cursor-x");
  private readonly horizontal = element("tagq-cursor-y");
  private readonly selection = element("tagq-selection");
  /** Ends what listens to the page. */
  private readonly end = new AbortController();
  private readonly pixels: MediaQueryList;
  private width: number;
  private height: number;
  private box: Box;
  /** Where the pointer went down, while it is down. */
  private from: Place | null = null;
  private isDrawing = false;

  constructor(
    private readonly host: HTMLElement,
    private readonly owner: FrameOwner,
    private readonly look: FrameLook,
    [width, height]: [number, number],
  ) {
    [this.width, this.height] = [width, height];
    this.box = owner.area(width, height, 0);
    this.over.append(this.vertical, this.horizontal, this.selection);
    host.classList.add("tagq-frame");
    host.replaceChildren(this.canvas, this.over);
    this.show(this.selection, null);
    this.setCursor(null);
    this.listen();
    // A page that is zoomed, or moved to another screen, has other pixels.
    this.pixels = matchMedia(`(resolution: ${devicePixelRatio}dppx)`);
    this.pixels.addEventListener("change", () => this.later(), { signal: this.end.signal });
    this.later();
  }

  get area(): Box {
    return this.box;
  }

  /** Draws again, in a new size if there is one. */
  redraw(width: number, height: number): void {
    // Numbers that become shorter do not move the area.
    const left = width === this.width ? this.box.left : 0;
    [this.width, this.height] = [width, height];
    this.box = this.owner.area(width, height, left);
    this.later();
  }

  /** Puts the cursor at a position, or removes it. */
  setCursor(at: Fraction | null): void {
    const { left, top, right, bottom } = this.box;
    this.cursorTo(at && { x: at.x * (right - left), y: at.y * (bottom - top) });
  }

  /** Returns the position of a pointer. */
  fractionOf(event: { clientX: number; clientY: number }): Fraction {
    const { left, top, width, height } = this.over.getBoundingClientRect();
    return { x: (event.clientX - left) / width, y: (event.clientY - top) / height };
  }

  destroy(): void {
    this.end.abort();
    this.host.replaceChildren();
  }

  /** Draws once, after all changes of now. */
  private later(): void {
    if (this.isDrawing) return;
    this.isDrawing = true;
    queueMicrotask(() => {
      this.isDrawing = false;
      if (!this.end.signal.aborted) this.draw();
    });
  }

  private draw(): void {
    const { left, top, right, bottom } = this.box;
    place(this.over, { left, top, width: right - left, height: bottom - top });
    const ratio = devicePixelRatio;
    // A canvas that is given a size is empty.
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.canvas.style.width = `${this.width}px`;
    this.canvas.style.height = `${this.height}px`;
    const context = this.canvas.getContext("2d");
    if (!context) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.owner.paint(context, this.box, this.width);
  }

  private listen(): void {
    const { over } = this;
    const { signal } = this.end;
    const inside = (event: MouseEvent) => this.placeOf(event);
    over.addEventListener("mousemove", (event) => this.moveTo(inside(event)), { signal });
    over.addEventListener("mouseleave", () => this.from || this.moveTo(null), { signal });
    over.addEventListener("mousedown", (event) => {
      if (event.button !== 0) return;
      this.from = inside(event);
      this.moveTo(this.from);
    }, { signal });
    document.addEventListener("mousemove", (event) => this.from && this.drag(this.from, inside(event)), { signal });
    document.addEventListener("mouseup", (event) => this.from && this.drop(this.from, inside(event)), { signal });
    over.addEventListener("dblclick", () => this.owner.reset(), { signal });
  }

  /** Returns the place of a pointer in the area, at its edge if it is outside. */
  private placeOf(event: MouseEvent): Place {
    const { left, top, width, height } = this.over.getBoundingClientRect();
    const within = (at: number, most: number) => Math.min(Math.max(at, 0), most);
    return { x: within(event.clientX - left, width), y: within(event.clientY - top, height) };
  }

  private moveTo(at: Place | null): void {
    this.cursorTo(at);
    const { clientWidth: wide, clientHeight: high } = this.over;
    this.owner.moved(at && { x: at.x / wide, y: at.y / high });
  }

  private cursorTo(at: Place | null): void {
    this.show(this.vertical, at && this.look.lines.x ? { left: at.x } : null);
    this.show(this.horizontal, at && this.look.lines.y ? { top: at.y } : null);
  }

  /** Returns what is selected between two places. */
  private between(from: Place, to: Place): Required<Sides> {
    const { clientWidth: wide, clientHeight: high } = this.over;
    const { selects } = this.look;
    return {
      left: selects.x ? Math.min(from.x, to.x) : 0,
      width: selects.x ? Math.abs(to.x - from.x) : wide,
      top: selects.y ? Math.min(from.y, to.y) : 0,
      height: selects.y ? Math.abs(to.y - from.y) : high,
    };
  }

  private drag(from: Place, to: Place): void {
    const { selects } = this.look;
    const isFar = (selects.x && Math.abs(to.x - from.x) >= DRAG) || (selects.y && Math.abs(to.y - from.y) >= DRAG);
    this.show(this.selection, isFar ? this.between(from, to) : null);
  }

  private drop(from: Place, to: Place): void {
    const wasShown = !this.selection.hidden;
    this.from = null;
    this.show(this.selection, null);
    const { left, top, width, height } = this.between(from, to);
    const { selects } = this.look;
    if (!wasShown || (selects.x && width < SELECTION) || (selects.y && height < SELECTION)) return;
    const { clientWidth: wide, clientHeight: high } = this.over;
    this.owner.selected(
      { x: left / wide, y: top / high },
      { x: (left + width) / wide, y: (top + height) / high },
    );
  }

  private show(what: HTMLElement, at: Sides | null): void {
    what.hidden = at === null;
    if (at) place(what, at);
  }
}

interface Sides {
  left?: number;
  top?: number;
  width?: number;
  height?: number;
}

function element(name: string): HTMLElement {
  const made = document.createElement("div");
  made.className = name;
  return made;
}

/** Puts an element at a place, in points. */
function place(what: HTMLElement, at: Sides): void {
  for (const [side, points] of Object.entries(at)) what.style.setProperty(side, `${points}px`);
}
