"""Lifetimes of pixels compared with known truth and with flimlib: `cargo xtask rivals lifetimes` prepares and starts it.

NumPy draws the images: decays convolved with a response and folded by the period, with background. Half of the pixels have one
lifetime, half another one. ptufile writes them as PTU, which tagq reads; flimlib takes the same counts as an array. The bound is that of
Köllner and Wolfrum (1992) with a free background and a known response.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from statistics import median

import flimlib
import numpy as np
import ptufile

ROOT = Path(__file__).resolve().parents[2]
# Lines of docs/benchmarks.md before and after the tables.
BEGIN, END = "<!-- lifetimes -->", "<!-- /lifetimes -->"

# Nanoseconds. The period is ten times the longer lifetime, so that flimlib, which folds nothing, fits the same decay.
PERIOD, BINS = 25.0, 250
WIDTH = PERIOD / BINS
TAUS = 0.8, 2.5
BACKGROUND = 0.05
PHOTONS = 20, 100, 1_000
METHODS = "mean", "phasor", "exp"
FLIMLIB = "LMA, likelihood", "LMA, least squares", "RLD"
# It takes 4 ms a pixel.
FLIMLIB_IMAGES = 5
# Photons of a measured response.
OF_RESPONSE = 1_000_000


def pulses(draw, count, is_gaussian):
    """Returns when photons without a lifetime come: a jitter of 80 ps, of a detector with a slow tail of 0.25 ns in a fifth of all."""
    places = draw.normal(2.0, 0.08, count)
    return places if is_gaussian else places + draw.exponential(0.25, count) * (draw.random(count) < 0.2)


def binned(times):
    return np.minimum((times % PERIOD / WIDTH).astype(int), BINS - 1)


def drawn(draw, side, photons, is_gaussian):
    """Returns the counts of an image of `side` x `side` pixels, and the lifetime of each pixel."""
    taus = np.full((side, side), TAUS[0])
    taus[:, side // 2 :] = TAUS[1]
    counts = draw.poisson(photons, side * side)
    pixel = np.repeat(np.arange(side * side), counts)
    times = pulses(draw, pixel.size, is_gaussian) + draw.exponential(taus.ravel()[pixel])
    is_flat = draw.random(pixel.size) < BACKGROUND
    times[is_flat] = draw.random(is_flat.sum()) * PERIOD
    cube = np.bincount(pixel * BINS + binned(times), minlength=side * side * BINS)
    return cube.reshape(side, side, BINS), taus


def bound(tau, is_gaussian):
    """Returns the least relative standard deviation of a lifetime by one photon."""
    draw = np.random.default_rng(0)
    start = np.bincount(binned(pulses(draw, 4_000_000, is_gaussian)), minlength=BINS) / 4_000_000

    def shares(tau):
        edges = np.arange(BINS + 1) * WIDTH
        decay = -np.diff(np.exp(-edges / tau)) / -np.expm1(-PERIOD / tau)
        return np.fft.irfft(np.fft.rfft(decay) * np.fft.rfft(start), BINS)

    step, share = 1e-4, shares(tau)
    of_tau = (1 - BACKGROUND) * (shares(tau * (1 + step)) - shares(tau * (1 - step))) / (2 * step)
    slopes = np.array([of_tau, 1 / BINS - share])
    mixed = (1 - BACKGROUND) * share + BACKGROUND / BINS
    return np.sqrt(np.linalg.inv(slopes / mixed @ slopes.T)[0, 0])


class Program:
    """tagq, the command."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.file, self.response = folder / "image.ptu", folder / "response.txt"

    def run(self, *words):
        return subprocess.run([self.program, *words], check=True, capture_output=True, text=True).stdout

    def write(self, cube):
        shutil.rmtree(self.folder / "image.ptu.tagq", ignore_errors=True)
        self.file.unlink(missing_ok=True)
        ptufile.imwrite(self.file, cube.astype("u4"), PERIOD * 1e-9, WIDTH * 1e-9)

    def image(self, method, is_measured, *words):
        response = ["--irf", self.response] if is_measured else []
        return self.run(
            "image", "--lifetime", method, "--min-photons", "1", "--range", f"0t..{BINS}t", *response, *words, self.file
        )

    def lifetimes(self, method, is_measured, shape):
        """Returns the lifetimes and their errors in nanoseconds."""
        rows = json.loads(self.image(method, is_measured, "--format", "json"))["rows"]
        columns = [[row.get(name) for row in rows] for name in ("lifetime_s", "lifetime_s_err")]
        return [np.array(column, dtype=float).reshape(shape) * 1e9 for column in columns]


