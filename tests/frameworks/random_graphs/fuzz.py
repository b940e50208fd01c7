#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random valid ONNX graphs, converted and run, compared with onnxruntime.

  fuzz.py --runner GRAPH_RUNNER [--graphs N] [--first SEED] [--jobs N] [--work FOLDER]
  fuzz.py --runner GRAPH_RUNNER --seed SEED       one graph, and the least part of it that differs

A graph follows from its seed and the version of onnxruntime, which says what there is to compare
with. Ends with 1 where a difference, a fault or a refusal that refusals.py does not explain is
left. Needs the packages onnx and onnxruntime."""

import collections
import functools
import multiprocessing
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from compare import difference, moved, spread
from draw import draw, drawable_rules
from graph import Unsuitable
from refusals import explanation
from reduce import reduced
from runtimes import Peer, Refused, Runner

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import text_parser, work_folder  # noqa: E402

UNREST = 30  # of a change of the inputs by a rounding: the most that rounding may make of it


class Verdict:
    """kind: equal, differs, refused, fault, peer (onnxruntime does not take it), unrest, empty."""

    def __init__(self, kind, text="", graph=None):
        self.kind, self.text = kind, text
        self.drawn = graph.drawn if graph else []


def is_unrest(peer, fed, name, wanted, found):
    """Whether a rounding of the inputs moves onnxruntime's own answer as far: a step, a pole."""
    rng = np.random.default_rng(7)
    farthest = 0
    for _ in range(3):
        try:
            other = peer.run(moved(fed, rng))[name]
        except Refused:
            continue
        if other.shape != wanted.shape:
            return True
        farthest = max(farthest, spread(other, wanted))
    if found is None or found.shape != wanted.shape:
        return False
    return spread(found, wanted) <= UNREST * farthest


def check(model, feeds, runner, options=()):
    """The verdict over a model on its feeds."""
    try:
        peer = Peer(model)
        answers = [peer.run(fed) for fed in feeds]
    except Refused as refused:
        return Verdict("peer", refused.text)
    try:
        runner.convert(model, options)
    except Refused as refused:
        kind = "refused" if refused.code in (4, 5) else "fault"
        return Verdict(kind, f"convert: {refused}")
    unrest = False
    for run, (fed, wanted) in enumerate(zip(feeds, answers)):
        try:
            found = runner.run(fed)
        except Refused as refused:
            return Verdict("fault", f"run {run}: {refused}")
        for name, array in wanted.items():
            line = difference(found.get(name), array)
            if not line:
                continue
            why = numbers_explained(model, found.get(name), array)
            if why:
                return Verdict("explained", why)
            if is_unrest(peer, fed, name, array, found.get(name)):
                unrest = True
                continue
            return Verdict("differs", f"run {run}: output '{name}': {line}")
    return Verdict("unrest" if unrest else "equal")


# Numbers that may be others, behind an operator, and why: what counts as such in found and wanted.
NUMBERS_EXPLAINED = [
    (
        ("MaxPool", "GlobalMaxPool"),
        lambda found, wanted: np.isnan(found),
        # ONNX does not say; onnxruntime's answer depends on the place of NaN in the window
        "pools: the maximum of NaN and a number",
    ),
    (
        ("ReduceProd",),
        lambda found, wanted: ~np.isfinite(found) & (~np.isfinite(wanted) | (wanted == 0)),
        # 0 times infinity, where the lanes of a product leave the range on both sides
        "products beyond the range of their type",
    ),
]


def numbers_explained(model, found, wanted):
    """Why nothing differs but such numbers, or None."""
    if found is None or found.shape != wanted.shape or found.dtype != wanted.dtype:
        return None
    if found.dtype.kind in "biu":
        return None
    operators = {node.op_type for node in model.graph.node}
    for of, may_differ, why in NUMBERS_EXPLAINED:
        if operators.isdisjoint(of):
            continue
        excused = may_differ(found.astype(np.float64), wanted.astype(np.float64))
        if difference(np.where(excused, wanted, found), wanted) is None:
            return why
    return None


def drawn_model(rules, seed):
    g = draw(rules, seed)
    model = g.model()
    feeds = g.fed if g.symbols else g.fed[:1]
    return g, model, feeds


