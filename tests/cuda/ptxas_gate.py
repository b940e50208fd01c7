#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The gates of device code: what a kernel may need of each architecture, and that each module is
what its name says.

  ptxas_gate.py --tree TREE [--update [--why TEXT]] [--show]
  ptxas_gate.py --rows
  ptxas_gate.py --only FAMILY

TREE/kernels/cuda has device_images.bin.tsv, cubin/UNIT.smNN.cudaV.cubin and beside each what ptxas
said (.ptxas). For every module of the table: the ELF header names the architecture and the ABI of
its compiler (33/07 up to CUDA 12, 41/08 from 13), and it has every kernel of
kernels/cuda/kernel_list.h for its unit and no other. For every kernel: nothing spilled; registers x
threads fit a multiprocessor; registers (in the steps of 8 in which they are given out), static
shared memory and stack at most those of tests/cuda/budget.tsv. --update writes today's figures
there; a rise needs --why, which is written with it. --show prints the table of registers. Compilers
without a column (13.2) are held to the hard limits alone. --rows needs no device code: budget.tsv
has a row for each kernel of the list, with the same threads, and no other. --only writes the rows
of the kernels of kernels/cuda/FAMILY that have none: it compiles that family alone, for the columns
whose compiler is here (./dev cuda-toolkit VERSION).
"""

import os
import pathlib
import re
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import Checks, run, text_parser, work_folder  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUDGET = pathlib.Path(__file__).resolve().parent / "budget.tsv"
REGISTERS = 65536  # of a multiprocessor, on every architecture here
SHARED = 48 << 10  # static, of a block
PINNED = ("11.8", "12.4", "13.0")


def kernel_list():
    """{unit: {kernel: threads}} as the compiler sees kernel_list.h."""
    units = re.findall(
        r"#define INGOT_CUDA_UNIT_(\w+)\(X\)", (ROOT / "kernels/cuda/kernel_list.h").read_text()
    )
    source = '#include "kernels/cuda/kernel_list.h"\n#include <cstdio>\nusing namespace ingot::cuda;\nint main() {\n'
    for unit in units:
        source += f'#define ROW(name, Params, threads) std::printf("{unit.lower()} ingot_%s %d\\n", #name, int(threads));\n'
        source += f"INGOT_CUDA_UNIT_{unit}(ROW)\n#undef ROW\n"
    found = {unit.lower(): {} for unit in units}
    with work_folder() as folder:
        compiler = (os.environ.get("CXX", "g++"), "-std=c++17", f"-I{ROOT}", "-x", "c++", "-")
        run(compiler, "-o", folder / "list", input=source + "}\n").succeeded()
        for line in run(folder / "list").succeeded().stdout.splitlines():
            unit, name, threads = line.split()
            found[unit][name] = int(threads)
    return found


def elf(data):
    """(ABI bytes, architecture, names of kernels) of a cubin."""
    (flags,) = struct.unpack_from("<I", data, 48)
    (offset,) = struct.unpack_from("<Q", data, 40)
    count, names = struct.unpack_from("<HH", data, 60)
    headers = [struct.unpack_from("<IIQQQQ", data, offset + 64 * i) for i in range(count)]
    strings = headers[names][4]
    sections = [data[strings + h[0] : data.index(b"\0", strings + h[0])].decode() for h in headers]
    abi = data[7:9].hex()
    return (
        abi,
        (flags & 0xFF if abi == "3307" else flags >> 8 & 0xFF),
        {s[6:] for s in sections if s.startswith(".text.")},
    )


# Bytes that a kernel may store around the calls of 64-bit divisions, none of them in its loops.
KEPT_OVER_CALLS = {"ingot_quantized_product_i16": 32}


def reports(text):
    """{kernel: (registers, static shared, stack, spilled bytes)} of what ptxas -v said."""
    found, name, stack, spilled = {}, None, 0, 0
    for line in text.splitlines():
        if m := re.search(r"Compiling entry function '(\w+)'", line):
            name, stack, spilled = m[1], 0, 0
        elif m := re.search(
            r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line
        ):
            stack, spilled = max(stack, int(m[1])), spilled + int(m[2]) + int(m[3])
        elif (m := re.search(r"Used (\d+) registers", line)) and name:
            shared = re.search(r"(\d+) bytes smem", line)
            found[name] = (int(m[1]), int(shared[1]) if shared else 0, stack, spilled)
    return found


def read_budget():
    columns, rows, whys = [], {}, []
    for line in BUDGET.read_text().splitlines() if BUDGET.exists() else []:
        if line.startswith("# raised"):
            whys.append(line)
        elif line.startswith("kernel\t"):
            columns = line.split("\t")[2:]
        elif line and not line.startswith("#"):
            name, threads, *cells = line.split("\t")
            rows[name] = {
                c: tuple(int(v) for v in cell.split("/"))
                for c, cell in zip(columns, cells)
                if cell != "-"
            }
    return rows, whys


def write_budget(rows, whys, threads):
    columns = sorted(
        {c for row in rows.values() for c in row},
        key=lambda c: (float(c.split("@")[1]), int(c.split("@")[0])),
    )
    lines = [
        "# tests/cuda/budget.tsv - written by ptxas_gate.py --update: registers in steps of 8 / static shared bytes / stack bytes (where not 0) of each",
        "# kernel, by architecture@compiler. A rise says why.",
        *whys,
        "\t".join(["kernel", "threads", *columns]),
    ]
    for name in sorted(rows):
        lines.append(
            "\t".join(
                [
                    name,
                    str(threads[name]),
                    *(
                        "/".join(map(str, rows[name][c])) if c in rows[name] else "-"
                        for c in columns
                    ),
                ]
            )
        )
    BUDGET.write_text("\n".join(lines) + "\n")


def check_rows(threads):
    """1 where the rows of budget.tsv are not those of the list of kernels."""
    rows = [line.split("\t") for line in BUDGET.read_text().splitlines() if line[:1] != "#"]
    given = {name: int(count) for name, count, *_ in rows[1:]}
    faults = [f"{name} has no row" for name in sorted(threads.keys() - given.keys())]
    faults += [f"{name} is not in the list" for name in sorted(given.keys() - threads.keys())]
    faults += [
        f"{name} has {threads[name]} threads, its row says {given[name]}"
        for name in sorted(threads.keys() & given.keys())
        if threads[name] != given[name]
    ]
    checks = Checks("rows")
    for fault in faults:
        text = "write it with --tree TREE --update, or rename it"
        checks.report(f"{BUDGET.name}: {fault}", text)
    checks.passed = len(threads) - len(faults)
    return checks.finish()


def whole_columns(budget):
    """Columns of whole trees; 87@13.0 has the module alone that no older compiler can make."""
    filled = [key for row in budget.values() for key in row]
    return {key for key in filled if 2 * filled.count(key) > len(budget)}


def compiler_of(version):
    """The path of that nvcc, or None."""
    for path in (ROOT / f"build/cuda/{version}/bin/nvcc", "nvcc", "/usr/local/cuda/bin/nvcc"):
        try:
            said = run(path, "--version").stdout
        except OSError:
            continue
        if f"release {version}," in said:
            return str(path)
    return None


def measure_family(family, threads, budget, whys):
    """Writes the rows of its kernels that have none."""
    header = ROOT / f"kernels/cuda/{family}/{family}.cuh"
    if not header.exists():
        sys.exit(f"there is no {header.relative_to(ROOT)}")
    columns = sorted(whole_columns(budget))
    new = {}
    with work_folder() as folder:
        source = folder / "family.cu"
        source.write_text(f'#include "{header}"\n')
        for column in columns:
            sm, version = column.split("@")
            nvcc = compiler_of(version)
            if not nvcc:
                print(f"[skip] {column}: no CUDA {version}: ./dev cuda-toolkit {version}")
                continue
            options = (
                "-std=c++17 -O3 -fmad=false --expt-relaxed-constexpr -diag-suppress 186 -cubin"
            )
            own = ("-allow-unsupported-compiler", f"-arch=sm_{sm}", "-Xptxas", "-v", f"-I{ROOT}")
            done = run(nvcc, options.split(), own, "-o", folder / "out.cubin", source).succeeded()
            for name, (registers, shared, stack, spilled) in reports(done.stderr).items():
                if name not in threads or name in budget:
                    continue
                new.setdefault(name, {})[column] = cell(registers, shared, stack)
                if spilled:
                    print(f"ERROR {name} {column}: spills {spilled} bytes")
    write_budget({**budget, **new}, whys, threads)
    for name in sorted(new):
        print(name, *(f"{c} {new[name][c][0]}" for c in columns if c in new[name]))
    print(f"{len(new)} rows written")


def cell(registers, shared, stack):
    values = [(registers + 7) // 8 * 8, shared, stack]
    while len(values) > 1 and values[-1] == 0:
        values.pop()
    return tuple(values)


def main():
    parser = text_parser(__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--tree", type=pathlib.Path)
    what.add_argument("--rows", action="store_true")
    what.add_argument("--only", metavar="FAMILY")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--why", default="")
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    units, (budget, whys) = kernel_list(), read_budget()
    whole = whole_columns(budget)
    threads = {name: n for kernels in units.values() for name, n in kernels.items()}
    if args.rows:
        sys.exit(check_rows(threads))
    if args.only:
        measure_family(args.only, threads, budget, whys)
        return
    folder = args.tree / "kernels/cuda"
    table = [
        line.split("\t") for line in (folder / "device_images.bin.tsv").read_text().splitlines()[1:]
    ]
    modules = [
        (unit, sm, f"{int(c) // 1000}.{int(c) % 1000 // 10}")
        for unit, sm, c, *_ in table
        if sm != "0"
    ]
    faults, seen, unknown, passed = [], {}, {}, 0
    for unit, sm, compiler in modules:
        path = folder / f"cubin/{unit}.sm{sm}.cuda{compiler}.cubin"
        where = f"{unit} {sm}@{compiler}"
        found = len(faults)
        abi, built_for, names = elf(path.read_bytes())
        expected = "3307" if float(compiler) < 13 else "4108"
        if abi != expected:
            faults.append(f"{where}: ABI bytes {abi}, expected {expected}")
        if built_for != int(sm):
            faults.append(f"{where}: the ELF header says sm_{built_for}")
        if names != set(units[unit]):
            faults.append(
                f"{where}: kernels missing {sorted(set(units[unit]) - names)[:5]}, not in the list {sorted(names - set(units[unit]))[:5]}"
            )
        said = reports(pathlib.Path(f"{path}.ptxas").read_text())
        passed += len(faults) == found
        for name in sorted(names & set(units[unit])):
            found = len(faults)
            if name not in said:
                faults.append(f"{where}: ptxas said nothing of {name}")
                continue
            registers, shared, stack, spilled = said[name]
            if spilled > KEPT_OVER_CALLS.get(name, 0):
                faults.append(f"{where}: {name} spills {spilled} bytes")
            if cell(registers, 0, 0)[0] * threads[name] > REGISTERS or shared > SHARED:
                faults.append(
                    f"{where}: {name}: {registers} registers x {threads[name]} threads, {shared} bytes shared do not fit a multiprocessor"
                )
            if compiler in PINNED:
                now, key = cell(registers, shared, stack), f"{sm}@{compiler}"
                seen.setdefault(name, {})[key] = now
                old = budget.get(name, {}).get(key)
                risen = old is not None and any(n > o for n, o in zip(now + (0, 0), old + (0, 0)))
                if risen and args.update and args.why:
                    whys.append(
                        f"# raised {name} {key}: {'/'.join(map(str, old))} to {'/'.join(map(str, now))}: {args.why}"
                    )
                elif risen:
                    faults.append(
                        f"{where}: {name} needs {'/'.join(map(str, now))}, its budget is {'/'.join(map(str, old))} (registers/shared/stack)"
                    )
                elif old is None and not args.update and (name not in budget or key in whole):
                    unknown.setdefault(name, []).append(key)
                    continue
            passed += len(faults) == found
    if args.update:
        hard = [f for f in faults if "needs" in f]
        if hard:
            print("\n".join(f"ERROR {f}" for f in hard))
            sys.exit("a rise needs --why TEXT")
        write_budget(
            {
                name: {**budget.get(name, {}), **seen.get(name, {})}
                for name in threads
                if name in seen or name in budget
            },
            whys,
            threads,
        )
    if args.show:
        columns = sorted(
            {c for row in seen.values() for c in row},
            key=lambda c: (float(c.split("@")[1]), int(c.split("@")[0])),
        )
        print(f"{'registers':40} threads " + " ".join(f"{c:>8}" for c in columns))
        for name in sorted(seen):
            print(
                f"{name:40} {threads[name]:7} "
                + " ".join(f"{'/'.join(map(str, seen[name].get(c, ('-',)))):>8}" for c in columns)
            )
    faults += [
        f"{name} has no budget for {' '.join(keys)}: python3 tests/cuda/ptxas_gate.py --tree {args.tree} --update"
        for name, keys in unknown.items()
    ]
    checks = Checks("ptxas")
    for fault in faults:
        checks.check(False, fault)
    checks.passed = passed
    sys.exit(checks.finish() or not modules)


main()
