#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many programs of PyTorch, in .pt2 and TorchScript, against what eager torch computes.

  trial.py --ingot PATH --work DIR [--part NAME ...] [--only PATTERN ...] [--jobs N] [--limit N]
           [--fresh] [--keep]
  trial.py --ingot PATH --work DIR --write-expected      (expected.tsv is written anew)
  trial.py --list

What is not equal is listed in expected.tsv, with a reason each: what the importer refuses, what
differs and why that is right, and where torch itself gives another result for the file than for the
module ("as written"). The trial fails where a program differs, is refused or passes against that
table, on a crash, and on an exit code that is no refusal. What torch does not export is skipped.

Parts are `operators`, `torchvision`, `timm`, `transformers` and `blocks`; each is a trial of its
own.
A result is kept in DIR/results and not made again until the program, torch or the binary changes.
Needs a Python with torch, torchvision, timm and transformers; workers run in this Python.
"""

import argparse
import collections
import fnmatch
import hashlib
import json
import math
import os
import pathlib
import queue
import re
import selectors
import subprocess
import sys
import threading
import time

import programs

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "support"))

HERE = pathlib.Path(__file__).resolve().parent
EXPECTED = HERE / "expected.tsv"
SECONDS = 900  # of one program in all its formats
RULES = b"2"  # changes with what worker.py calls equal: results are then made again
GOOD = ("equal", "skipped")
LISTED = ("refused", "different", "as written", "no golden")


class Worker:
    """A process that imports torch once and answers many programs."""

    def __init__(self):
        environment = dict(
            os.environ,
            HF_HUB_OFFLINE="1",
            TRANSFORMERS_OFFLINE="1",
            OMP_NUM_THREADS="1",
            TOKENIZERS_PARALLELISM="false",
            PYTHONWARNINGS="ignore",
        )
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "worker.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=HERE,
        )
        self.said = collections.deque(maxlen=5)
        threading.Thread(target=lambda: self.said.extend(self.process.stderr), daemon=True).start()

    def ask(self, question):
        """The answer, or what went wrong."""
        try:
            self.process.stdin.write(json.dumps(question) + "\n")
            self.process.stdin.flush()
        except OSError:
            pass
        with selectors.DefaultSelector() as ready:
            ready.register(self.process.stdout, selectors.EVENT_READ)
            if not ready.select(SECONDS):
                return None, f"not done after {SECONDS} s"
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)["results"], None
        code = self.process.wait()
        return None, f"torch's process ended with {code}: {''.join(self.said).strip()[-300:]}"

    def stop(self):
        self.process.kill()
        self.process.wait()


def run_all(asked, a, stamp, until=math.inf):
    """Results of the programs by name; those that are on disk are read. None is begun after
    `until`, of time.monotonic()."""
    todo, results, lock = queue.Queue(), {}, threading.Lock()
    folder = a.work / "results"
    folder.mkdir(parents=True, exist_ok=True)
    for p in asked:
        path = folder / f"{p.folder}.json"
        kept = json.loads(path.read_text()) if path.exists() and not a.fresh else {}
        if kept.get("stamp") == stamp + p.stamp:
            results[p.name] = kept["results"]
        else:
            todo.put(p)
    if results:
        print(f"{len(results)} programs have results of this binary", flush=True)

    def work():
        worker = None
        while time.monotonic() < until:
            try:
                p = todo.get_nowait()
            except queue.Empty:
                break
            worker = worker or Worker()
            answer, wrong = worker.ask(
                {
                    "name": p.name,
                    "formats": p.formats,
                    "work": str(a.work),
                    "ingot": a.ingot,
                    "keep": a.keep,
                }
            )
            if wrong:
                worker.stop()
                worker = None
                answer = {
                    k: {"verdict": "no golden", "detail": wrong, "error": None, "seconds": 0}
                    for k in p.formats
                }
            with lock:
                results[p.name] = answer
                say(p, answer)
            path = folder / f"{p.folder}.json"
            path.with_suffix(".tmp").write_text(
                json.dumps({"name": p.name, "stamp": stamp + p.stamp, "results": answer})
            )
            path.with_suffix(".tmp").rename(path)
        if worker:
            worker.process.stdin.close()
            worker.process.wait()

    threads = [threading.Thread(target=work) for _ in range(a.jobs)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return results


def say(program, answer):
    seconds = sum(r["seconds"] for r in answer.values())
    words = " ".join(f"{k}:{r['verdict'].replace(' ', '_')}" for k, r in answer.items())
    print(f"{seconds:6.1f} s  {words}  {program.name}", flush=True)


def read_expected():
    """(program, format) -> (verdict, reason)."""
    found = {}
    for number, line in enumerate(
        EXPECTED.read_text().splitlines() if EXPECTED.exists() else [], 1
    ):
        if not line or line.startswith("#"):
            continue
        cells = line.split("\t")
        if len(cells) != 4 or cells[2] not in LISTED or not cells[3].strip():
            raise SystemExit(
                f"{EXPECTED}:{number}: expected program, formats, one of {LISTED}, and a reason"
            )
        for kind in cells[1].split(","):
            found[cells[0], kind] = cells[2], cells[3]
    return found


def shortened(detail):
    """What was refused and why, without nodes, overloads and lines, which differ by format."""
    text = re.sub(r"(aten::\w+)[.\w]*( \w+)? '?[^:;]*: ", r"\1\2: ", " ".join(detail.split()))
    text = re.sub(
        r"^\d+ things are not supported, .*?first:; |aten::[\w.]+ in node '[^;]*?\): ", "", text
    )
    return re.sub(r" ?'?(scripted|traced)\.pt:+|'(?=:)| in node (?=[a-z])", "", text)[:150]


def write_expected(results, before):
    rows = collections.defaultdict(list)
    for name in sorted(results):
        for kind, r in results[name].items():
            if r["verdict"] in LISTED:
                verdict, reason = before.get((name, kind), (None, None))
                if verdict != r["verdict"] or (verdict == "refused" and r["detail"]):
                    reason = shortened(r["detail"])
                    reason = ("NOT EXPLAINED: " if r["verdict"] == "different" else "") + reason
                rows[name, r["verdict"], reason].append(kind)
    lines = [
        "# What is not equal to eager torch, and why: program, formats, verdict, reason, by tabs.",
        "# Written by trial.py --write-expected; refusals have ingot's reason, others are kept.",
    ]
    lines += [
        "\t".join([n, ",".join(kinds), verdict, reason])
        for (n, verdict, reason), kinds in rows.items()
    ]
    EXPECTED.write_text("\n".join(lines) + "\n")


def report(results, expected, whole):
    """Prints what is against the table, and the counts. @return the number of failures."""
    count = collections.defaultdict(collections.Counter)
    failures, skipped = [], []
    for name in sorted(results):
        for kind, r in results[name].items():
            wanted, reason = expected.get((name, kind), ("equal", ""))
            count[kind][r["verdict"] if r["verdict"] in GOOD + LISTED else "fault"] += 1
            if r["verdict"] == "skipped":
                skipped.append((name, kind, r["detail"]))
            elif r["verdict"] != wanted:
                what = f"{r['verdict']}, expected {wanted}: {r['detail'] or reason}"
                failures.append(f"[fail] {kind} {name}: {what}")
            elif wanted == "different" and reason.startswith("NOT EXPLAINED"):
                what = f"different, and expected.tsv does not say why: {r['detail']}"
                failures.append(f"[fail] {kind} {name}: {what}")
            if r["error"] is not None and 1e-4 < r["error"] and r["verdict"] == "equal":
                count[kind]["above 1e-4"] += 1
    if whole:
        known = {(n, k) for n in results for k in results[n]}
        failures += [
            f"[fail] {kind} {name}: in expected.tsv, but no such program"
            for name, kind in expected
            if (name, kind) not in known
        ]
    for name, kind, detail in skipped:
        print(f"not exported: {kind} {name}: {detail}")
    for line in failures:
        print(line)
    for _, kind, _ in skipped:
        print(f"[skip] torch does not write this program in the format {kind}")
    columns = [
        "equal",
        "above 1e-4",
        "refused",
        "different",
        "as written",
        "no golden",
        "fault",
        "skipped",
    ]
    print(f"{'':8}" + "".join(f"{c:>12}" for c in columns))
    for kind in programs.FORMATS:
        print(f"{kind:8}" + "".join(f"{count[kind][c]:12}" for c in columns))
    total = sum(len(r) for r in results.values())
    seconds = sorted(
        ((sum(x["seconds"] for x in r.values()), n) for n, r in results.items()), reverse=True
    )
    print("slowest:", "; ".join(f"{n} {s:.0f} s" for s, n in seconds[:5]))
    print(
        f"{len(results)} modules, {total} programs, {total - len(skipped)} of them written by torch"
    )
    print(
        f"trial: {total - len(skipped) - len(failures)} passed, {len(failures)} failed, "
        f"{len(skipped)} skipped"
    )
    return len(failures)


def main():
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--ingot")
    arguments.add_argument("--work", type=pathlib.Path)
    arguments.add_argument(
        "--part",
        nargs="+",
        action="extend",
        choices=programs.PARTS,
        help="all of them if absent",
    )
    arguments.add_argument(
        "--only", nargs="+", action="extend", help="names or patterns with * of programs"
    )
    arguments.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    arguments.add_argument("--limit", type=int, help="the first N programs")
    arguments.add_argument("--fresh", action="store_true", help="makes results again")
    arguments.add_argument(
        "--keep", action="store_true", help="keeps large exports for the next run"
    )
    arguments.add_argument("--list", action="store_true")
    arguments.add_argument("--write-expected", action="store_true")
    a = arguments.parse_args()
    asked = programs.all_programs()
    whole = not a.only and not a.part and a.limit is None
    if a.part:
        asked = [p for p in asked if p.part in a.part]
    if a.only:
        asked = [
            p for p in asked if any(p.name == o or fnmatch.fnmatchcase(p.name, o) for o in a.only)
        ]
    asked = asked[: a.limit]
    if a.list:
        print("\n".join(f"{','.join(p.formats)}\t{p.name}" for p in asked))
        return 0
    if not a.ingot or not a.work:
        arguments.error("--ingot and --work are needed")
    expected = read_expected()
    a.work.mkdir(parents=True, exist_ok=True)
    a.work, a.ingot = a.work.resolve(), str(pathlib.Path(a.ingot).resolve())
    stamp = hashlib.sha256(pathlib.Path(a.ingot).read_bytes() + RULES).hexdigest()
    results = run_all(asked, a, stamp)
    if a.write_expected:
        before = {k: v for k, v in expected.items() if whole or k[0] in results}
        rest = {} if whole else {k: v for k, v in expected.items() if k[0] not in results}
        merged = dict(results)
        for (name, kind), (verdict, _) in rest.items():
            merged.setdefault(name, {})[kind] = {"verdict": verdict, "detail": ""}
        write_expected(merged, {**before, **rest})
    return 1 if report(results, read_expected(), whole) else 0


if __name__ == "__main__":
    sys.exit(main())