def check_seed(rules, seed, runner):
    try:
        g, model, feeds = drawn_model(rules, seed)
    except Unsuitable:
        return Verdict("empty")
    verdict = check(model, feeds, runner, g.options)
    verdict.drawn = g.drawn
    if verdict.kind == "refused" and explanation(verdict.text):
        verdict.kind, verdict.text = "explained", explanation(verdict.text)
    return verdict


@functools.cache
def rules_here():
    return drawable_rules()


def work(share):
    runner_path, folder, seeds = share
    runner = Runner(runner_path, f"{folder}/{multiprocessing.current_process().pid}")
    try:
        return [(seed, check_seed(rules_here(), seed, runner)) for seed in seeds]
    finally:
        runner.close()


def print_one(rules, seed, runner, keep):
    g, model, feeds = drawn_model(rules, seed)
    verdict = check(model, feeds, runner, g.options)
    print(onnx.printer.to_text(model))
    print(f"seed {seed}: {verdict.kind} {verdict.text}")
    if verdict.kind in ("equal", "peer"):
        return 0

    def stays(other, other_feeds):
        same = check(other, other_feeds, runner, g.options)
        return same.kind == verdict.kind and (
            verdict.kind == "differs" or same.text[:40] == verdict.text[:40]
        )

    least, least_feeds = reduced(model, feeds, stays)
    print(onnx.printer.to_text(least))
    print(check(least, least_feeds, runner, g.options).text)
    for run, fed in enumerate(least_feeds):
        for name, array in fed.items():
            print(
                f"run {run}: {name} = {array.dtype} {list(array.shape)}",
                array.ravel()[:24].tolist(),
            )
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
        onnx.save(least, keep / f"{seed}.onnx")
        for run, fed in enumerate(least_feeds):
            np.savez(keep / f"{seed}_{run}.npz", **fed)
    return 1


def print_coverage(drawn):
    types = sorted({t for _, t in drawn})
    by_op = collections.defaultdict(dict)
    for (op, t), count in drawn.items():
        by_op[op][t] = count
    print(f"\n{len(by_op)} operators, {len(drawn)} pairs of operator and type, compared so often:")
    print(f"{'operator':28}" + "".join(f"{t:>9}" for t in types))
    for op in sorted(by_op):
        print(f"{op:28}" + "".join(f"{by_op[op].get(t, '.'):>9}" for t in types))


def shares(first, total, runner, folder, each=200):
    for at in range(first, first + total, each):
        yield runner, folder, range(at, min(at + each, first + total))


def main():
    parser = text_parser(__doc__)
    parser.add_argument("--runner", required=True)
    parser.add_argument("--graphs", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--keep", type=pathlib.Path, help="with --seed: where the least part goes")
    parser.add_argument("--coverage", action="store_true", help="a line for each operator")
    a = parser.parse_args()
    with work_folder() as folder:
        if a.seed is not None:
            return print_one(drawable_rules(), a.seed, Runner(a.runner, folder), a.keep)
        return many(a, folder)


def many(a, folder):
    kinds, reasons, drawn = (collections.Counter() for _ in range(3))
    left = []
    with multiprocessing.Pool(a.jobs) as pool:
        for results in pool.imap_unordered(work, shares(a.first, a.graphs, a.runner, folder)):
            for seed, verdict in results:
                kinds[verdict.kind] += 1
                if verdict.kind in ("equal", "unrest"):
                    drawn.update(verdict.drawn)
                elif verdict.kind in ("explained", "peer"):
                    reasons[
                        (
                            verdict.kind,
                            verdict.text if verdict.kind == "explained" else verdict.text[:90],
                        )
                    ] += 1
                elif verdict.kind != "empty":
                    left.append(seed)
                    print(f"seed {seed}: {verdict.kind}: {verdict.text[:300]}", flush=True)
    for (kind, text), count in reasons.most_common(60):
        print(f"{count:6} {kind}: {text}")
    if a.coverage:
        print_coverage(drawn)
    else:
        print(f"{len({op for op, _ in drawn})} operators, {len(drawn)} pairs of operator and type")
    found = ", ".join(f"{n} {k}" for k, n in kinds.most_common())
    print(f"{a.graphs} graphs from seed {a.first}: {found}")
    print(f"{len(left)} unexplained (onnxruntime {onnxruntime.__version__})")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
