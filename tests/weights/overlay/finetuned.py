#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of fine-tuned networks over exports of the untrained ones, equal to the export of the
fine-tuned ones.

  finetuned.py --ingot PATH --work DIR [--only NAME ...] [--forms FORM ...]

Each network is exported as it is when it was made (weights of one value, which exporters merge or
leave out), then all its weights and statistics change, and the result is saved in one of the ways
of trainers: behind prefixes, below keys, in half precision. ARCH with --weights has to give what
eager torch gives with the values that were saved, and what the converted export of the fine-tuned
network gives: the same bits where the weights are the same, else within the tolerance of `ingot
check`.

  new        torch.onnx.export as it is: folds normalizations under the old names, merges equal
  weights, drops zero biases new_plain  the same, optimize=False old        the exporter of
  TorchScript (dynamo=False): folds, renames, transposes, merges old_plain  the same with
  training=PRESERVE, do_constant_folding=False pt2, script  torch.export and torch.jit.trace

Runs with a Python that has torch, torchvision, timm, onnx, onnxscript and safetensors.
"""

import json
import pathlib
import sys
import time
import warnings

import numpy as np
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import Checks, RunError, ingot_parser, run  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import networks  # noqa: E402

FORMS = ["new", "new_plain", "old", "old_plain", "pt2", "script"]

# safetensors sorts names, so what follows what is lost; norm2 of conv1 is then no name for it
# either. Refused, never guessed.
REFUSED = {("densenet121", "old", "safetensors"), ("densenet121", "old", "safetensors_bf16")}


def export(net, inputs, form, path):
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        if form == "pt2":
            torch.export.save(torch.export.export(net, inputs), path)
        elif form == "script":
            torch.jit.trace(net, inputs, check_trace=False).save(str(path))
        elif form == "old":
            torch.onnx.export(
                net, inputs, str(path), dynamo=False, input_names=["in0"], output_names=["out0"]
            )
        elif form == "old_plain":
            torch.onnx.export(
                net,
                inputs,
                str(path),
                dynamo=False,
                input_names=["in0"],
                output_names=["out0"],
                training=torch.onnx.TrainingMode.PRESERVE,
                do_constant_folding=False,
            )
        else:
            torch.onnx.export(
                net,
                inputs,
                str(path),
                dynamo=True,
                optimize=form == "new",
                external_data=False,
                verbose=False,
            )


def outputs(ingot, model, inputs, work):
    """Of a converted model, by position."""
    described = json.loads(run(ingot, "inspect", model, "--json").stdout)
    np.savez(
        work / "in.npz", **{port["name"]: x.numpy() for port, x in zip(described["inputs"], inputs)}
    )
    done = run(ingot, "run", model, "--inputs", work / "in.npz", "--outputs", work / "out.npz")
    done.succeeded()
    made = np.load(work / "out.npz")
    return [made[port["name"]] for port in described["outputs"]]


def distance(a, b):
    """Largest difference over the largest value."""
    return float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-30))


class Table(Checks):
    networks = 0

    def row(self, good, name, form, saving, text):
        return self.check(good, f"{name:20} {form:10} {saving:17} {text}")


def check_forms(name, number, forms, a, table):
    net, inputs = networks.build(name)
    tuned = networks.fine_tuned(net, name)
    eps = networks.epsilon(net)
    work = a.work / name
    work.mkdir(parents=True, exist_ok=True)
    savings = list(networks.SAVINGS)
    every = True
    for index, form in enumerate(forms):
        saving = savings[(number + index * 3) % len(savings)]
        ending = {"pt2": ".pt2", "script": ".pt"}.get(form, ".onnx")
        arch, own = work / f"{form}_arch{ending}", work / f"{form}_own{ending}"
        checkpoint, options, values = networks.save(
            saving, tuned.state_dict(), work / f"{form}_{saving}"
        )
        loaded, _ = networks.build(name)
        loaded.load_state_dict(values)
        loaded.eval()
        with torch.no_grad():
            expected = loaded(*inputs)
            before = net(*inputs)
        try:
            export(net, inputs, form, arch)
            export(loaded, inputs, form, own)
        except Exception as error:  # what an exporter throws is anything
            print(
                f"[skip] {name} {form}: this torch does not export it: {type(error).__name__}: {(str(error).splitlines() or [''])[0][:160]}",
                flush=True,
            )
            continue
        if form == "script" and not run(a.ingot, "inspect", arch).returncode == 0:
            options = options + ["--input-shape", "x=" + "x".join(map(str, inputs[0].shape))]
        plain = [o for o in options if o not in ("--key", "ema")]
        alone = run(a.ingot, "convert", arch, "-o", work / "b.ingot", plain)
        if alone.returncode == 4:
            print(
                f"[skip] {name} {form}: the export itself is not converted: "
                f"{alone.stderr.splitlines()[0][:160]}",
                flush=True,
            )
            continue
        files = (arch, "--weights", checkpoint, "-o", work / "a.ingot")
        convert = lambda *more: run(a.ingot, "convert", *files, *options, *more)
        done = convert()
        said = ""
        if done.returncode == 4 and "--bn-eps" in done.stderr and eps is not None:
            done, said = convert("--bn-eps", eps), f"--bn-eps {eps:g}, "
        if (name, form, saving) in REFUSED:
            every &= table.row(
                done.returncode == 5 and "norm2.running_var" in done.stderr,
                name,
                form,
                saving,
                "refused: its normalizations have lost their order",
            )
            continue
        if done.returncode:
            every &= table.row(False, name, form, saving, said + done.stderr.strip()[:3000])
            continue
        other = run(a.ingot, "convert", own, "-o", work / "b.ingot")
        if other.returncode:
            every &= table.row(
                False, name, form, saving, "its own export: " + other.stderr.strip()[:400]
            )
            continue
        try:
            got, theirs = (
                outputs(a.ingot, work / "a.ingot", inputs, work)[0],
                outputs(a.ingot, work / "b.ingot", inputs, work)[0],
            )
        except RunError as error:
            every &= table.row(False, name, form, saving, said + str(error))
            continue
        expected, before = expected.numpy(), before.numpy()
        np.savez(work / "golden.npz", in0=inputs[0].numpy(), out0=expected)
        check = run(a.ingot, "check", work / "a.ingot", "--golden", work / "golden.npz")
        eager, export_ = distance(got, expected), distance(got, theirs)
        same = "the same bits" if np.array_equal(got, theirs) else f"{export_:.1e}"
        changed = distance(before, expected)
        good = (
            eager < 2e-4
            and export_ < 2e-4
            and changed > 100 * max(eager, export_, 1e-6)
            and check.returncode in (0, 5)
        )
        every &= table.row(
            good and check.returncode == 0,
            name,
            form,
            saving,
            f"{said}eager {eager:.1e}, own export {same}, untrained {changed:.1e}"
            + ("" if check.returncode == 0 else ": " + (check.stdout + check.stderr).strip()[:300]),
        )
        for path in (arch, own, checkpoint, work / "a.ingot", work / "b.ingot"):
            if not a.keep:
                path.unlink(missing_ok=True)
    table.networks += every


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--only", nargs="+", default=list(networks.NETWORKS))
    parser.add_argument("--forms", nargs="+", default=FORMS, choices=FORMS)
    parser.add_argument("--keep", action="store_true", help="leave the files")
    a = parser.parse_args()
    torch.set_num_threads(1)
    torch.backends.mha.set_fastpath_enabled(False)  # a fused operator that no exporter knows
    table, began = Table("overlays", verbose=True), time.monotonic()
    for number, name in enumerate(networks.NETWORKS):
        if name in a.only:
            check_forms(name, number, a.forms, a, table)
    print(
        f"{table.networks} of {len(a.only)} networks in every form, "
        f"{time.monotonic() - began:.0f} s"
    )
    return table.finish() or not table.passed


if __name__ == "__main__":
    sys.exit(main())