def by_flimlib(how, cube, prompt):
    """Returns the lifetimes by flimlib, as an experienced user would ask: the fast method over three lifetimes after the response, the others
    with the response from the mean arrival time on, until χ² no longer changes."""
    cube = cube.astype("f4")
    if how == "RLD":
        return flimlib.GCI_triple_integral_fitting_engine(
            WIDTH, cube, fit_start=24, fit_end=100, compute_fitted=False, compute_residuals=False, compute_chisq=False
        ).tau
    # Its convolution has photons at the beginnings of bins, which makes lifetimes half a bin longer; this response is half a bin later.
    prompt = (prompt + np.roll(prompt, 1)) / 2 / prompt.sum()
    start = np.empty((*cube.shape[:-1], 3), "f4")
    start[..., 0] = cube.sum(axis=-1) * BACKGROUND / BINS
    start[..., 1] = cube.max(axis=-1)
    # The mean arrival time without the background, after the response.
    times, net = (np.arange(BINS) + 0.5) * WIDTH, (1 - BACKGROUND) * cube.sum(axis=-1)
    flat = BACKGROUND * cube.sum(axis=-1) * PERIOD / 2
    start[..., 2] = np.clip((cube @ times - flat) / net - prompt @ times, 0.3, 5)
    noise = "NOISE_MLE" if how == "LMA, likelihood" else "NOISE_POISSON_FIT"
    found = flimlib.GCI_marquardt_fitting_engine(
        WIDTH, cube, start, instr=prompt, noise_type=noise,
        compute_fitted=False, compute_residuals=False, compute_chisq=False, compute_covar=False, compute_alpha=False,
        compute_erraxes=False,
    )  # fmt: skip
    return found.param[..., 2]


class Judged:
    """Lifetimes of many images against their truth."""

    def __init__(self):
        self.found = {}

    def add(self, key, found, err, truth):
        for tau in TAUS:
            is_here = truth == tau
            self.found.setdefault((*key, tau), []).append([found[is_here], err[is_here]])

    def row(self, key):
        """Returns for one lifetime the part of the pixels that have one, the bias of the mean and of the median, the standard deviation and
        half of the middle 68 % over the bound, and χ²/n."""
        response, photons, how, tau = key
        found, err = (np.concatenate([of[i] for of in self.found[key]]) for i in (0, 1))
        # A fit that leaves the range has found nothing.
        has = np.isfinite(found) & (found > WIDTH / 4) & (found < 2 * PERIOD)
        found, err = found[has], err[has]
        least = tau * bound(tau, response == "auto") / np.sqrt(photons)
        pulls = ((found - tau) / err) ** 2
        middle = np.subtract(*np.quantile(found, [0.8413, 0.1587])) / 2
        return has.mean(), found.mean() / tau - 1, np.median(found) / tau - 1, found.std() / least, middle / least, pulls.mean()


