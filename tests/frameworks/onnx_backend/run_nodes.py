#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ONNX's published node tests (the `onnx` package makes them): convert each, run it on the oracle
kernels and on the best instruction set, compare with the published outputs. A model of a newer
opset is taken as opset 28 where its operators have not changed.

  run_nodes.py --ingot BIN [--isa oracle,best] [--list] [--update] [name-part ...]

A test whose model is refused with exit code 4 is counted as unsupported when unsupported.tsv
(beside this file) says so, with the reason; a refusal that is not listed fails, and so does a
listed one that passes: the list must shrink. --update rewrites the list.
"""

import collections
import pathlib
import re
import sys
import warnings

import numpy as np
import onnx
import onnx.numpy_helper
from onnx.backend.test.case.node import collect_testcases

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import Checks, ingot_parser, run, work_folder  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
OPSET = 28
WHOLE_SIZE = "coordinates follow the output's whole size, as onnxruntime's do"
# Where we differ by design; each must go on differing, else it leaves this list.
BY_DESIGN = {
    "bernoulli": "random numbers: no two runtimes draw the same",
    "training_dropout": "converted in inference form, and that is reported",
    "resize_downsample_scales_linear_align_corners": WHOLE_SIZE,
    "resize_downsample_scales_cubic_align_corners": WHOLE_SIZE,
}
LIST = HERE / "unsupported.tsv"
WEIGHTS = {
    "LSTM": [1, 2, 3, 7],
    "GRU": [1, 2, 3],
    "RNN": [1, 2, 3],
    "Conv": [1, 2],
    "ConvTranspose": [1, 2],  # inputs, by operator
    "HannWindow": [0],
    "HammingWindow": [0],
    "BlackmanWindow": [0],
    "MelWeightMatrix": [0, 1, 2, 3, 4],
}


def as_supported_opset(model):
    """True when the model is, or can be declared as, of a supported opset."""
    for entry in model.opset_import:
        if entry.domain in ("", "ai.onnx") and entry.version > OPSET:
            graphs = [model.graph]
            for graph in graphs:
                for node in graph.node:
                    graphs += [a.g for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]
                    if (
                        onnx.defs.has(node.op_type)
                        and onnx.defs.get_schema(node.op_type).since_version > OPSET
                    ):
                        return False
            entry.version = OPSET
    return True


def array_of(value):
    """A sample as the ports take it: types narrower than a byte a number each, float8 and float4
    as the f32 that they are."""
    value = onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value
    array = np.asarray(value)
    name = array.dtype.name
    if re.fullmatch("u?int[24]", name):
        return array.astype(name[: name.index("i")] + "int8")
    return array.astype(np.float32) if re.match("float[48]_", name) else array


def design_of(name):
    """Why a case differs by design; None: it does not."""
    if "zero_ratio" in name:
        return None
    return next((reason for part, reason in BY_DESIGN.items() if part in name), None)


def on(isa):
    return {} if isa == "best" else {"INGOT_CPU_ISA": isa}


def run_one(args, test, work):
    """('ok' | 'unsupported' | 'fail' | 'skip', why)"""
    model = onnx.ModelProto()
    model.CopyFrom(test.model)
    if not as_supported_opset(model):
        return "unsupported", f"an operator newer than opset {OPSET}"
    initializers = {i.name for i in model.graph.initializer}
    inputs = [i for i in model.graph.input if i.name not in initializers]
    if any(not p.type.HasField("tensor_type") for p in [*inputs, *model.graph.output]):
        return "unsupported", "sequence, optional or map types"
    given, expected = test.data_sets[0]
    golden = {f"in:{p.name}": array_of(v) for p, v in zip(inputs, given)}
    golden |= {f"out:{p.name}": array_of(v) for p, v in zip(model.graph.output, expected)}
    strange = sorted({v.dtype.name for v in golden.values()} - ARRAY_TYPES)
    if strange:
        return "unsupported", "element type " + ", ".join(n[:20] for n in strange)
    # sizes that only the data tell get a bound, as a user gives it, before they become constants
    for bake, options in ((False, []), (False, ["--max-elements", "24"]), (True, [])):
        if bake:
            bake_settings(model, golden)
        onnx.save(model, work / "node.onnx")
        result = convert_and_check(args, test, golden, work, options)
        if result[0] != "unsupported":
            break
    return result


def bake_settings(model, golden):
    """Shapes, axes, scales, weights and the like as constants, which is how exporters write them;
    the tests pass them as inputs."""
    weights = WEIGHTS.get(model.graph.node[0].op_type, []) if len(model.graph.node) == 1 else []
    weights = {name for i, name in enumerate(model.graph.node[0].input) if i in weights}
    for i, port in enumerate(list(model.graph.input)):
        value = golden.get(f"in:{port.name}")
        setting = (
            i > 0
            and value is not None
            and value.ndim <= 1
            and (value.dtype.kind in "iub" or port.name in ("scales", "roi", "min", "max", "value"))
        )
        if setting or (value is not None and port.name in weights):
            model.graph.initializer.append(onnx.numpy_helper.from_array(value, port.name))
            model.graph.input.remove(port)
            del golden[f"in:{port.name}"]


def extents_agree(args, converted, golden, work, isa):
    """Runs what gives no element and looks at the extents of its outputs."""
    inputs, outputs = work / "in.npz", work / "out.npz"
    np.savez(inputs, **{k: v for k, v in golden.items() if k.startswith("in:")})
    files = ("--inputs", inputs, "--outputs", outputs)
    done = run(args.ingot, "run", converted, *files, env=on(isa))
    if done.returncode == 0:
        made = np.load(outputs)
        wrong = [
            k for k, v in golden.items() if k.startswith("out:") and made[k[4:]].shape != v.shape
        ]
        done.returncode, done.stderr = (6, f"extents of {wrong} differ") if wrong else (0, "")
    return done


def convert_and_check(args, test, golden, work, options):
    converted, npz = work / "node.ingot", work / "node.npz"
    converted.unlink(missing_ok=True)
    done = run(args.ingot, "convert", work / "node.onnx", "-o", converted, options)
    if done.returncode == 4:
        lines = [l for l in done.stderr.splitlines() if l.strip()]
        text = re.sub(r"\s+", " ", lines[-1] if lines else "")
        return "unsupported", text.split("node.onnx: ")[-1][:160]
    if done.returncode != 0:
        return "fail", done.error
    np.savez(
        npz, **{k: v.view("V2") if v.dtype.name == "bfloat16" else v for k, v in golden.items()}
    )  # as numpy keeps bfloat16
    # The published results round to bfloat16 on the way, one step of which is 2^-8: the row of the
    # tolerance table for such types.
    rtol = (
        max(test.rtol, 3e-2)
        if any(v.dtype.name in ("bfloat16", "void16") for v in golden.values())
        else test.rtol
    )
    for isa in args.isa.split(","):
        tolerance = ("--rtol", rtol, "--atol", max(test.atol, 1e-6))
        done = run(args.ingot, "check", converted, "--golden", npz, *tolerance, env=on(isa))
        if done.returncode == 6 and not any(
            v.size for k, v in golden.items() if k.startswith("out:")
        ):
            done = extents_agree(
                args, converted, golden, work, isa
            )  # no element to compare, which check does not call equal
        if done.returncode != 0:
            return "fail", f"{isa}: {done.error}"
    return "ok", ""


ARRAY_TYPES = {
    "bfloat16",
    "void16",  # bfloat16 as numpy keeps it
    "float32",
    "float64",
    "float16",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "bool",
}


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--isa", default="oracle,best")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--list", action="store_true", help="print every failure in full")
    parser.add_argument("names", nargs="*", default=[])
    args = parser.parse_intermixed_args()
    warnings.simplefilter("ignore")
    tests = sorted(
        (
            t
            for t in collect_testcases(None)
            if not args.names or any(n in t.name for n in args.names)
        ),
        key=lambda t: t.name,
    )
    known = (
        dict(
            line.split("\t", 1) for line in LIST.read_text().splitlines() if line and line[0] != "#"
        )
        if LIST.exists()
        else {}
    )
    results, counts, checks = {}, collections.Counter(), Checks("nodes")
    with work_folder() as work:
        for test in tests:
            result, why = run_one(args, test, work)
            design = design_of(test.name)
            if design and result != "unsupported":
                result, why = (
                    ("different", design)
                    if result == "fail"
                    else ("fail", "differs no longer: take it out of BY_DESIGN")
                )
            if result == "unsupported" and test.name not in known and not args.update:
                result, why = "fail", f"refused, but not listed in unsupported.tsv: {why}"
            elif result == "ok" and test.name in known and not args.update:
                result, why = "fail", "listed in unsupported.tsv, but it passes: run with --update"
            results[test.name] = (result, why)
            counts[result] += 1
            if result in ("ok", "fail"):
                checks.report(test.name, result == "fail" and why)
    if args.update:
        kept = {
            **{n: w for n, w in known.items() if n not in results},
            **{n: w for n, (r, w) in results.items() if r == "unsupported"},
        }
        rows = [f"{name}\t{why}" for name, why in sorted(kept.items())]
        LIST.write_text(
            "# Node tests that are refused, with the reason; made by run_nodes.py --update. The list must shrink.\n"
            + "\n".join(rows)
            + "\n"
        )
    print(
        f"{counts['different']} differ by design; {counts['unsupported']} refused by name, as listed in unsupported.tsv"
    )
    sys.exit(checks.finish())


if __name__ == "__main__":
    main()
