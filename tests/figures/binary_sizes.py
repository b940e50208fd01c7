#!/usr/bin/env python3
"""Stripped sizes as exact figures, each under its committed ceiling (tests/figures/ceilings.json);
raising one is a commit of its own.

  binary_sizes.py --ingot BIN --work DIR [--record]

one_cnn_static   a static x86-64 program that opens one file and runs it with only that network's
kernels (musl is not needed: glibc) one_cnn_code     of it, what is ours: text and constants of our
objects, without the C library cli              the command line shared_library   libingot.so
cortex_m4_code   code and constants of the bare image (from the last firmware stage), model and
images apart; :digits
                 where its network is not mnist_8 but the fake driver
cuda_host        the back end of GPUs on the host: text and constants of ingot_cuda and of the
plans, without device code cuda_all         device code of all architectures, packed (from the last
cuda stage); cuda_one: of the largest of them arena:NAME       arena bytes of a network, one thread,
weights included
micro:NAME       RAM of an int8 network of MLPerf Tiny (../shared) as `ingot firmware` runs it:
                 activations, scratch, tables and the opened model's object; its ceiling is what
                 TFLite Micro's interpreter takes of its arena
micro_core       flash of the microcontroller's core on a Cortex-M4: validation included, with the
                 rules of four operators, without kernels
micro_object     RAM of an opened model besides its arena, on a Cortex-M4
stack_open, _run:NETWORKS
                 the deepest stack of opening and running them on a Cortex-M4, of micro_stack.py
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cuda"))
import image_sizes  # noqa: E402

import micro_core  # noqa: E402
import micro_stack  # noqa: E402

TINY = pathlib.Path(os.environ.get("INGOT_SHARED", ROOT.parent / "shared"))
TINY = TINY / "models/mlcommons__tiny"
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


def call(*command):
    return subprocess.run(
        [str(c) for c in command], check=True, capture_output=True, text=True
    ).stdout


def stripped(path, work):
    out = work / (path.name + ".stripped")
    call("strip", "-o", out, path)
    return out.stat().st_size


def one_cnn(ingot, tree, work):
    converted = work / "digits.ingot"
    call(ingot, "convert", ROOT / "examples/digits/digits.onnx", "-o", converted, "--dim", "n=1")
    source = work / "kernels.cpp"
    source.write_text(
        subprocess.run(
            [ingot, "kernels", str(converted)],
            check=True,
            capture_output=True,
            text=True,
            env={"INGOT_CPU_ISA": "avx2", "PATH": "/usr/bin:/bin"},
        ).stdout
    )
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


def micro_arenas(ingot, work, object_bytes):
    figures = {}
    for name in MICRO:
        source, converted = TINY / f"{name}.tflite", work / f"{name}.ingot"
        if not source.exists():
            print(f"[skip] arena of {name}: ../shared is absent")
            continue
        call(ingot, "convert", source, "-o", converted, "-q", "--target", "mcu", "--dim", "N=1")
        folder = work / f"{name}_firmware"
        shutil.rmtree(folder, ignore_errors=True)
        call(ingot, "firmware", converted, "-o", folder)
        row = re.search(rf"^\| {name} \| \d+ \| (\d+) \|", (folder / "README.md").read_text(), re.M)
        figures[f"micro:{name}"] = int(row.group(1)) + object_bytes
    return figures


def old_ceilings():
    return json.loads(CEILINGS.read_text()) if CEILINGS.exists() else {}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ingot", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument(
        "--record", action="store_true", help="write today's figures plus 2 % as the ceilings"
    )
    args = parser.parse_args()
    work, ingot = pathlib.Path(args.work).resolve(), pathlib.Path(args.ingot).resolve()
    work.mkdir(parents=True, exist_ok=True)
    tree = ingot.parents[1]
    figures = dict(zip(("one_cnn_static", "one_cnn_code"), one_cnn(ingot, tree, work)))
    figures["cli"] = stripped(ingot, work)
    for library in tree.glob("libingot.so.*.*"):
        figures["shared_library"] = stripped(library, work)
    image = tree.parent / "firmware/image.elf"
    if image.exists():
        sections = dict(
            re.findall(r"^(\.\w+)\s+(\d+)", call("arm-none-eabi-size", "-A", image), re.M)
        )
        network = (
            (image.parent / "name").read_text().strip()
            if (image.parent / "name").exists()
            else "mnist_8"
        )
        figures["cortex_m4_code" + ("" if network == "mnist_8" else f":{network}")] = int(
            sections[".text"]
        )
        figures["cortex_m4_ram"] = int(sections.get(".data", 0)) + int(sections.get(".bss", 0))
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
    if args.record:
        CEILINGS.write_text(
            json.dumps(
                {**old_ceilings(), **{k: int(v * 1.02) for k, v in figures.items()}}, indent=1
            )
            + "\n"
        )
    figures.update(core)
    figures.update(micro_arenas(ingot, work, core.get("micro_object", 0)))
    stacks = micro_stack.measure(ingot, work)
    figures.update(stacks)
    ceilings = {**old_ceilings(), **{f"micro:{k}": v for k, v in MICRO.items()}}
    ceilings.update(micro_core=MICRO_CORE, micro_object=MICRO_OBJECT)
    ceilings.update({name: STACK[name.partition(":")[0]] for name in stacks})
    failed = 0
    for name, size in figures.items():
        ceiling = ceilings.get(name)
        bad = ceiling is None or size > ceiling
        failed += bad
        print(
            f"{'ERROR ' if bad else ''}{name:24} {size:>12,} bytes, ceiling {ceiling if ceiling is None else format(ceiling, ',')}"
        )
    print(f"sizes: {len(figures) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


main()
