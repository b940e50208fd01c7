# SPDX-License-Identifier: Apache-2.0
"""What the Python scripts of tests share: programs run with a time limit, checks that are counted,
and the last line, which ./dev test adds up (count_log in cmake/dev/stages.sh).

    a = ingot_parser(__doc__).parse_args()
    checks = Checks("flux")
    with work_folder() as folder:
        ingot = Ingot(a.ingot, folder)
        checks.report("two_dense.jld2", ingot.convert(path, "--golden", golden).error)
        checks.report("cut.bson", ingot("inspect", cut).refusal(2, "at byte"))
    sys.exit(checks.finish())
"""

import argparse
import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile


class RunError(RuntimeError):
    """A program that should have succeeded: which, and the end of its message."""


class Done(subprocess.CompletedProcess):
    """How a program ended."""

    @property
    def output(self):
        return (self.stdout + self.stderr).strip()

    @property
    def error(self):
        """What failed; "" where the exit code is 0."""
        if self.returncode == 0:
            return ""
        return f"{' '.join(self.args[1:2])}: exit {self.returncode}: {self.output[-400:]}"

    def succeeded(self):
        """@raises RunError"""
        if self.returncode:
            raise RunError(self.error)
        return self

    def refusal(self, codes, *words, lines=1):
        """What is wrong with an expected refusal, "" for nothing: one of `codes` (or that code),
        `lines` lines (None: any number) on standard error, all `words` in them."""
        expected = codes if isinstance(codes, (tuple, list, set, range)) else (codes,)
        text = self.stderr.strip()
        if self.returncode not in expected:
            return f"exit {self.returncode}, expected {codes}: {text[-400:]}"
        if lines is not None and len(text.splitlines()) != lines:
            return f"{len(text.splitlines())} lines, expected {lines}: {text[:400]}"
        missing = [word for word in words if word not in text]
        return f"does not say {missing}: {text[:600]}" if missing else ""


def run(*command, seconds=1800, env=None, **extra):
    """A program with its words, lists among them flattened; `env` is added to the environment. One
    that is not done after `seconds` is ended, with exit code 124."""
    words = []
    for word in command:
        words += map(str, word) if isinstance(word, (list, tuple)) else [str(word)]
    extra = {"capture_output": True, "text": True, "errors": "replace", **extra}
    try:
        done = subprocess.run(words, timeout=seconds, env={**os.environ, **(env or {})}, **extra)
    except subprocess.TimeoutExpired:
        return Done(words, 124, "", f"not done after {seconds} s")
    return Done(words, done.returncode, done.stdout, done.stderr)


def numpy_or_skip(what):
    """NumPy; without it the script ends here and counts as skipped. Stage models has it."""
    try:
        import numpy
    except ImportError:
        print(f"[skip] {what}: no numpy for Python")
        sys.exit(0)
    return numpy


