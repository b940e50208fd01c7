#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks as firmware on emulated boards: converted, written as a project for each board, built
with its own Makefile, run in QEMU; every byte of the outputs as on the host.

  boards.py --ingot BIN --work DIR [--boards A,B] [--networks A,B] [--count]

The networks are the project's own (the digit reader, quantized and in f32, and two with state), a
wake word of a PyPI package, and MLPerf Tiny's with their reference inputs where shared material is
present. One with state has runs in a row. --count: instructions of a run on a Cortex-M4 (QEMU's
counter, a nanosecond for each), beside the published rows. A board that is too small is refused
when the project is written, and the line says so."""

import pathlib
import re
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from packages import fetch  # noqa: E402
from testing import Checks, ingot_parser, run  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import shared  # noqa: E402

SHARED = shared.SHARED / "models"
FLOATS = "digits_f32"  # the same bits with and without floating point in hardware
WAKE = "pymicro-wakeword==2.5.0:pymicro_wakeword/models/alexa.tflite"
STATEFUL = ("stream", "svdf", "alexa")
NETWORKS = {
    "str_ww_ref_model": "wake word",
    "kws_ref_model": "keyword",
    "vww_96_int8": "person",
    "pretrainedResnet_quant": "image",
    "ad01_int8": "anomaly",
    "digits": "digits int8",
    FLOATS: "digits f32",
    "stream": "stream int8",
    "svdf": "svdf f32",
    "alexa": "streaming wake word",
}
BOARDS = (
    "microbit",
    "mps2-an385-m0plus",
    "mps2-an385",
    "mps2-an386",
    "mps2-an500",
    "mps2-an505",
    "mps3-an547",
    "riscv32-virt",
)
# Million cycles of X-CUBE-AI 10.2 and of TFLite Micro's reference: MLPerf Tiny's published
# milliseconds on a Cortex-M4 at 120 MHz.
PUBLISHED = {
    "kws_ref_model": (43.4, 181.9),
    "vww_96_int8": (89.4, 600.5),
    "pretrainedResnet_quant": (165.7, 704.3),
    "ad01_int8": (4.79, 10.05),
}
CLOCK_MHZ, TICK_NS = 120, 40  # of the rows; of QEMU's mps2 boards, whose clock has 25 MHz
HEAP = re.compile(r"\b_?(malloc|_malloc_r|free|_free_r|_sbrk|calloc|realloc|_Znwj|_Znaj)$", re.M)


class Refused(Exception):
    pass


def call(*command):
    return run(*command).succeeded().stdout


def convert(ingot, work, name):
    source = SHARED / f"mlcommons__tiny/{name}.tflite"
    golden = SHARED / f"golden/mlcommons__tiny__{name}.tflite.npz"
    out = work / f"{name}.ingot"
    call(ingot, "convert", source, "-o", out, "--target", "mcu", "--dim", "N=1", "-q",
         "--exact-to", "builtin", "--golden", golden)  # fmt: skip
    return out


def digits(ingot, work, *options):
    out = work / f"{'digits' if options else FLOATS}.ingot"
    call(ingot, "convert", ROOT / "examples/digits/digits.onnx", "-o", out, "--target", "mcu",
         "--dim", "n=1", "-q", *options)  # fmt: skip
    return out


def digits_of_bytes(ingot, work):
    """Calibrated with a ring and a bar."""
    import make_digits

    make_digits.write_samples(work / "samples.npz")
    return digits(ingot, work, "--dtype", "int8", "--calibrate", work / "samples.npz")


def stream(ingot, work):
    """int8 with a state that starts at its zero point."""
    import make_stream

    source, out = work / "stream.onnx", work / "stream.ingot"
    make_stream.write_stream(source)
    call(ingot, "convert", source, "-o", out, "--target", "mcu", "-q", "--state", "s=sn",
         "--state-init", f"s={make_stream.ZERO}")  # fmt: skip
    return out


def svdf(ingot, work):
    out = work / "svdf.ingot"
    source = ROOT / "tests/fuzz/seeds/fuzz_tflite_model/svdf.tflite"
    call(ingot, "convert", source, "-o", out, "--target", "mcu", "-q")
    return out


def wake_word(ingot, work):
    """None where the package cannot be had."""
    out, source = work / "alexa.ingot", fetch(WAKE, work)
    if not source:
        print(f"[skip] a published streaming wake word: {WAKE} is not to be had")
        return None
    call(ingot, "convert", source, "-o", out, "--target", "mcu", "-q", "--exact-to", "builtin")
    return out


# the project's own, and what packages have
OWN = {
    "digits": digits_of_bytes,
    FLOATS: digits,
    "stream": stream,
    "svdf": svdf,
    "alexa": wake_word,
}


def check_on_board(ingot, work, board, files, program):
    """What a program of tests/firmware counts, in the place of a project's own; counted with the
    boards."""
    if program == "states.c":
        chosen = [files[n] for n in STATEFUL if n in files]
    else:
        chosen = [files[n] for n in ("str_ww_ref_model", "digits") if n in files][:1]
    if not chosen or not shutil.which("qemu-system-arm"):
        return 0, 0
    folder = work / program.partition(".")[0]
    build(ingot, folder, board, chosen, ROOT / "tests/firmware" / program)
    text = emulate(folder)
    counts = re.search(r"^(\d+) passed, (\d+) failed", text, re.M)
    print(f"{program} on {board}")
    print(text[: counts.start()].strip() if counts else text.strip())
    return tuple(map(int, counts.groups())) if counts else (0, 1)


def build(ingot, folder, board, files, program=None, options=()):
    """The image; @throws Refused with the line of a board that is too small. `program`: in the
    place of the project's main.c."""
    shutil.rmtree(folder, ignore_errors=True)
    made = run(ingot, "firmware", *files, "-o", folder, "--board", board, *options)
    if made.returncode == 7:
        raise Refused(made.stderr.strip().splitlines()[-1])
    made.succeeded()
    if program and program.suffix == ".c":
        shutil.copy(program, folder / "main.c")
    elif program:  # of C++, its kernels and its main
        shutil.copy(program, folder / "kernels.cpp")
        (folder / "main.c").write_text("")
    prefix = re.search(r"^CROSS \?= (\S+)", (folder / "board.mk").read_text(), re.M).group(1)
    ccache = "ccache " if shutil.which("ccache") else ""
    call("make", "-s", "-j2", "-C", folder, f"CC={ccache}{prefix}gcc", f"CXX={ccache}{prefix}g++")
    image = folder / "build/image.elf"
    if HEAP.search(call(prefix + "nm", image)):
        sys.exit(f"{folder}: a heap was linked")
    return image


