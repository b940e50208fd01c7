#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stripped sizes as exact figures, each under its committed ceiling (tests/figures/ceilings.json);
raising one is a commit of its own.

  binary_sizes.py --ingot BIN --work DIR [--part own | shared] [--record]

--part own (the default): what every checkout can measure. --part shared: figures of MLPerf Tiny's
networks and of mnist_8, which are shared material (tests/support/shared.py).

one_cnn_static   a static x86-64 program that opens one file and runs it with only that network's
                 kernels (musl is not needed: glibc)
one_cnn_code     of it, what is ours: text and constants of our objects, without the C library
cli              the command line
shared_library   libingot.so
cortex_m4_code:NETWORK
                 code and constants of the bare image (from the last firmware stage), model and
                 images apart
cuda_host        the back end of GPUs on the host: text and constants of ingot_cuda and of the
                 plans, without device code
cuda_all         device code of all architectures, packed (from the last cuda stage); cuda_one: of
                 the largest of them
arena:NAME       arena bytes of a network, one thread, weights included
micro:NAME       RAM of an int8 network as `ingot firmware` runs it: activations, scratch, tables
                 and the opened model's object; for MLPerf Tiny's the ceiling is what TFLite Micro's
                 interpreter takes of its arena
micro_core       flash of the microcontroller's core on a Cortex-M4: validation included, with the
                 rules of four operators, without kernels
micro_object     RAM of an opened model besides its arena, on a Cortex-M4
stack_open, _run:NETWORKS
                 the deepest stack of opening and running them on a Cortex-M4, of micro_stack.py
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/cuda"), str(ROOT / "tests/support")]
import image_sizes  # noqa: E402

import micro_core  # noqa: E402
import micro_stack  # noqa: E402
from shared import SHARED  # noqa: E402
from testing import Checks, ingot_parser, run  # noqa: E402

TINY = SHARED / "models/mlcommons__tiny"
# arena_used_bytes() of tflite-micro on x86-64, tables included; never raised
MICRO = {
    "ad01_int8": 4671,
    "str_ww_ref_model": 16702,
    "kws_ref_model": 24318,
    "pretrainedResnet_quant": 55996,
    "vww_96_int8": 103673,
}
# 20 KB of flash (TFLite Micro's interpreter takes 29,464); never raised either
MICRO_CORE, MICRO_OBJECT = 20480, 80
STACK = {"stack_open": 3072, "stack_run": 3584}  # some more than one compiler's frames
COMPILER = 12  # of the ceilings: g++, which builds the figures
CEILINGS = pathlib.Path(__file__).resolve().parent / "ceilings.json"
FLAGS = [
    "-O2",
    "-ffp-contract=off",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-asynchronous-unwind-tables",
    "-ffunction-sections",
    "-fdata-sections",
]


def call(*command, **extra):
    return run(*command, **extra).succeeded().stdout


def stripped(path, work):
    out = work / (path.name + ".stripped")
    call("strip", "-o", out, path)
    return out.stat().st_size


def one_cnn(ingot, tree, work):
    converted = work / "digits.ingot"
    call(ingot, "convert", ROOT / "examples/digits/digits.onnx", "-o", converted, "--dim", "n=1")
    source = work / "kernels.cpp"
    source.write_text(call(ingot, "kernels", converted, env={"INGOT_CPU_ISA": "avx2"}))
    call(
        "g++",
        "-std=c++17",
        *FLAGS,
        "-mavx2",
        "-mfma",
        "-mtune=haswell",
        f"-I{ROOT}",
        f"-I{ROOT}/runtime/include",
        "-c",
        source,
        "-o",
        work / "kernels.o",
    )
    call(
        "gcc",
        *FLAGS[:2],
        "-ffunction-sections",
        f"-I{ROOT}/runtime/include",
        "-c",
        ROOT / "tests/figures/one_cnn.c",
        "-o",
        work / "one_cnn.o",
    )
    program = work / "one_cnn"
    call(
        "g++",
        "-static",
        "-Wl,--gc-sections",
        f"-Wl,-Map={work}/one_cnn.map",
        work / "one_cnn.o",
        work / "kernels.o",
        tree / "runtime/libingot_runtime.a",
        "-o",
        program,
    )
    print(call(program, converted).strip())
    ours = 0
    for line in call("nm", "-S", "--size-sort", "-C", program).splitlines():
        size = line.split()[1]
        if re.search(r"ingot", line):
            ours += int(size, 16)
    return stripped(program, work), ours


def cuda_host(tree):
    """Of the archives' members, all but the embedded device code."""
    total = 0
    for archive in ("runtime/libingot_cuda.a", "kernels/cuda/libingot_cuda_kernels.a"):
        for line in call("size", tree / archive).splitlines()[1:]:
            text, data, _, _, _, name = line.split(None, 5)
            total += 0 if "embedded_images.S" in name else int(text) + int(data)
    return total


def micro_arena(ingot, converted, folder, object_bytes):
    shutil.rmtree(folder, ignore_errors=True)
    call(ingot, "firmware", converted, "-o", folder)
    name = converted.stem
    row = re.search(rf"^\| {name} \| \d+ \| (\d+) \|", (folder / "README.md").read_text(), re.M)
    return int(row.group(1)) + object_bytes