class Ingot:
    """The command line, with a folder for the files of one model at a time."""

    def __init__(self, program, folder, suffix=".onnx", seconds=1800):
        self.program, self.folder = program, pathlib.Path(folder)
        self.suffix, self.seconds = suffix, seconds
        self.file = self.folder / "model.ingot"

    def __call__(self, *words, **extra):
        return run(self.program, *words, **{"seconds": self.seconds, **extra})

    def convert(self, source, *options):
        """Writes `file`. `source`: a path, an ONNX model, or the content of a file with the ending
        `suffix`."""
        if hasattr(source, "SerializeToString"):
            source = source.SerializeToString()
        if isinstance(source, bytes):
            path = self.folder / f"model{self.suffix}"
            path.write_bytes(source)
            source = path
        self.file.unlink(missing_ok=True)
        return self("convert", source, "-o", self.file, *options)

    def outputs(self, fed, *options, state=None):
        """Arrays by name: what `file` computes from those of `fed`. `state`: a file that is read
        where it exists, and written. @raises RunError"""
        import numpy as np

        inputs, outputs = self.folder / "in.npz", self.folder / "out.npz"
        np.savez(inputs, **{f"in:{name}": array for name, array in fed.items()})
        files = ["--inputs", inputs, "--outputs", outputs]
        if state:
            files += ["--save-state", state, *(["--load-state", state] if state.exists() else [])]
        self("run", self.file, "-q", *files, *options).succeeded()
        with np.load(outputs) as archive:
            return {name.removeprefix("out:"): archive[name] for name in archive.files}

    def conversation(self, tokens, runs, *options):
        """The logits of each run of a language model: so many of `tokens`, behind those before.
        @raises RunError"""
        import numpy as np

        state, at = self.folder / "conversation.state", 0
        state.unlink(missing_ok=True)
        for count in runs:
            fed = {
                "tokens": tokens[None, at : at + count].astype(np.int32),
                "position": np.array([at], np.int64),
            }
            at += count
            yield self.outputs(fed, *options, state=state)["logits"]

    def computed(self, source, fed, *options):
        """Arrays by name: what `source`, converted with `options`, computes. @raises RunError"""
        self.convert(source, *options).succeeded()
        return self.outputs(fed)


def largest_error(found, wanted, least):
    """Of the largest number, or of `least` where that is more; NaN where one is."""
    import numpy as np

    most = max(float(np.abs(wanted).max(initial=0)), least)
    return float(np.abs(found.astype(np.float64) - wanted).max(initial=0)) / most


class Checks:
    """Counts checks, and prints those that fail; `verbose`: all of them. `held`: keeps the lines
    for add(), where several run at once."""

    def __init__(self, name="", verbose=False, held=False):
        self.name, self.verbose = name, verbose
        self.passed = self.failed = self.skipped = self.uncompared = 0
        self.lines = [] if held else None

    def say(self, text):
        if self.lines is None:
            print(text, flush=True)
        else:
            self.lines.append(text)

    def check(self, ok, what, detail=""):
        self.passed += bool(ok)
        self.failed += not ok
        if not ok:
            detail = str(detail).strip()[-600:]
            self.say(f"[fail] {what}" + (f": {detail}" if detail else ""))
        elif self.verbose:
            self.say(f"[ok]   {what}")
        return ok

    def report(self, what, why):
        """A check that passed where `why` is empty. None, for what the other runtime of a
        comparison refuses, is no check and is counted in `uncompared`."""
        if why is None:
            self.uncompared += 1
            return None
        return self.check(not why, what, why)

    def skip(self, why):
        self.skipped += 1
        self.say(f"[skip] {why}")

    def add(self, other):
        """Prints what another one held, and counts it."""
        for line in other.lines or ():
            self.say(line)
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def finish(self, compared_with=""):
        """Prints the last line, before it what `compared_with`, another runtime, refused as a skip.
        @return the exit status: 1 where a check failed, or none was made
        and nothing was skipped."""
        if compared_with and self.uncompared:
            self.skip(f"{self.uncompared} of the random models are none that {compared_with} takes")
        counts = f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"
        print(f"{self.name}: {counts}", flush=True)
        return 1 if self.failed or not self.passed + self.skipped else 0


def text_parser(text, **extra):
    """A parser whose help is `text`, in its lines."""
    return argparse.ArgumentParser(
        description=text, formatter_class=argparse.RawDescriptionHelpFormatter, **extra
    )


def ingot_parser(text, **extra):
    """The same with the option --ingot."""
    parser = text_parser(text, **extra)
    absolute = lambda path: pathlib.Path(path).absolute()
    parser.add_argument("--ingot", required=True, type=absolute, help="the program")
    return parser


@contextlib.contextmanager
def work_folder(**extra):
    """A folder that goes with all in it."""
    with tempfile.TemporaryDirectory(**extra) as folder:
        yield pathlib.Path(folder)
