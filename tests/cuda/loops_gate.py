#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What nvcc made of the loops of device code, from the disassembly of one architecture.

  loops_gate.py --tree TREE [--update] [--show]

TREE/kernels/cuda/cubin has UNIT.sm87.cuda11.8.cubin: CUDA 11.8 is the compiler here that comes with
a disassembler (./dev cuda-toolkit 11.8), and sm_87 what it compiles for a Jetson Orin. Of each
kernel:
  products    instructions of the loop with the most tensor-core instructions, for each of these
              (HMMA, IMMA); what is nested in it counts once
  in flight   loads of memory that the loop with the most of them issues before it waits for one:
              global loads up to the first use of a loaded register, or asynchronous copies up to
              a wait for some
tests/cuda/loops.tsv has a ceiling of the first and a floor of the second; --update writes today's
figures there and what `ingot why --device cuda` counts with (MODEL), which may be 5 % off; --show
prints them. TARGET is what is wanted of products; the closing lines count the
kernels above it.
"""

import bisect
import collections
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import Checks, run, text_parser  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = pathlib.Path(__file__).resolve().parent / "loops.tsv"
MODEL = ROOT / "tools/diagnose/gpu_cost/loop_instructions.inl"
COMPILER, ARCHITECTURE = "11.8", "87"
UNITS = ("blocks", "quantized", "tensorcore", "tensors", "weights")  # on tensor cores, and what memory bounds
TARGET = 6.0  # instructions for each of a tensor core
LINE = re.compile(r"^\s+/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+ )?([A-Z0-9_.]+)(.*);")

Instruction = collections.namedtuple("Instruction", "at name operands")


def kernels_of(cubin):
    """{kernel: [Instruction]} of a module."""
    tool = ROOT / f"build/cuda/{COMPILER}/bin/cuobjdump"
    path = {"PATH": f"{tool.parent}:/usr/bin:/bin"}
    text = run(tool, "-sass", cubin, env=path).succeeded().stdout
    found, own = {}, None
    for line in text.splitlines():
        if m := re.search(r"Function : (\w+)", line):
            own = found.setdefault(m[1], [])
        elif own is not None and (m := LINE.match(line)):
            own.append(Instruction(int(m[1], 16), m[2], m[3]))
    return found


def loops(code):
    """The instructions of each, from the target of a branch backwards to the branch."""
    places = [one.at for one in code]
    for at, one in enumerate(code):
        if not one.name.startswith("BRA"):
            continue
        target = re.search(r"0x([0-9a-f]+)\s*$", one.operands)
        if target and int(target[1], 16) < one.at:
            yield code[bisect.bisect_left(places, int(target[1], 16)) : at + 1]


def product_loops(code):
    """[(tensor-core instructions, body)] of loops that have some and hold no other such loop."""
    found = []
    for body in loops(code):
        count = sum(i.name.startswith(("HMMA", "IMMA")) for i in body)
        if count:
            found.append((count, body))

    def holds(outer, inner):
        return outer is not inner and outer[0].at <= inner[0].at and inner[-1].at <= outer[-1].at

    return [one for one in found if not any(holds(one[1], other) for _, other in found)]


def products(code):
    """Instructions for each of a tensor core; None: there are none."""
    best = max(((count, -len(body)) for count, body in product_loops(code)), default=None)
    return None if best is None else -best[1] / best[0]


def registers(name, operand):
    """What a load writes: one register, or neighbours."""
    if not (m := re.match(r"\s*R(\d+)", operand)):
        return set()
    width = 4 if ".128" in name else 2 if ".64" in name else 1
    return {int(m[1]) + i for i in range(width)}


def in_flight(body):
    """Loads of a loop before it uses one, or copies before it waits for some."""
    loaded, count, most = set(), 0, 0
    for one in body:
        parts = one.operands.split(",")
        if one.name.startswith("LDGSTS"):
            count += 1
        elif one.name.startswith("DEPBAR"):
            most, count = max(most, count), 0
        elif one.name.startswith("LDG"):
            if {int(r) for r in re.findall(r"\bR(\d+)", ",".join(parts[1:]))} & loaded:
                break
            loaded |= registers(one.name, parts[0])
            count += 1
        elif {int(r) for r in re.findall(r"\bR(\d+)", one.operands)} & loaded:
            break
    return max(most, count)


def measure(code):
    return products(code), max((in_flight(body) for body in loops(code)), default=0)


def read_table():
    rows = [line.split("\t") for line in TABLE.read_text().splitlines() if line[:1] != "#"]
    return {
        name: (float(ratio) if ratio != "-" else None, int(loads))
        for name, ratio, loads in rows[1:]
    }


def write_table(figures):
    lines = [
        "# tests/cuda/loops.tsv - written by loops_gate.py --update: sm_87 by CUDA 11.8",
        "kernel\tproducts\tin flight",
    ]
    for name in sorted(figures):
        ratio, loads = figures[name]
        lines.append(f"{name}\t{'-' if ratio is None else f'{ratio:.1f}'}\t{loads}")
    TABLE.write_text("\n".join(lines) + "\n")


def write_model(figures):
    lines = [
        "// SPDX-License-Identifier: Apache-2.0",
        "// tools/diagnose/gpu_cost/loop_instructions.inl - written by loops_gate.py --update: sm_87",
        "// by CUDA 11.8",
        "// clang-format off",
    ]
    for name, (ratio, _) in sorted(figures.items()):
        if ratio is not None:
            lines.append(f'{{"{name}", {ratio:.1f}}},')
    MODEL.write_text("\n".join(lines) + "\n")


def model_faults(figures):
    """Where the cost model counts with other figures."""
    found = re.findall(r'{"(\w+)", ([0-9.]+)}', MODEL.read_text())
    model = {name: float(ratio) for name, ratio in found}
    wanted = {name: ratio for name, (ratio, _) in figures.items() if ratio is not None}
    faults = [f"{name} is not in {MODEL.name}" for name in sorted(wanted.keys() - model.keys())]
    strange = sorted(model.keys() - wanted.keys())
    faults += [f"{name} of {MODEL.name} is no kernel" for name in strange]
    for name in sorted(wanted.keys() & model.keys()):
        if abs(model[name] - wanted[name]) > max(0.05 * wanted[name], 0.1):
            faults.append(f"{name}: {wanted[name]:.1f} instructions, {MODEL.name}: {model[name]}")
    return faults


def faults_of(figures, table):
    faults = []
    for name, (ratio, loads) in sorted(figures.items()):
        if name not in table:
            faults.append(
                f"{name} has no row: python3 tests/cuda/loops_gate.py --tree TREE --update"
            )
            continue
        ceiling, floor = table[name]
        if (ratio is None) != (ceiling is None) or (ratio and round(ratio, 1) > ceiling):
            faults.append(
                f"{name}: {ratio} instructions for each product, its ceiling is {ceiling}"
            )
        if loads < floor:
            faults.append(f"{name}: {loads} loads in flight, its floor is {floor}")
    return faults + [f"{name} is no kernel" for name in sorted(table.keys() - figures.keys())]


def main():
    parser = text_parser(__doc__)
    parser.add_argument("--tree", type=pathlib.Path, required=True)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    figures = {}
    for unit in UNITS:
        cubin = args.tree / f"kernels/cuda/cubin/{unit}.sm{ARCHITECTURE}.cuda{COMPILER}.cubin"
        if not cubin.exists() or not (ROOT / f"build/cuda/{COMPILER}").exists():
            print(f"[skip] loops of device code: no {cubin.name}, or no CUDA {COMPILER}")
            return 0
        for name, code in kernels_of(cubin).items():
            figures[name] = measure(code)
    if args.update:
        write_table(figures)
        write_model(figures)
    if args.show:
        print(f"{'kernel':44} {'products':>9} {'in flight':>9}")
        for name, (ratio, loads) in sorted(figures.items()):
            print(f"{name:44} {'-' if ratio is None else f'{ratio:.1f}':>9} {loads:9}")
    ratios = sorted(r for r, _ in figures.values() if r is not None)
    above = sum(round(r, 1) > TARGET for r in ratios)
    print(
        f"instructions for each of a tensor core: {ratios[0]:.1f} to {ratios[-1]:.1f}, median "
        f"{ratios[len(ratios) // 2]:.1f}; {above} of {len(ratios)} kernels above {TARGET:.0f}"
    )
    faults = faults_of(figures, read_table()) + model_faults(figures)
    checks = Checks("loops")
    for fault in faults:
        checks.check(False, fault)
    checks.passed = len(figures) - len(faults)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
