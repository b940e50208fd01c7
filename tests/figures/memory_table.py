#!/usr/bin/env python3
"""Arena of every model against the lower bound (largest sum of live bytes at one step); with --write the table in docs/memory.md is
brought up to date. Models are those that tests/models/run_models.py has cast into DIR.

  memory_table.py --ingot BIN --work DIR [--write FILE]
"""
import argparse
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
from run_models import symbols  # noqa: E402

BEGIN, END = "<!-- table: made by ./dev show memory -->", "<!-- end of table -->"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ingot", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--write")
    args = parser.parse_args()
    work = pathlib.Path(args.work)
    stored = json.loads((work / "hashes.json").read_text()) if (work / "hashes.json").exists() else {}
    lines = ["| model | weights | activations | lower bound | ratio | scratch, 1 thread | arena, 1 thread |", "|---|--:|--:|--:|--:|--:|--:|"]
    close = count = 0
    for path in sorted(work.glob("*.ingot")):
        if path.stem not in stored:
            continue
        ports = json.loads(subprocess.run([args.ingot, "inspect", path, "--json"], capture_output=True, text=True, check=True).stdout)["inputs"]
        dims = [word for binding in symbols(ports, stored[path.stem]["shapes"]) for word in ("--dim", binding)]
        done = [subprocess.run([args.ingot, *command, "--json", *dims], capture_output=True, text=True)
                for command in (("bench", path, "--threads", "1", "--seconds", "0"), ("inspect", path))]
        if any(d.returncode for d in done):
            print(f"[fail] {path.stem}: {(done[0].stderr + done[1].stderr).strip()}")
            count += 1
            continue
        row, need = (json.loads(d.stdout) for d in done)
        used, bound = need["activation_bytes"], need["activation_lower_bound"]
        ratio = used / max(bound, 1)
        close += ratio <= 1.05
        count += 1
        kb = lambda n: f"{n / 1024:,.0f} KiB"
        lines.append(f"| {path.stem} | {kb(row['weights_bytes'])} | {kb(used)} | {kb(bound)} | "
                     f"{ratio:.3f} | {kb(row['scratch_bytes'])} | {kb(row['arena_bytes'])} |")
    print("\n".join(lines))
    share = close / max(count, 1)
    print(f"{close} of {count} models within 5 % of the lower bound")
    good = count > 0 and share >= 0.9
    if args.write and pathlib.Path(args.write).exists():
        text = pathlib.Path(args.write).read_text()
        head, tail = text.split(BEGIN)[0], text.split(END)[-1]
        pathlib.Path(args.write).write_text(head + BEGIN + "\n" + "\n".join(lines) + f"\n\n{close} of {count} models are within 5 % of the lower bound.\n" + END + tail)
    print(f"memory: {int(good)} passed, {int(not good)} failed")
    sys.exit(0 if good else 1)


main()