def accuracy(program, images, side):
    judged = Judged()
    for response in ("auto", "measured"):
        is_measured = response == "measured"
        for photons in PHOTONS:
            for number in range(images):
                draw = np.random.default_rng([number, photons, is_measured])
                cube, truth = drawn(draw, side, photons, is_gaussian=not is_measured)
                prompt = np.bincount(binned(pulses(draw, OF_RESPONSE, not is_measured)), minlength=BINS)
                program.response.write_text("\n".join(map(str, prompt)))
                program.write(cube)
                for method in METHODS:
                    judged.add((response, photons, method), *program.lifetimes(method, is_measured, truth.shape), truth)
                for how in FLIMLIB if is_measured and number < FLIMLIB_IMAGES else ():
                    tau = by_flimlib(how, cube, prompt)
                    judged.add((response, photons, how), tau, np.full(tau.shape, np.nan), truth)
    return judged


def table(judged):
    lines = [
        "| response | photons | method | lifetime, ns | answered | bias of mean; median | spread : bound, σ; middle 68 % | χ²/n |",
        "|---|--:|---|--:|--:|--:|--:|--:|",
    ]
    for key in judged.found:
        response, photons, how, tau = key
        has, bias, of_median, spread, middle, chi = judged.row(key)
        who = f"tagq, {how}" if how in METHODS else f"flimlib, {how}"
        shown = f"{chi:.2f}" if np.isfinite(chi) else "–"
        lines.append(
            f"| {response} | {photons:,} | {who} | {tau} | {100 * has:.1f} % | {100 * bias:+.1f} %; {100 * of_median:+.1f} %"
            f" | {spread:.2f}; {middle:.2f} | {shown} |"
        )
    return "\n".join(lines)


def speed(program, rounds, side, photons):
    """Returns medians of interleaved rounds on the same cores, in pixels per second."""
    draw = np.random.default_rng(1)
    cube, _ = drawn(draw, side, photons, is_gaussian=False)
    prompt = np.bincount(binned(pulses(draw, OF_RESPONSE, False)), minlength=BINS)
    program.response.write_text("\n".join(map(str, prompt)))
    program.write(cube)
    # The store is there.
    program.image("mean", True, "--format", "csv")
    seconds = {}
    for _ in range(rounds):
        for method in METHODS:
            (program.folder / "out.tif").unlink(missing_ok=True)
            start = time.perf_counter()
            program.image(method, True, "--output", program.folder / "out.tif")
            seconds.setdefault(f"tagq, {method}: store to TIFF", []).append(time.perf_counter() - start)
        for how in FLIMLIB:
            start = time.perf_counter()
            by_flimlib(how, cube, prompt)
            seconds.setdefault(f"flimlib, {how}: array to array", []).append(time.perf_counter() - start)
    lines = [f"| {side} x {side} pixels of {photons} photons | s | pixels/s |", "|---|--:|--:|"]
    for name, all_ in seconds.items():
        lines.append(f"| {name} | {median(all_):.3f} | {side * side / median(all_):,.0f} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(prog="cargo xtask rivals lifetimes", description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=Path, required=True, help="the folder of tagq")
    parser.add_argument("--images", type=int, default=34, help="of each response and number of photons, 204 in all")
    parser.add_argument("--side", type=int, default=32, help="pixels of a line of these images")
    parser.add_argument("--rounds", type=int, default=5, help="of the times")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks.md")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        program = Program(arguments.programs / "tagq", Path(folder))
        times = speed(program, arguments.rounds, 64, 200) if arguments.rounds else ""
        print(times, flush=True)
        found = table(accuracy(program, arguments.images, arguments.side))
    about = (
        f"{arguments.images} images of {arguments.side} x {arguments.side} pixels of each response and number of photons (flimlib: the first"
        f" {min(FLIMLIB_IMAGES, arguments.images)});"
        f" flimlib {version('flimlib')}, ptufile {version('ptufile')}, NumPy {np.__version__}, Python {platform.python_version()}."
    )
    text = "\n".join([about, "", found, "", times])
    print(text)
    if arguments.write:
        page = ROOT / "docs/benchmarks.md"
        before, rest = page.read_text().split(BEGIN)
        page.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}")


if __name__ == "__main__":
    main()
