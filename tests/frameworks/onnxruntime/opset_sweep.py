#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small networks, exported at every opset by each exporter that is installed; each file raw,
simplified by onnxslim and optimized by onnxruntime at each level; converted, run, and compared with
what the framework itself computed.

  opset_sweep.py --ingot BIN [--tensorflow PYTHON] [--write PAGE] [name ...]

Needs numpy, onnx, onnxruntime and torch with onnxscript. Without scikit-learn and skl2onnx, keras
or onnxslim their part is skipped, which is counted; so is tf2onnx without --tensorflow, the Python
of an environment that has it. onnxruntime's last level is taken without
NchwcTransformer, whose files hold weights in blocks of the machine that they were made on."""

import collections
import contextlib
import importlib
import logging
import os
import pathlib
import shutil
import sys
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import RunError, Ingot, ingot_parser, largest_error, run, work_folder  # noqa: E402

os.environ.setdefault("KERAS_BACKEND", "torch")
# The networks are small; pools of torch and scikit-learn beside each other wait for one another.
os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
import opset_networks as networks  # noqa: E402

TOLERANCE = 1e-4  # of the largest output
LEVELS = {
    "basic": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "extended": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    "all": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
}
FORMS = ["raw", "onnxslim", *LEVELS]


def is_there(*packages):
    try:
        for package in packages:
            importlib.import_module(package)
    except ImportError:
        return False
    return True


@contextlib.contextmanager
def silenced():
    """Exporters print from C++ too."""
    sys.stdout.flush(), sys.stderr.flush()
    kept = os.dup(1), os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1), os.dup2(nowhere, 2)
        yield
    finally:
        sys.stdout.flush(), sys.stderr.flush()
        for number, descriptor in zip((1, 2), kept):
            os.dup2(descriptor, number), os.close(descriptor)
        os.close(nowhere)


def session_of(path, level=None, out=None):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    disabled = None
    if level is not None:
        options.graph_optimization_level = level
    if out is not None:
        options.optimized_model_filepath = str(out)
        disabled = ["NchwcTransformer"]
    return onnxruntime.InferenceSession(
        path, options, providers=["CPUExecutionProvider"], disabled_optimizers=disabled
    )


def write_form(form, raw, out):
    if form == "raw":
        return raw
    if form == "onnxslim":
        import onnxslim

        onnx.save(onnxslim.slim(onnx.load(raw)), out)
    else:
        session_of(raw, LEVELS[form], out)
    return out


def same(found, wanted):
    """Why not, or empty."""
    if found.shape != wanted.shape:
        return f"{found.shape} is not {wanted.shape}"
    if wanted.dtype.kind in "iub":
        return "" if np.array_equal(found, wanted) else "other integers"
    error = largest_error(found, wanted.astype(np.float64), 1e-6)
    return "" if error <= TOLERANCE else f"error {error:.2g} of the largest"


def first_wrong(found, ports, wanted):
    whys = [same(found[name], out) for name, out in zip(ports, wanted)]
    return next((why for why in whys if why), "")


def check(ingot, work, path, fed, wanted):
    """What is wrong, or empty; and whether the file itself is another network than was exported:
    then onnxruntime, which optimizes nothing, says what it computes."""
    ports = [p.name for p in onnx.load(path, load_external_data=False).graph.output]
    inputs = [p.name for p in onnx.load(path, load_external_data=False).graph.input]
    by_port = dict(zip(inputs, fed))
    try:
        found = Ingot(ingot, work).computed(path, by_port)
    except RunError as error:
        return "refused: " + " ".join(str(error).split())[-160:], False
    why = first_wrong(found, ports, wanted)
    if not why:
        return "", False
    plain = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    answers = session_of(path, plain).run(ports, by_port)
    if not first_wrong(dict(zip(ports, answers)), ports, wanted):
        return why, False
    return first_wrong(found, ports, answers), True


def from_tensorflow(python, folder):
    """Networks that another Python wrote, as those of opset_networks.py."""
    script = pathlib.Path(__file__).parent / "tensorflow_networks.py"
    run(python, script, "--out", folder, seconds=3600).succeeded()

    def case(network):
        arrays = np.load(network / "case.npz")
        fed = [arrays[name] for name in sorted(arrays) if name.startswith("in")]
        wanted = [arrays[name] for name in sorted(arrays) if name.startswith("out")]

        def export(path, opset):
            why = network / f"{opset}.txt"
            if why.exists():
                raise ValueError(why.read_text())
            shutil.copy(network / f"{opset}.onnx", path)

        opsets = sorted(int(f.stem) for f in network.iterdir() if f.stem.isdigit())
        return export, fed, wanted, opsets

    return {f"tf {one.name}": lambda one=one: case(one) for one in sorted(folder.iterdir())}


class Row:
    def __init__(self):
        self.opsets, self.files, self.equal, self.whys = [], 0, 0, collections.Counter()

    def text(self, network, exporter):
        opsets = f"{self.opsets[0]} to {self.opsets[-1]}" if self.opsets else ""
        why = "; ".join(f"{n} x {w}" for w, n in self.whys.most_common(3)).replace("|", "/")
        return f"| {network} | {exporter} | {opsets} | {self.files} | {self.equal} | {why} |"


def sweep(ingot, work, export, fed, wanted, opsets, forms):
    row = Row()
    for opset in opsets:
        raw = work / "raw.onnx"
        raw.unlink(missing_ok=True)
        try:
            with silenced():
                export(raw, opset)
            onnxruntime_runs = session_of(raw) is not None
        except Exception as error:  # what an exporter raises is its own
            lines = str(error).strip().split("\n")
            row.whys[f"not exported: {type(error).__name__}: {lines[0][:70]}"] += 1
            continue
        row.opsets.append(opset)
        for form in forms:
            try:
                path = write_form(form, raw, work / "form.onnx")
            except Exception as error:
                row.whys[f"{form} fails: {type(error).__name__}"] += 1
                continue
            why, is_other = check(ingot, work, path, fed, wanted)
            if is_other:
                row.whys[f"{form} makes another network of it"] += 1
            row.files += onnxruntime_runs
            row.equal += not why
            if why:
                row.whys[f"{form}, opset {opset}: {why}"] += 1
    return row


HEAD = """# Opsets and exporters
Made by `./dev show opset-sweep`. Small networks, exported at every opset by each exporter; each
file raw, simplified by onnxslim, and optimized by onnxruntime at its three levels (the last without
NchwcTransformer). Converted, run, and compared with what the framework itself computed: within 1e-4
of the largest number, labels exactly. Where a simplifier makes another network of a file, which
onnxruntime without any optimization shows, that one's answer is what is compared with. An opset
that an exporter refuses is counted in the last column; onnxruntime loads every file that counts.

