#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the objects of kernels/cpu/isa: nothing weak (the linker would merge it with another
instruction set's copy), nothing that runs before main, and no stack traffic in the innermost loops
of register tiles, nor other instructions beyond a share there that is named below.

    isa_objects.py OBJECT...      prints one line per fault and exits 1; objects other than isa/*.o
    are passed over. Loops are judged as GCC 12 makes them; those of another compiler are
    printed and count as one skip.
"""

import re
import shutil
import subprocess
import sys

# Tiles of 64-bit Arm are also part of what walks over them, and have loops of their own names, as
# have exponentials there.
TILE = re.compile(
    r"(?:gemm|int8)_tile<|::gemm<|conv_band<|multiply_int8_rows<"
    r"|neon_\w+\(|half_tiles<|bf16_tiles<|bf16_dots<|amx_tiles<|amx_bytes<|gemm_column_neon<"
    r"|winograd_panels<"
)
# What an instruction set has to have among its tiles: a renamed one would be passed over.
NAMED = {
    "neon": ["gemm_tile<", "int8_tile<", "neon_tiles_5(", "neon_gelu(", "neon_silu("]
    + ["neon_sigmoid(", "neon_exponentials("],
    "neonfp16": ["half_tiles<8>", "half_tiles<4>"],
    "neonbf16": ["bf16_tiles<8>", "bf16_tiles<4>"],
    "neondot": ["int8_tile<"],
    "avx512bf16": ["bf16_dots<8, 2>", "amx_tiles<2, 2>", "amx_tiles<2, 1>", "amx_tiles<1, 2>"],
    "amxint8": ["amx_bytes<2, 2>", "amx_bytes<2, 1>", "amx_bytes<1, 2>"],
    "sse2": ["gemm_tile<", "int8_tile<"],
    "neon32": ["gemm_tile<", "int8_tile<"],
}
# The share of products that loops of these have at least.
DENSE = {"bf16_tiles<8>": 0.8, "bf16_tiles<4>": 0.7, "half_tiles<8>": 0.8, "half_tiles<4>": 0.7}
FMA = re.compile(r"fmadd|bfmmla|dpbf16ps|dpbusd|fmla|vfma\.|vmlal|vpdpbusd|vpmaddwd|su?dot|sadalp")
FMA_SSE2 = re.compile(r"mulps|pmaddwd")  # products and sums apart
STACK = re.compile(r"\(%[re]sp|\(%[re]bp|\[sp")
JUMP = re.compile(
    r"(?:j\w+|b\.\w+|b(?:eq|ne|cs|cc|mi|pl|hi|ls|ge|lt|gt|le)(?:\.[nw])?|cbnz|cbz)"
    r"\s+(?:\w+,\s*)?([0-9a-f]+)\b"
)
CROSS = {
    "AArch64": "aarch64-linux-gnu-objdump",
    "ARM": "arm-linux-gnueabihf-objdump",
    "RISC-V": "riscv64-linux-gnu-objdump",
}


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def objdump(path):
    """The one that knows the object's processor."""
    machine = re.search(r"Machine: +(.*)", run("readelf", "-h", path))[1]
    cross = CROSS.get(machine)
    return cross if cross and shutil.which(cross) else "objdump"


def functions(listing):
    name, body = None, []
    for line in listing.splitlines():
        head = re.match(r"^[0-9a-f]+ <(.*)>:$", line)
        if head:
            if name:
                yield name, body
            name, body = head.group(1), []
            continue
        instruction = re.match(r"^\s+([0-9a-f]+):\s+(.*)$", line)
        if instruction:
            body.append((int(instruction.group(1), 16), instruction.group(2)))
    if name:
        yield name, body


def inner_loops(body):
    """Backward jumps without another jump inside."""
    at = {address: i for i, (address, _) in enumerate(body)}
    for i, (_, text) in enumerate(body):
        jump = JUMP.match(text)
        start = at.get(int(jump.group(1), 16)) if jump else None
        if start is not None and start < i and not any(JUMP.match(t) for _, t in body[start:i]):
            yield [t for _, t in body[start : i + 1]]


def is_judged_compiler(path):
    return "GCC: (" not in (comment := run("readelf", "-p", ".comment", path)) or bool(
        re.search(r"GCC: \([^)]*\) 12\.", comment)
    )


def check(path):
    faults, loop_faults = [], []
    for line in run("nm", "-C", path).splitlines():
        if re.match(r"^[0-9a-f ]+ [VWuw] ", line):
            faults.append(
                f"weak symbol {line.split(None, 2)[-1]}; give it internal linkage or a definition in "
                "runtime/"
            )
    if ".init_array" in run("readelf", "-SW", path):
        faults.append(
            "has .init_array: code that runs before main, on processors without these instructions "
            "too"
        )
    isa = re.search(r"isa/(\w+)\.cpp\.", path)[1]
    product = FMA_SSE2 if isa == "sse2" else FMA
    tiles, names = 0, []
    for name, body in functions(run(objdump(path), "-d", "-C", "--no-show-raw-insn", path)):
        if not TILE.search(name):
            continue
        for loop in inner_loops(body):
            products = sum(1 for t in loop if product.search(t))
            if products < 2:
                continue
            tiles += 1
            share = next((least for tile, least in DENSE.items() if tile in name), 0)
            if products < share * len(loop):
                loop_faults.append(
                    f"{name[:100]}: {products} products in {len(loop)} instructions of its loop"
                )
            names.append(name)
            stack = [t for t in loop if STACK.search(t)]
            if stack:
                loop_faults.append(
                    f"{name[:100]}: {len(stack)} stack accesses in its inner loop, as: {stack[0]}"
                )
    for wanted in NAMED.get(isa, []):
        if not any(wanted in name for name in names):
            faults.append(f"no loop of products in {wanted}..: has the tile another name?")
    return tiles, faults, loop_faults


def main():
    seen = failed = unjudged = 0
    for path in sys.argv[1:]:
        isa = re.search(r"isa/(\w+)\.cpp\.", path)
        if not isa:
            continue
        seen += 1
        tiles, faults, loop_faults = check(path)
        # loops of RISC-V are not seen: where its branches go is for the linker
        if isa.group(1) not in ("scalar", "plain", "rvv") and not tiles:
            faults.append("no register tile was found: has gemm_tile another name?")
        for fault in faults + loop_faults:
            print(f"{path}: {fault}")
        if is_judged_compiler(path):
            faults += loop_faults
        else:
            unjudged += len(loop_faults)
        failed += bool(faults)
        print(f"{isa.group(1)}: {tiles} register tiles, {len(faults)} faults")
    if unjudged:
        print(f"[skip] {unjudged} slower loops of a compiler that is not GCC 12: not judged")
    if not seen:
        print("isa_objects.py: no object of kernels/cpu/isa among the arguments")
    return 1 if failed or not seen else 0


if __name__ == "__main__":
    sys.exit(main())
