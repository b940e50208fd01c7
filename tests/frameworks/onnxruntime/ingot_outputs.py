"""What ingot makes of an ONNX model: its outputs, or the line that it ends with."""

import subprocess

import numpy as np


class Ended(Exception):
    """The command and the end of what it said."""


def call(what, *words):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True)
    if done.returncode:
        raise Ended(f"{what}: {done.stderr.strip()[-300:]}")


def ingot_outputs(ingot, work, source, fed, *options):
    """Arrays by name, by way of files in `work`. `options`: of convert. @raises Ended"""
    call("convert", ingot, "convert", source, "-o", work / "one.ingot", *options)
    np.savez(work / "in.npz", **fed)
    files = ["--inputs", work / "in.npz", "--outputs", work / "out.npz"]
    call("run", ingot, "run", work / "one.ingot", *files)
    return np.load(work / "out.npz")


def largest_error(found, wanted, least):
    """Of the largest number, or of `least` where that is more; NaN where one is."""
    most = max(float(np.abs(wanted).max(initial=0)), least)
    return float(np.abs(found.astype(np.float64) - wanted).max(initial=0)) / most