| network | exporter | opsets | files | equal | others |
| --- | --- | --- | --- | --- | --- |
"""


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--tensorflow", metavar="PYTHON")
    parser.add_argument("--write", type=pathlib.Path)
    parser.add_argument("names", nargs="*", default=[])
    args = parser.parse_intermixed_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    forms, skipped = list(FORMS), []
    if not is_there("onnxslim"):
        forms.remove("onnxslim")
        skipped.append("[skip] onnxslim is not installed")
    page, files, equal = HEAD, 0, 0
    with work_folder() as folder:
        exporters = list(networks.EXPORTERS)
        if args.tensorflow:
            cases = from_tensorflow(args.tensorflow, (folder / "tensorflow"))
            exporters.append(("tf2onnx", [], cases))
        else:
            skipped.append("[skip] tf2onnx: --tensorflow names no Python that has it")
        for exporter, packages, cases in exporters:
            if not is_there(*packages):
                skipped.append(f"[skip] {exporter}: needs {', '.join(packages)}")
                continue
            for name, make in cases.items():
                if args.names and name not in args.names:
                    continue
                with silenced():
                    case = make()
                row = sweep(args.ingot, folder, *case, forms)
                files, equal = files + row.files, equal + row.equal
                line = row.text(name, exporter)
                print(line, flush=True)
                page += line + "\n"
    page += f"\n{equal} of {files} files are equal.\n"
    print("\n".join([f"opset sweep: {equal} of {files} files equal", *skipped]))
    if args.write and not args.names and not skipped:
        args.write.parent.mkdir(parents=True, exist_ok=True)
        args.write.write_text(page)
    sys.exit(0 if files and equal == files else 1)


if __name__ == "__main__":
    main()
