/** The few things that figures are made of, and the pen that draws them on a canvas. */

import type { Rgb } from "./colour";

/** A position in points: to the right, and down. */
export type Place = [x: number, y: number];

export type Anchor = "start" | "middle" | "end";

export type Dash = readonly number[];

/** Strokes of an expected value, and of series whose colour is also that of an earlier one. */
export const LONG: Dash = [7, 4];
export const SHORT: Dash = [2, 3];
export const SOLID: Dash = [];

export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** Draws on a canvas or into a file. */
export interface Pen {
  area(corners: Place[], colour: string, opacity: number): void;
  /** Draws an area without smoothed edges, which would leave hairlines between cells. */
  cell(box: Box, colour: string): void;
  /** Draws cells that fill a box; `null` is left out. Rows are numbered from the top. */
  grid(box: Box, columns: number, rows: number, colour: (column: number, row: number) => Rgb | null): void;
  lines(lines: Place[][], colour: string, width: number, dash: Dash): void;
  dots(at: Place[], radius: number, colour: string): void;
  words(text: string, at: Place, size: number, colour: string, anchor: Anchor, isTurned?: boolean): void;
  /** Shows what `draw` draws inside of a box alone. */
  within(box: Box, draw: () => void): void;
  /** Returns the width of a text. */
  width(text: string, size: number): number;
}

export const FONT = "DejaVu Sans, Verdana, Segoe UI, Helvetica, Arial, sans-serif";

/** Draws on a canvas. */
export class CanvasPen implements Pen {
  constructor(private readonly context: CanvasRenderingContext2D) {}

  area(corners: Place[], colour: string, opacity: number): void {
    if (corners.length < 3) return;
    this.trace([corners]);
    this.context.closePath();
    this.context.fillStyle = colour;
    this.context.globalAlpha = opacity;
    this.context.fill();
    this.context.globalAlpha = 1;
  }

  cell({ left, top, right, bottom }: Box, colour: string): void {
    const { a: scale } = this.context.getTransform();
    const snapped = (value: number) => Math.round(value * scale) / scale;
    this.context.fillStyle = colour;
    const [x, y] = [snapped(left), snapped(top)];
    this.context.fillRect(x, y, snapped(right) - x, snapped(bottom) - y);
  }

  grid(box: Box, columns: number, rows: number, colour: (column: number, row: number) => Rgb | null): void {
    const canvas = gridPicture(columns, rows, colour);
    this.context.imageSmoothingEnabled = false;
    this.context.drawImage(canvas, box.left, box.top, box.right - box.left, box.bottom - box.top);
  }

  lines(lines: Place[][], colour: string, width: number, dash: Dash): void {
    this.trace(lines);
    this.context.strokeStyle = colour;
    this.context.lineWidth = width;
    this.context.lineJoin = "round";
    this.context.setLineDash([...dash]);
    this.context.stroke();
    this.context.setLineDash([]);
  }

  dots(at: Place[], radius: number, colour: string): void {
    this.context.fillStyle = colour;
    this.context.beginPath();
    for (const [x, y] of at) {
      this.context.moveTo(x + radius, y);
      this.context.arc(x, y, radius, 0, 2 * Math.PI);
    }
    this.context.fill();
  }

  words(text: string, [x, y]: Place, size: number, colour: string, anchor: Anchor, isTurned = false): void {
    const { context } = this;
    context.font = `${size}px ${FONT}`;
    context.fillStyle = colour;
    context.textAlign = anchor === "middle" ? "center" : anchor;
    context.textBaseline = "alphabetic";
    if (!isTurned) {
      context.fillText(text, x, y);
      return;
    }
    context.save();
    context.translate(x, y);
    context.rotate(-Math.PI / 2);
    context.fillText(text, 0, 0);
    context.restore();
  }

  within({ left, top, right, bottom }: Box, draw: () => void): void {
    this.context.save();
    this.context.beginPath();
    this.context.rect(left, top, right - left, bottom - top);
    this.context.clip();
    draw();
    this.context.restore();
  }

  width(text: string, size: number): number {
    this.context.font = `${size}px ${FONT}`;
    return this.context.measureText(text).width;
  }

  private trace(lines: Place[][]): void {
    this.context.beginPath();
    for (const line of lines) {
      line.forEach(([x, y], number) => (number === 0 ? this.context.moveTo(x, y) : this.context.lineTo(x, y)));
    }
  }
}

/** Returns a picture with a pixel for each cell. */
export function gridPicture(
  columns: number,
  rows: number,
  colour: (column: number, row: number) => Rgb | null,
): HTMLCanvasElement {
  const image = new ImageData(columns, rows);
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1) {
      const rgb = colour(column, row);
      if (rgb) image.data.set([...rgb, 255], 4 * (row * columns + column));
    }
  }
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [columns, rows];
  canvas.getContext("2d")!.putImageData(image, 0, 0);
  return canvas;
}

let measuring: CanvasPen | undefined;

/** Returns a pen that measures texts, on no canvas in particular. */
export function measuringPen(): Pen {
  measuring ??= new CanvasPen(document.createElement("canvas").getContext("2d")!);
  return measuring;
}

/** Returns the text, cut if it is wider than `room`. */
export function cutTo(pen: Pen, text: string, size: number, room: number): string {
  if (pen.width(text, size) <= room) return text;
  const letters = [...text];
  while (letters.length > 1 && pen.width(`${letters.join("")}\u2026`, size) > room) letters.pop();
  return `${letters.join("")}\u2026`;
}

/** Splits a text into lines of at most this width, between words. */
export function broken(pen: Pen, text: string, size: number, room: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines[lines.length - 1];
    if (last !== undefined && pen.width(`${last} ${word}`, size) <= room) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(cutTo(pen, word, size, room));
  }
  return lines;
}
