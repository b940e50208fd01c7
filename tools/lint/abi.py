#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The C interface as it was promised, against the headers and the shared library as they are.

  abi.py [--library build/gcc/libingot.so] [--cc cc] [--update]

packaging/abi/ingot.txt lists functions with their prototypes, enum constants with their values, and
structs with the offset and size of each field. Whatever is listed must still be so: only additions
are allowed (docs/versions.md). A struct that begins with `size` may grow at its end, others keep
their size. With --library every listed function must be exported, and nothing that the headers do
not declare. Additions are reported and do not fail; --update records them. The closing line counts
checks. The check itself is checked: a listing with a function more, another enum value or a moved
field must be refused.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = "ingot.h pool.h report.h log.h quantization.h pipeline.h text.h cpu.h".split()
HEADERS = [f"ingot/{name}" for name in HEADERS]
LISTING = ROOT / "packaging/abi/ingot.txt"
INCLUDES = ["runtime/include", "kernels/cpu/include"]


def header_paths():
    for name in HEADERS:
        for folder in INCLUDES:
            path = ROOT / folder / name
            if path.exists():
                yield path


def declarations():
    """(functions {name: prototype}, constants [name], structs {name: [field]}) of the public
    headers."""
    text = "\n".join(p.read_text() for p in header_paths())
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"//[^\n]*", " ", text)
    text = re.sub(r"^\s*#[^\n]*(\\\n[^\n]*)*", " ", text, flags=re.M)
    functions = {}
    for match in re.finditer(r"INGOT_API\s+([^;{]*?\b(\w+)\s*\([^;]*\))\s*;", text):
        functions[match[2]] = re.sub(r"\s+", " ", match[1]).replace("( ", "(").strip()
    constants = []
    for body in re.findall(r"\benum\s*\w*\s*\{([^}]*)\}", text):
        constants += [entry.split("=")[0].strip() for entry in body.split(",") if entry.strip()]
    structs = {}
    for name, body in re.findall(r"typedef\s+struct\s+(\w+)\s*\{([^}]*)\}\s*\w+\s*;", text):
        fields = []
        for line in body.split(";"):
            line = re.sub(r"\[[^\]]*\]", "", line).strip()
            pointer = re.search(r"\(\s*\*\s*(\w+)\s*\)\s*\(", line)
            if pointer:
                fields.append(pointer[1])
            elif line:
                first, *others = line.split(",")
                fields.append(re.search(r"(\w+)\s*$", first)[1])
                fields += [re.search(r"(\w+)\s*$", other)[1] for other in others]
        structs[name] = fields
    return functions, constants, structs


