"""Comparison of images with ptufile in one run: `cargo xtask rivals images` prepares and starts it.

The recording is a simulated scan in a PTU of mode T3. ptufile decodes it to arrays in memory; tagq is the command from start to
end, which writes a TIFF to memory. Rounds are interleaved, and medians are the result. Images and cubes are equal, pixel by pixel.
"""

import argparse
import os
import shutil
import subprocess
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from statistics import median

import numpy as np
import ptufile
import tifffile

SCAN = "--fluorescence 3ns=0.6,0.8ns --rate 2MHz --pulsed 12.5ns --delay 1=2ns --jitter 80ps --channels 1 --tick 100ps"


def decoded(path, **options):
    with ptufile.PtuFile(path) as file:
        return file.decode_image(channel=0, frame=-1, keepdims=False, **options)


class Suite:
    def __init__(self, program, folder, frames):
        self.program, self.folder, self.scan = program, folder, folder / "scan.ptu"
        self.run("simulate", *SCAN.split(), "--scan", f"256x256x{frames}", "--dwell", "5us", self.scan)
        self.store = self.scan.with_name("scan.ptu.tagq")
        # Each pixel's bins are those of ptufile.
        self.bins = ["--micro", "--range", f"0t..{decoded(self.scan).shape[-1]}t"]
        self.seconds = {}

    def run(self, *words):
        subprocess.run([self.program, *words], check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def timed(self, name, function):
        start = time.perf_counter()
        result = function()
        self.seconds.setdefault(name, []).append(time.perf_counter() - start)
        return result

    def image(self, name, *words, is_new=False):
        if is_new:
            shutil.rmtree(self.store, ignore_errors=True)
        out = self.folder / "out.tif"
        out.unlink(missing_ok=True)
        self.timed(name, lambda: self.run("image", self.scan, *words, "--output", out))
        return out

    def round(self):
        known = self.timed("ptufile, cube", lambda: decoded(self.scan))
        image = self.timed("ptufile, image", lambda: decoded(self.scan, dtime=-1))
        for kind, words, expected in [
            ("image", [], image),
            ("cube", self.bins, np.moveaxis(known, -1, 0)),
        ]:
            for source, is_new in [("file", True), ("store", False)]:
                out = self.image(f"tagq, {source} to {kind}", *words, is_new=is_new)
                found = tifffile.imread(out)
                assert np.array_equal(np.squeeze(found), np.squeeze(expected)), (kind, source)
        for method in ["mean", "phasor", "exp"]:
            self.image(f"tagq, store to lifetimes ({method})", "--lifetime", method)
        self.photons = int(image.sum())

    def table(self):
        lines = ["| | s | times as fast as ptufile |", "|---|--:|--:|"]
        for name, seconds in self.seconds.items():
            rival = "ptufile, image" if name.endswith("image") else "ptufile, cube"
            ratio = median(self.seconds[rival]) / median(seconds)
            ours = f"{ratio:.1f}" if name.startswith("tagq") and "lifetimes" not in name else ""
            lines.append(f"| {name} | {median(seconds):.3f} | {ours} |")
        return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(prog="cargo xtask rivals images", description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=Path, required=True, help="the folder of tagq")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--frames", type=int, default=60, help="of 65,536 pixels, with ten photons each")
    arguments = parser.parse_args()
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        suite = Suite(arguments.programs / "tagq", Path(folder), arguments.frames)
        for _ in range(arguments.rounds):
            suite.round()
    print(f"{suite.photons:,} photons, 256 x 256 pixels; {arguments.rounds} rounds; ptufile {version('ptufile')}\n")
    print(suite.table())


if __name__ == "__main__":
    main()
