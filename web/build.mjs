// Builds the scripts and styles that other parts of the program contain: `node build.mjs [FOLDER]`.
// With a folder, the outputs go below it instead of to their places in the repository.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = process.argv[2] ?? join(here, "..");

/** Each entry below src, and its output below the root of the repository. */
const OUTPUTS = [
  ["html.ts", "crates/plot/src/figure.js"],
  ["figure/figure.css", "crates/plot/src/figure.css"],
  ["page/main.ts", "crates/serve/src/page/page.js"],
  ["page/page.css", "crates/serve/src/page/page.css"],
];
/** The script that stands in a page whose policy names it by its hash. */
const INLINE = "crates/plot/src/figure.js";
/** What only tests use: modules below the folder that was given. */
const CHECKS = [["checks.ts", "checks.mjs"]];

const license = readFileSync(join(here, "vendor/uplot/LICENSE"), "utf8").trim();
const banner = { js: `/*! uPlot 1.6.32: github.com/leeoniya/uPlot\n${license}\n*/` };

for (const [entry, output] of process.argv[2] === undefined ? OUTPUTS : [...OUTPUTS, ...CHECKS]) {
  const isScript = output.endsWith(".js");
  const made = await build({
    absWorkingDir: here,
    entryPoints: [join("src", entry)],
    bundle: true,
    minify: true,
    target: "es2022",
    format: isScript ? "iife" : "esm",
    charset: "ascii",
    legalComments: "inline",
    banner: isScript ? banner : {},
    write: false,
  });
  const path = join(target, output);
  mkdirSync(dirname(path), { recursive: true });
  const [{ contents }] = made.outputFiles;
  writeFileSync(path, contents);
  if (output === INLINE) {
    // A page names the only script that may run in it by this.
    const hash = createHash("sha256").update(contents).digest("base64");
    writeFileSync(`${path}.sha256`, `${hash}\n`);
  }
}