def emulate(folder, *extra):
    command = re.search(r"^QEMU \?= (.*)", (folder / "board.mk").read_text(), re.M).group(1)
    return run(command.split(), extra, "-kernel", folder / "build/image.elf", seconds=300).output


def show(board, text, results):
    for name, equal, total, arena, ticks in re.findall(
        r"^(\w+): (\d+) of (\d+) bytes as on the host; arena (\d+) bytes, object \d+ bytes, "
        r"ticks (\d+)",
        text,
        re.M,
    ):
        good = equal == total
        results.append((board, name, good, int(arena), int(ticks)))
        print(f"{board:18} {NETWORKS.get(name, name):10} {equal} of {total} bytes as on the host, "
              f"arena {int(arena):,}{'' if good else '  ERROR'}")  # fmt: skip
    for line in re.findall(r"^(?:stack:|FAULT|.*failed, code).*", text, re.M):
        print(f"{board:18} {line}")


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--boards", default=",".join(BOARDS))
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--count", action="store_true")
    args = parser.parse_args()
    ingot, work = args.ingot.resolve(), args.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
    names = args.networks.split(",")
    files = {n: convert(ingot, work, n) for n in names if SHARED.exists() and n not in OWN}
    files |= {name: OWN[name](ingot, work) for name in names if name in OWN}
    files = {name: file for name, file in files.items() if file}
    if not files:
        print("[skip] no network for a board: there is no shared material (MLPerf Tiny's networks)")
    results, checks = [], Checks("boards")
    for board in args.boards.split(","):
        emulator = "qemu-system-riscv32" if board.startswith("riscv") else "qemu-system-arm"
        compiler = "riscv64-unknown-elf-g++" if board.startswith("riscv") else "arm-none-eabi-g++"
        if not shutil.which(emulator) or not shutil.which(compiler):
            checks.skip(f"{board}: {emulator} or {compiler} is absent")
            continue
        before = len(results)
        expected = 0
        try:
            folder = work / board
            build(ingot, folder, board, files.values())
            expected = len(files)
            show(board, emulate(folder), results)
        except Refused:  # not all at once: one by one
            for name, file in files.items():
                folder = work / f"{board}-{name}"
                try:
                    build(ingot, folder, board, [file])
                except Refused as line:
                    print(f"{board:18} {NETWORKS.get(name, name):10} refused: {line}")
                    continue
                expected += 1
                show(board, emulate(folder), results)
        mine = results[before:]
        checks.failed += expected - sum(good for _, _, good, _, _ in mine)
    refused = 0
    for program in ("refusals.c", "states.c"):
        counts = check_on_board(ingot, work, "mps2-an386", files, program)
        refused += counts[0]
        checks.failed += counts[1]
    for board in set(args.boards.split(",")) & {"mps2-an386", "mps2-an505", "mps3-an547"}:
        counts = check_on_board(ingot, work, board, files, "byte_kernels.cpp")
        refused += counts[0]
        checks.failed += counts[1]
    if args.count:
        folder = work / "mps2-an386"
        counted = []
        show("counted (M4)", emulate(folder, "-icount", "shift=0"), counted)
        for _, name, _, _, ticks in counted:
            count = ticks * TICK_NS / 1e6
            line = f"{NETWORKS.get(name, name):10} {count:8.2f} million instructions"
            if name in PUBLISHED:
                best, reference = (ms * CLOCK_MHZ / 1e3 for ms in PUBLISHED[name])
                line += (f"; X-CUBE-AI {best:.2f}, TFLM {reference:.1f} million cycles: "
                         f"{count / best:.2f} of the first")  # fmt: skip
            print(line)
    checks.passed = refused + sum(good for _, _, good, _, _ in results)
    sys.exit(checks.finish() or not checks.passed)


if __name__ == "__main__":
    main()
