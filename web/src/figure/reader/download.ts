/** Files of a figure, as it is shown. */

import type { Palette } from "../paint/colour";
import { CanvasPen } from "../paint/pen";
import type { Sheet } from "./sheet";
import { SvgPen } from "../paint/svg";

/** The least number of pixels of a picture for each point. */
const PIXELS = 2;

/** Returns a page as SVG. */
export function svgOf(sheet: Sheet, palette: Palette): string {
  const pen = new SvgPen();
  sheet.paint(pen);
  return pen.document(sheet.width, sheet.height, palette.paper);
}

/** Returns a page as PNG. */
export function pngOf(sheet: Sheet, palette: Palette): Promise<Blob> {
  const canvas = document.createElement("canvas");
  const scale = Math.max(PIXELS, window.devicePixelRatio);
  [canvas.width, canvas.height] = [Math.round(sheet.width * scale), Math.round(sheet.height * scale)];
  const context = canvas.getContext("2d")!;
  context.scale(scale, scale);
  context.fillStyle = palette.paper;
  context.fillRect(0, 0, sheet.width, sheet.height);
  sheet.paint(new CanvasPen(context));
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the picture is too large"))), "image/png");
  });
}

/** Returns lines of cells as CSV. */
export function csvOf(lines: (string | number | null)[][]): string {
  const cell = (value: string | number | null) => {
    const text = value === null ? "" : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  };
  return lines.map((line) => `${line.map(cell).join(",")}\n`).join("");
}

/** Returns the beginning of a file's name that a title gives. */
export function fileName(title: string): string {
  const name = title.normalize("NFKD").replace(/[^A-Za-z0-9]+/g, "-").replace(/^-+|-+$/g, "");
  return name.slice(0, 80) || "figure";
}

/** Gives a file to the reader. */
export function save(content: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