def measure(cc):
    """The listing of the headers as they are: {key: value}."""
    functions, constants, structs = declarations()
    lines = [f'printf("constant %s %lld\\n", "{c}", (long long){c});' for c in constants]
    for name, fields in structs.items():
        lines.append(f'printf("struct %s %zu\\n", "{name}", sizeof({name}));')
        for f in fields:
            lines.append(
                f'printf("field %s.%s %zu+%zu\\n", "{name}", "{f}", offsetof({name}, {f}), sizeof((({name}*)0)->{f}));'
            )
    includes = "".join(f"#include <{h}>\n" for h in HEADERS)
    source = (
        f"#include <stddef.h>\n#include <stdio.h>\n{includes}int main(void) {{\n"
        + "\n".join(lines)
        + "\nreturn 0;\n}\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "abi.c"
        path.write_text(source)
        flags = [f"-I{ROOT / i}" for i in INCLUDES]
        subprocess.run(
            [*cc.split(), "-std=c99", *flags, "-o", path.with_suffix(""), path], check=True
        )
        printed = subprocess.run(
            [path.with_suffix("")], check=True, capture_output=True, text=True
        ).stdout
    found = {f"function {name}": prototype for name, prototype in functions.items()}
    for line in printed.splitlines():
        kind, name, value = line.split(" ")
        found[f"{kind} {name}"] = value
    return found, {name for name, fields in structs.items() if fields and fields[0] == "size"}


def read_listing(text):
    listed = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            kind, name, value = line.split(" ", 2)
            listed[f"{kind} {name}"] = value
    return listed


def compare(listed, found, growing):
    """Sentences about what is no longer as promised."""
    wrong = []
    for key, value in listed.items():
        now = found.get(key)
        if now is None:
            wrong.append(f"{key}: is gone, promised was {value}")
        elif now != value:
            kind, name = key.split(" ")
            if kind == "struct" and name in growing and int(now) > int(value):
                continue
            wrong.append(f"{key}: promised was {value}, found {now}")
    for (
        key,
        value,
    ) in (
        found.items()
    ):  # nothing may be put into a struct that callers allocate without saying its size
        kind, name = key.split(" ")
        if kind != "field" or key in listed or f"struct {name.split('.')[0]}" not in listed:
            continue
        owner = name.split(".")[0]
        if owner not in growing:
            wrong.append(f"{key}: new in a struct that cannot grow")
        elif int(value.split("+")[0]) < max(
            (int(v.split("+")[0]) for k, v in listed.items() if k.startswith(f"field {owner}.")),
            default=0,
        ):
            wrong.append(f"{key}: new, but not at the end")
    return wrong


def exported(library):
    lines = subprocess.run(
        ["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    names = [line.split()[-1].split("@")[0] for line in lines]
    return {n for n in names if n.startswith("ingot_")}, {
        n for n in names if not n.startswith("ingot_") and not n.startswith("INGOT_")
    }


def bites(listed, found, growing):
    """Each planted break must be noticed."""
    constant = next(k for k in listed if k.startswith("constant "))
    field = next(k for k in listed if k.startswith("field ") and not listed[k].startswith("0+"))
    fixed = next(k for k in listed if k.startswith("struct ") and k.split(" ")[1] not in growing)
    function = next(k for k in listed if k.startswith("function "))
    planted = {
        "a function is gone": {**listed, "function ingot_gone": "void ingot_gone(void)"},
        "another prototype": {**listed, function: listed[function] + " "},
        "an enum value moved": {**listed, constant: "-77"},
        "a field moved": {**listed, field: "0+1"},
        "a fixed struct grew": {**listed, fixed: "1"},
    }
    return [what for what, listing in planted.items() if not compare(listing, found, growing)]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--library")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--update", action="store_true")
    args = parser.parse_args()
    found, growing = measure(args.cc)
    if args.update:
        old = read_listing(LISTING.read_text()) if LISTING.exists() else {}
        broken = compare(old, found, growing)
        if broken:
            sys.exit("abi: not recorded, since a promise is broken:\n  " + "\n  ".join(broken))
        LISTING.parent.mkdir(parents=True, exist_ok=True)
        head = "# The C interface as promised, on 64-bit hosts. Made by tools/lint/abi.py --update; lines are added, never changed.\n"
        LISTING.write_text(head + "".join(f"{k} {v}\n" for k, v in sorted(found.items())))
        print(f"abi: {len(found)} entries recorded")
        return
    listed = read_listing(LISTING.read_text())
    wrong = compare(listed, found, growing)
    wrong += [f"the check does not notice: {what}" for what in bites(listed, found, growing)]
    checks = len(listed) + 5
    if args.library:
        symbols, strangers = exported(args.library)
        declared = {k.split(" ")[1] for k in found if k.startswith("function ")}
        wrong += [
            f"function {n}: not exported by {args.library}" for n in sorted(declared - symbols)
        ]
        wrong += [f"{n}: exported, but in no public header" for n in sorted(symbols - declared)]
        wrong += [f"{n}: exported, and not ours" for n in sorted(strangers)]
        checks += len(declared)
    for sentence in wrong:
        print(f"ERROR abi: {sentence}")
    new = sorted(set(found) - set(listed))
    if new:
        print(
            f"abi: {len(new)} additions are not recorded yet (tools/lint/abi.py --update): {', '.join(new[:8])}{' ...' if len(new) > 8 else ''}"
        )
    print(f"abi: {checks - len(wrong)} passed, {len(wrong)} failed")
    sys.exit(1 if wrong else 0)


main()