def tiny_arenas(ingot, work, object_bytes):
    figures = {}
    for name in MICRO:
        converted = work / f"{name}.ingot"
        source = TINY / f"{name}.tflite"
        call(ingot, "convert", source, "-o", converted, "-q", "--target", "mcu", "--dim", "N=1")
        folder = work / f"{name}_firmware"
        figures[f"micro:{name}"] = micro_arena(ingot, converted, folder, object_bytes)
    return figures


def bare_image(folder, network):
    image = folder / "image.elf"
    if not image.exists():
        print(f"[skip] code of a bare image: {folder.name} is not built (./dev test firmware)")
        return {}
    sections = dict(re.findall(r"^(\.\w+)\s+(\d+)", call("arm-none-eabi-size", "-A", image), re.M))
    ram = int(sections.get(".data", 0)) + int(sections.get(".bss", 0))
    return {f"cortex_m4_code:{network}": int(sections[".text"]), f"cortex_m4_ram:{network}": ram}


def own_figures(ingot, tree, work):
    figures = dict(zip(("one_cnn_static", "one_cnn_code"), one_cnn(ingot, tree, work)))
    figures["cli"] = stripped(ingot, work)
    for library in tree.glob("libingot.so.*.*"):
        figures["shared_library"] = stripped(library, work)
    figures.update(bare_image(tree.parent / "firmware", "digits"))
    figures["cuda_host"] = cuda_host(tree)
    code = tree.parent / "cuda_code"
    if (code / "kernels/cuda/device_images.bin.tsv").exists():
        rows, figures["cuda_all"] = image_sizes.read(code)
        figures["cuda_one"] = max(
            sum(r[4] for r in rows if r[1:3] == key) for key in {r[1:3] for r in rows}
        )
    for converted in [work / "digits.ingot", *sorted((tree.parent / "models").glob("*_224.ingot"))]:
        figures[f"arena:{converted.stem}"] = json.loads(
            call(ingot, "bench", converted, "--threads", "1", "--seconds", "0", "--json")
        )["arena_bytes"]
    core = micro_core.measure(work)
    # quantized by the boards of stage firmware
    quantized = tree.parent / "boards/digits.ingot"
    if quantized.exists():
        folder = work / "digits_firmware"
        object_bytes = core.get("micro_object", 0)
        figures["micro:digits"] = micro_arena(ingot, quantized, folder, object_bytes)
    return {**figures, **core, **micro_stack.measure(ingot, work)}


def shared_figures(ingot, tree, work):
    core = micro_core.measure(work)
    figures = bare_image(tree.parent / "firmware_mnist_8", "mnist_8")
    figures.update(tiny_arenas(ingot, work, core.get("micro_object", 0)))
    return {**figures, **micro_stack.measure(ingot, work, tiny=True)}


def compiler_major():
    done = subprocess.run(["g++", "-dumpversion"], capture_output=True, text=True)
    return int(done.stdout.split(".")[0])


def old_ceilings():
    return json.loads(CEILINGS.read_text()) if CEILINGS.exists() else {}


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--work", required=True)
    parser.add_argument("--part", choices=["own", "shared"], default="own")
    parser.add_argument(
        "--record", action="store_true", help="write today's figures plus 2 %% as the ceilings"
    )
    args = parser.parse_args()
    work, ingot = pathlib.Path(args.work).resolve(), pathlib.Path(args.ingot).resolve()
    work.mkdir(parents=True, exist_ok=True)
    if args.part == "shared" and not TINY.is_dir():
        print("[skip] figures of MLPerf Tiny's networks: there is no shared material")
        return
    figures_of = shared_figures if args.part == "shared" else own_figures
    figures = figures_of(ingot, ingot.parents[1], work)
    fixed = {f"micro:{k}": v for k, v in MICRO.items()}
    fixed.update(micro_core=MICRO_CORE, micro_object=MICRO_OBJECT)
    fixed.update({name: STACK[name.partition(":")[0]] for name in figures if name[:6] == "stack_"})
    ceilings = {**old_ceilings(), **fixed}
    if args.record:
        today = {k: int(v * 1.02) for k, v in figures.items() if k not in fixed}
        ceilings.update(today)
        CEILINGS.write_text(json.dumps({**old_ceilings(), **today}, indent=1) + "\n")
    checks = Checks("sizes")
    of_compiler = compiler_major()
    if of_compiler != COMPILER:
        print(
            f"g++ is {of_compiler}, ceilings are of {COMPILER}: 5 % more is allowed, 20 % where "
            "the C library of another release is part of it"
        )
    for name, size in figures.items():
        ceiling = ceilings.get(name)
        if ceiling is not None and of_compiler != COMPILER:
            ceiling = int(ceiling * (1.2 if name == "one_cnn_static" else 1.05))
        line = f"{name:24} {size:>12,} bytes, ceiling {ceiling and format(ceiling, ',')}"
        if checks.check(ceiling is not None and size <= ceiling, line):
            print(line)
    sys.exit(checks.finish())


main()
