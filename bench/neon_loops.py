#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The inner loops of products of bytes on 64-bit Arm, which no machine here can time.

  neon_loops.py [--objects build/aarch64/kernels/cpu]

Of the largest tile of each instruction set: how many of the vector instructions of its innermost
loop are products, and how near llvm-mca says that the loop comes to one that has nothing else. Its
models are those of Neoverse N1 (the core of Cortex-A76: Raspberry Pi 5) and, for FEAT_I8MM,
Neoverse V1; they are in llvm-mca from version 17 on.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

WANTED = 0.85
PRODUCT = re.compile(r"(?:usdot|sudot|sdot|smull2?|sadalp)\b")
LOAD_OR_STORE = re.compile(r"(?:ld|st|prfm)")
JUMP = re.compile(r"(?:b(?:\.\w+)?|cbn?z\s+\w+,|tbn?z\s+\w+, \S+)\s+([0-9a-f]+)\b")
# processor, products that it begins in a cycle
MODELS = {"neon": ("neoverse-n1", 2), "neondot": ("neoverse-n1", 2), "neoni8mm": ("neoverse-v1", 4)}
ITERATIONS = 200


def products_and_others(loop):
    """Vector instructions of a loop that are products, and others but loads and stores."""
    vector = [text for text in loop if re.search(r"\bv\d+\.", text)]
    vector = [text for text in vector if not LOAD_OR_STORE.match(text)]
    products = sum(bool(PRODUCT.match(text)) for text in vector)
    return products, len(vector) - products


def innermost_loop(objdump, path):
    """The loop without a loop inside that has most products, of equal ones the one with
    most other vector instructions: its instructions."""
    text = subprocess.run(
        [objdump, "-d", "-C", "--no-show-raw-insn", path],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    best, most = [], (0, 0)
    for block in text.split("\n\n"):
        if "int8_tile<" not in block.lstrip().split("\n", 1)[0]:
            continue
        lines = re.findall(r"^\s+([0-9a-f]+):\s+(.*?)(?:\s*//.*)?$", block, re.MULTILINE)
        index = {address: i for i, (address, _) in enumerate(lines)}
        for i, (_, instruction) in enumerate(lines):
            jump = JUMP.match(instruction)
            start = index.get(jump[1], i) if jump else i
            loop = [text for _, text in lines[start:i]]
            if any(JUMP.match(inner) for inner in loop):
                continue
            if products_and_others(loop) > most:
                best, most = loop, products_and_others(loop)
    return best


def find_mca():
    """An llvm-mca that has the models, or None."""
    for name in ["llvm-mca", *(f"llvm-mca-{v}" for v in range(17, 30))]:
        program = shutil.which(name)
        if not program:
            continue
        told = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
        version = re.search(r"version (\d+)", told)
        if version and int(version[1]) >= 17:
            return program
    return None


def cycles(mca, processor, loop):
    with tempfile.NamedTemporaryFile("w", suffix=".s") as source:
        source.write("\n".join(loop) + "\n")
        source.flush()
        told = subprocess.run(
            [mca, "-mtriple=aarch64", f"-mcpu={processor}", "-mattr=+dotprod,+i8mm"]
            + [f"-iterations={ITERATIONS}", source.name],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    return int(re.search(r"Total Cycles:\s+(\d+)", told)[1]) / ITERATIONS


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", default="build/aarch64/kernels/cpu")
    args = parser.parse_args()
    objdump = shutil.which("aarch64-linux-gnu-objdump")
    objects = sorted(pathlib.Path(args.objects).glob("**/neon*.cpp.o"))
    if not objdump or not objects:
        print("[skip] inner loops of NEON: no objects of aarch64 (./dev test aarch64 makes them)")
        return 0
    mca = find_mca()
    if not mca:
        print("[skip] cycles of the inner loops: no llvm-mca of version 17 or later")
    met = True
    for path in objects:
        isa = path.name.split(".")[0]
        loop = innermost_loop(objdump, path)
        products, others = products_and_others(loop)
        if not products:
            print(f"{isa}: no loop of products found in {path}")
            return 1
        share = products / (products + others)
        line = f"{isa:9} {products} products, {others} other vector instructions"
        line += f": {share:.1%}"
        if mca:
            processor, rate = MODELS[isa]
            took = cycles(mca, processor, loop)
            share = min(share, products / rate / took)
            line += f"; {took:.1f} cycles on {processor}: {products / rate / took:.1%} of its peak"
        print(line)
        met = met and share >= WANTED
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
