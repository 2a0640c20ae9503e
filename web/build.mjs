// Builds the scripts and styles that other parts of the program contain: `node build.mjs [FOLDER]`.
// With a folder, the outputs go below it instead of to their places in the repository.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = process.argv[2] ?? join(here, "..");

/** Each entry below src, its output below the root of the repository, and the format of a script. */
const OUTPUTS = [
  ["html.ts", "crates/plot/src/figure.js", "iife"],
  ["figure/figure.css", "crates/plot/src/figure.css"],
  ["page/main.ts", "crates/serve/src/page/page.js", "iife"],
  ["page/page.css", "crates/serve/src/page/page.css"],
  ["widget.ts", "crates/python/python/tagq/_live.js", "esm"],
  ["figure/figure.css", "crates/python/python/tagq/_live.css"],
];
/** The script that stands in a page whose policy names it by its hash. */
const INLINE = "crates/plot/src/figure.js";
/** What only tests use: modules below the folder that was given. */
const CHECKS = [["checks.ts", "checks.mjs", "esm"]];

/** Writes a file unless it has this content already: a test may be reading it. */
function write(path, contents) {
  if (existsSync(path) && readFileSync(path).equals(contents)) return;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, contents);
}

for (const [entry, output, format] of process.argv[2] === undefined ? OUTPUTS : [...OUTPUTS, ...CHECKS]) {
  const made = await build({
    absWorkingDir: here,
    entryPoints: [join("src", entry)],
    bundle: true,
    minify: true,
    target: "es2022",
    format,
    charset: "ascii",
    write: false,
  });
  const path = join(target, output);
  const [{ contents }] = made.outputFiles;
  write(path, contents);
  if (output === INLINE) {
    // A page names the only script that may run in it by this.
    const hash = createHash("sha256").update(contents).digest("base64");
    write(`${path}.sha256`, Buffer.from(`${hash}\n`));
  }
}
