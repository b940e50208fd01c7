#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All of ONNX's backend tests: the node tests and the models of the newest `onnx` package (simple,
light, pytorch-converted, pytorch-operator), and those of Debian's libonnx-testdata. Each is
converted, run on the oracle kernels and on the best instruction set, and compared with its
published outputs. `--write` puts the table into a page: what passed, and every other
case with its reason, counted.

  run_backend.py --ingot BIN [--debian FOLDER] [--isa best] [--write PAGE] [--suite NAME]
                 [name-part ...]
"""

import argparse
import collections
import pathlib
import re
import sys
import types
import warnings

import numpy as np
import onnx
import onnx.numpy_helper
import run_nodes
from onnx.backend.test.case.node import collect_testcases

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import Checks, ingot_parser, work_folder  # noqa: E402

PACKAGE = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data"
FOLDERS = ("simple", "pytorch-converted", "pytorch-operator")
# What Ingot refuses for good, by the words of a refusal or of this file; not counted among "cases
# with tensors of numbers in and out".
OUTSIDE = {
    "text": "text: no tensor of numbers",
    "sequence, optional or map": "a sequence, an optional or a map as input or output",
    "training": "training operators",
    "random": "random numbers: no two runtimes give the same",
    "sample": "samples of another shape than their model declares",
}
TRAINING = r"ai\.onnx\.preview\.training|[Gg]radient|training output|in inference form"
RANDOM = r"\b(Bernoulli|Random\w+|Multinomial)\b"


def read(path, kind):
    message = kind()
    message.ParseFromString(path.read_bytes())
    return message


def value_of(path, port):
    """A sample: a tensor; None where the port is none."""
    if not port.type.HasField("tensor_type"):
        return None
    array = onnx.numpy_helper.to_array(read(path, onnx.TensorProto))
    # how samples of bfloat16 were saved before `onnx` could
    bits = port.type.tensor_type.elem_type == onnx.TensorProto.BFLOAT16 and array.dtype == np.uint16
    return array.view("V2") if bits else array


def case(name, suite, model, data_sets, rtol=1e-3, atol=1e-7):
    return types.SimpleNamespace(
        name=name, suite=suite, model=model, data_sets=data_sets, rtol=rtol, atol=atol
    )


def folder_cases(root, suite):
    for folder in sorted(path.parent for path in root.glob("*/model.onnx")):
        model = read(folder / "model.onnx", onnx.ModelProto)
        initializers = {i.name for i in model.graph.initializer}
        inputs = [i for i in model.graph.input if i.name not in initializers]
        sets = []
        for data in sorted(folder.glob("test_data_set_*")):
            given = [value_of(data / f"input_{i}.pb", p) for i, p in enumerate(inputs)]
            wanted = [
                value_of(data / f"output_{i}.pb", p) for i, p in enumerate(model.graph.output)
            ]
            sets.append((given, wanted))
        yield case(folder.name, suite, model, sets)


def light_cases(root):
    """Networks without their weights (constants that a node makes), fed with numbers that count."""
    for path in sorted(root.glob("*.onnx")):
        model = read(path, onnx.ModelProto)
        initializers = {i.name for i in model.graph.initializer}
        inputs = [i for i in model.graph.input if i.name not in initializers]
        given = []
        for port in inputs:
            shape = [d.dim_value for d in port.type.tensor_type.shape.dim]
            size = int(np.prod(shape))
            given.append((np.arange(size).reshape(shape) / size).astype(np.float32))
        outputs = [
            value_of(path.with_name(f"{path.stem}_output_{i}.pb"), p)
            for i, p in enumerate(model.graph.output)
        ]
        yield case(path.stem, "light", model, [(given, outputs)])


def all_cases(args):
    for test in sorted(collect_testcases(None), key=lambda t: t.name):
        yield case(test.name, "node", test.model, test.data_sets, test.rtol, test.atol)
    for name in FOLDERS:
        yield from folder_cases(PACKAGE / name, name)
    yield from light_cases(PACKAGE / "light")
    if args.debian:
        for root in sorted(p for p in pathlib.Path(args.debian).iterdir() if p.is_dir()):
            yield from folder_cases(root, f"libonnx-testdata {root.name}")


def kind_of(result, why):
    """The row of OUTSIDE that a refusal falls under, or None."""
    if result == "sample":
        return "sample"
    if result not in ("unsupported", "different"):
        return None
    if "element type object" in why or "element type str" in why or "STRING" in why:
        return "text"
    if "sequence, optional or map" in why:
        return "sequence, optional or map"
    if re.search(TRAINING, why):
        return "training"
    return "random" if re.search(RANDOM, why) else None


def misfits(test):
    """A sample has not the shape that its model declares: whoever reads both must refuse it."""
    initializers = {i.name for i in test.model.graph.initializer}
    ports = [p for p in test.model.graph.input if p.name not in initializers]
    for given, _ in test.data_sets:
        for port, value in zip(ports, given):
            dims = port.type.tensor_type.shape.dim
            shape = getattr(value, "shape", None)
            fits = (
                shape is None
                or len(shape) == len(dims)
                and all(not d.dim_value or d.dim_value == n for d, n in zip(dims, shape))
            )
            if not fits:
                return True
    return False


def run_all(args):
    rows = []
    with work_folder() as folder:
        for test in all_cases(args):
            if args.suite and test.suite != args.suite:
                continue
            if args.names and not any(n in test.name for n in args.names):
                continue
            result, why = "skip", "no sample inputs and outputs"
            for one in test.data_sets or []:
                single = types.SimpleNamespace(**{**vars(test), "data_sets": [one]})
                # the oracle takes minutes for a network of that size
                isa = "best" if test.suite == "light" else args.isa
                run = argparse.Namespace(**{**vars(args), "isa": isa})
                result, why = run_nodes.run_one(run, single, folder)
                if result != "ok":
                    break
            if result == "fail" and misfits(test):
                result, why = "sample", OUTSIDE["sample"]
            design = run_nodes.design_of(test.name)
            if design and result == "fail":
                result, why = "different", design
            rows.append((test.suite, test.name, result, re.sub(r"\s+", " ", why)[:200]))
            if result not in ("ok", "unsupported", "sample") or args.list and result != "ok":
                print(f"[{result}] {test.suite} {test.name}: {why[:400]}", flush=True)
    return rows


def table(rows):
    suites = collections.defaultdict(collections.Counter)
    for suite, _, result, why in rows:
        outside = kind_of(result, why)
        suites[suite]["cases"] += 1
        suites[suite][result] += 1
        suites[suite]["outside"] += outside is not None
        suites[suite]["refused"] += result == "unsupported" and outside is None
    lines = [
        "| suite | cases | passed | refused for good | of numbers in and out | passed of these |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    total = collections.Counter()
    for suite, count in [*suites.items(), ("all", total)]:
        if suite != "all":
            total.update(count)
        inside = count["cases"] - count["outside"]
        share = f"{100 * count['ok'] / inside:.1f} %" if inside else "-"
        lines.append(
            f"| {suite} | {count['cases']} | {count['ok']} | {count['outside']} | "
            f"{inside} | {share} |"
        )
    return lines, total


def page_of(rows):
    lines, total = table(rows)
    page = [
        "# ONNX's backend tests",
        "Made by `./dev show onnx-backend`: every case of the `onnx` package "
        f"{onnx.__version__} and of Debian's",
        "libonnx-testdata, converted, run and compared with its published outputs.",
        "",
        *lines,
        "",
        "Refused for good, and not counted as cases of numbers in and out: "
        + "; ".join(OUTSIDE.values())
        + ".",
        "",
        "## Every case that did not pass",
        "| reason | cases | names |",
        "| --- | --- | --- |",
    ]
    reasons = collections.defaultdict(list)
    for suite, name, result, why in rows:
        if result == "ok":
            continue
        outside = kind_of(result, why)
        why = re.sub(r" \(output '[^']*'\)", "", why)
        why = re.sub(r"'[^']*(?:'|$)", "a value", why).replace("1 thing is not supported: ", "")
        reason = OUTSIDE[outside] if outside else f"{result}: {why.strip()[:120]}"
        reasons[reason.replace("|", "/")].append(name.removeprefix("test_"))
    for reason, names in sorted(reasons.items(), key=lambda r: (-len(r[1]), r[0])):
        some = sorted(set(names))
        shown = ", ".join(some[:4]) + (f" and {len(some) - 4} more" if len(some) > 4 else "")
        page.append(f"| {reason} | {len(names)} | {shown} |")
    return "\n".join(page) + "\n", total


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--isa", default="oracle,best")
    parser.add_argument("--debian", help="the data folder of libonnx-testdata")
    parser.add_argument("--write", type=pathlib.Path)
    parser.add_argument("--suite")
    parser.add_argument("--list", action="store_true", help="print refusals too")
    parser.add_argument("names", nargs="*", default=[])
    args = parser.parse_intermixed_args()
    warnings.simplefilter("ignore")
    if not args.debian:
        print("[skip] libonnx-testdata is not here")
    rows = run_all(args)
    page, total = page_of(rows)
    if args.write:
        args.write.parent.mkdir(parents=True, exist_ok=True)
        args.write.write_text(page)
    print("\n".join(table(rows)[0]))
    inside = total["cases"] - total["outside"]
    print(
        f"{total['ok']} passed of {inside} with tensors of numbers in and out; "
        f"{total['outside']} refused for good, {total['refused']} refused, "
        f"{total['different']} differ by design"
    )
    checks = Checks("onnx_backend")
    checks.passed, checks.failed = total["ok"], total["fail"]
    sys.exit(checks.finish())


if __name__ == "__main__":
    main()
