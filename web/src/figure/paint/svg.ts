/** The pen that writes SVG. */

import { hexOf, type Rgb } from "./colour";
import { FONT, gridPicture, measuringPen, type Anchor, type Box, type Dash, type Pen, type Place } from "./pen";

const ESCAPES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (letter) => ESCAPES[letter]!);
}

/** Formats a number to a hundredth of a point. */
function number(value: number): string {
  return String(Math.round(value * 100) / 100 || 0);
}

const path = (places: Place[]) =>
  places.map(([x, y], at) => `${at === 0 ? "M" : "L"}${number(x)} ${number(y)}`).join("");

const sizeOf = ({ left, top, right, bottom }: Box) =>
  `width="${number(right - left)}" height="${number(bottom - top)}"`;

/** Most cells that are elements; more are one picture. */
const CELLS = 4096;

/** Collects the elements of a document. */
export class SvgPen implements Pen {
  private readonly parts: string[] = [];
  private clips = 0;

  area(corners: Place[], colour: string, opacity: number): void {
    if (corners.length < 3) return;
    const solid = opacity < 1 ? ` opacity="${opacity}"` : "";
    this.parts.push(`<path d="${path(corners)}Z" fill="${colour}"${solid}/>`);
  }

  cell(box: Box, colour: string): void {
    const at = `x="${number(box.left)}" y="${number(box.top)}"`;
    this.parts.push(`<rect ${at} ${sizeOf(box)} fill="${colour}" shape-rendering="crispEdges"/>`);
  }

  grid(box: Box, columns: number, rows: number, colour: (column: number, row: number) => Rgb | null): void {
    if (columns * rows > CELLS) {
      const [size, at] = [sizeOf(box), `x="${number(box.left)}" y="${number(box.top)}"`];
      const style = "image-rendering:optimizeSpeed;image-rendering:pixelated";
      const picture = gridPicture(columns, rows, colour).toDataURL();
      this.parts.push(`<image ${at} ${size} preserveAspectRatio="none" style="${style}" href="${picture}"/>`);
      return;
    }
    const [wide, high] = [(box.right - box.left) / columns, (box.bottom - box.top) / rows];
    for (let row = 0; row < rows; row += 1) {
      for (let column = 0; column < columns; column += 1) {
        const rgb = colour(column, row);
        const [left, top] = [box.left + wide * column, box.top + high * row];
        if (rgb) this.cell({ left, top, right: left + wide, bottom: top + high }, hexOf(rgb));
      }
    }
  }

  lines(lines: Place[][], colour: string, width: number, dash: Dash): void {
    const dashes = dash.length > 0 ? ` stroke-dasharray="${dash.join(" ")}"` : "";
    const all = lines.map(path).join("");
    if (all === "") return;
    this.parts.push(`<path d="${all}" fill="none" stroke="${colour}" stroke-width="${width}"${dashes}/>`);
  }

  dots(at: Place[], radius: number, colour: string): void {
    const circles = at.map(([x, y]) => `<circle cx="${number(x)}" cy="${number(y)}" r="${number(radius)}"/>`);
    this.parts.push(`<g fill="${colour}">${circles.join("")}</g>`);
  }

  words(text: string, [x, y]: Place, size: number, colour: string, anchor: Anchor, isTurned = false): void {
    const at = `x="${number(x)}" y="${number(y)}"`;
    const turned = isTurned ? ` transform="rotate(-90 ${number(x)} ${number(y)})"` : "";
    const look = `font-size="${number(size)}" fill="${colour}" text-anchor="${anchor}"${turned}`;
    this.parts.push(`<text ${at} ${look}>${escaped(text)}</text>`);
  }

  within({ left, top, right, bottom }: Box, draw: () => void): void {
    this.clips += 1;
    const id = `clip${this.clips}`;
    const size = `width="${number(right - left)}" height="${number(bottom - top)}"`;
    this.parts.push(`<clipPath id="${id}"><rect x="${number(left)}" y="${number(top)}" ${size}/></clipPath>`);
    this.parts.push(`<g clip-path="url(#${id})">`);
    draw();
    this.parts.push("</g>");
  }

  width(text: string, size: number): number {
    return measuringPen().width(text, size);
  }

  /** Returns the document. */
  document(width: number, height: number, paper: string): string {
    const size = `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`;
    return [
      '<?xml version="1.0" encoding="UTF-8"?>',
      `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="${FONT}">`,
      `<rect width="${width}" height="${height}" fill="${paper}"/>`,
      ...this.parts,
      "</svg>\n",
    ].join("\n");
  }
}
