#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Instructions of a run, counted by QEMU's user mode: AVX2, one thread. No clock is read.

  instruction_counts.py --runner RAW_RUNNER --ingot BIN --models DIR --work DIR
                        [--before RAW_RUNNER | --record] [NETWORK ..]

Networks are files of the models stage. Each is opened and given its inputs, then opened and run;
the difference is one run. A figure is held to its ceiling in ceilings.json, 0.5 % above what was
recorded. --before: the same files with the runner of another build; fails where a count differs by
more than 0.5 %. --record: today's counts are the ceilings.
"""

import concurrent.futures
import json
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from testing import Checks, ingot_parser, run  # noqa: E402

CEILINGS = ROOT / "tests/figures/ceilings.json"
SLACK, COMPILER = 0.005, 12
NETWORKS = [
    *(f"{n}_224" for n in ("mobilenetv2", "mobilenetv3l", "squeezenet11", "shufflenetv2")),
    *(f"{n}_224" for n in ("efficientnet_b0", "resnet18", "lraspp", "vit_tiny")),
    *("minilm_l6", "ppocr_det", "yolov8n_320"),
]
EXTENTS = {"sequence": 128}  # of dynamic dimensions; 1 for others
ELEMENT = {"f32": 4, "f16": 2, "i8": 1, "u8": 1, "bool": 1, "i16": 2, "i32": 4, "i64": 8}


class Counter:
    def __init__(self, args):
        self.ingot, self.work = args.ingot, pathlib.Path(args.work).resolve()
        self.work.mkdir(parents=True, exist_ok=True)
        self.plugin = self.work / "count_instructions.so"
        source = ROOT / "bench/emulated/count_instructions.c"
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-O2", source, "-o", self.plugin], check=True
        )

    def inputs(self, file):
        """The words that name them, behind the folder of their zeros."""
        folder = self.work / file.stem
        folder.mkdir(exist_ok=True)
        words = [folder]
        report = json.loads(run([self.ingot, "inspect", file, "--json"]).stdout)
        for port in report["inputs"]:
            named = zip(port["dims"], port["dim_names"])
            extents = [d if d >= 0 else EXTENTS.get(name, 1) for d, name in named]
            size = ELEMENT[port["dtype"]]
            for extent in extents:
                size *= extent
            (folder / f"{re.sub('[/:]', '_', port['name'])}.bin").write_bytes(bytes(size))
            words.append(f"{port['name']}={'x'.join(map(str, extents))}")
        return words

    def count(self, runner, file, words, runs):
        command = ["qemu-x86_64", "-cpu", "max", "-plugin", self.plugin]
        command += [runner, "--runs", runs, file, "avx2", 1, *words]
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
        found = re.search(r"^instructions (\d+)$", done.stderr, re.M)
        if done.returncode or not found:
            raise RuntimeError(f"{file.name}: exit {done.returncode}: {done.stderr[-200:]}")
        return int(found[1])

    def of_run(self, runner, file, words):
        return self.count(runner, file, words, 1) - self.count(runner, file, words, 0)


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--runner", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--before")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--models", required=True, type=pathlib.Path)
    parser.add_argument("networks", nargs="*", default=NETWORKS)
    args = parser.parse_args()
    checks = Checks("instructions")
    version = subprocess.run(["g++", "-dumpversion"], capture_output=True, text=True).stdout
    if not shutil.which("qemu-x86_64"):
        checks.skip("instructions of a run: qemu-x86_64 is absent")
        sys.exit(checks.finish())
    if not args.before and int(version.split(".")[0]) != COMPILER:
        checks.skip(f"instructions of a run: their ceilings are of g++ {COMPILER}")
        sys.exit(checks.finish())
    files = [args.models / f"{name}.ingot" for name in args.networks]
    for absent in (f.stem for f in files if not f.exists()):
        checks.skip(f"instructions of {absent}: it is not built (./dev test models)")
    files = [f for f in files if f.exists()]
    counter, ceilings = Counter(args), json.loads(CEILINGS.read_text())
    runners = [args.runner] + ([args.before] if args.before else [])
    words = [counter.inputs(f) for f in files]  # once: runs side by side read the same inputs
    jobs = [(r, f, w) for f, w in zip(files, words) for r in runners]
    longest = sorted(jobs, key=lambda job: -(ceilings.get(f"instructions:{job[1].stem}") or 0))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        counts = {job[:2]: pool.submit(counter.of_run, *job) for job in longest}
    counts = iter([counts[job[:2]].result() for job in jobs])
    for file in files:
        name, found = f"instructions:{file.stem}", next(counts)
        if args.before:
            before = next(counts)
            is_near = abs(found / before - 1) <= SLACK
            line = f"{name:36} {before:>14,} before, {found:>14,} now, {found / before - 1:+.2%}"
        else:
            ceilings[name] = int(found * (1 + SLACK)) if args.record else ceilings.get(name)
            is_near = ceilings[name] is not None and found <= ceilings[name]
            ceiling = ceilings[name] and format(ceilings[name], ",")
            line = f"{name:36} {found:>14,}, ceiling {ceiling}"
        if checks.check(is_near, line):
            print(line)
    if args.record:
        CEILINGS.write_text(json.dumps(ceilings, indent=1) + "\n")
    sys.exit(checks.finish())


main()
