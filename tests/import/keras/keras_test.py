# SPDX-License-Identifier: Apache-2.0
"""Whole Keras models are converted and give keras' own outputs; what cannot be converted is refused
by name.
keras_test.py INGOT SOURCE_DIR      networks beyond the committed samples:
INGOT_KERAS_NETWORKS=FOLDER (make_networks.py FOLDER MobileNetV2 ...)"""

import glob
import json
import os
import pathlib
import sys
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import Checks, Ingot, run, work_folder  # noqa: E402

ingot, source = sys.argv[1:3]
checks = Checks("keras")
check = checks.check


def convert(path, *options):
    with work_folder() as folder:
        result = Ingot(ingot, folder).convert(path, *options)
        left = os.listdir(folder)
    check(result.returncode == 0 or not left, f"{path}: refused, and left {left}")
    return result


def equal_outputs(folder):
    count = 0
    for golden in sorted(glob.glob(os.path.join(folder, "*.npz"))):
        for end in (".keras", ".h5"):
            path = golden[:-4] + end
            if not os.path.exists(path):
                continue
            result = convert(path, "--golden", golden)
            if checks.report(path, result.error) and folder != samples:
                line = next(s for s in result.stdout.splitlines() if s.startswith("ok"))
                print(f"{os.path.basename(path)}: {line}")
            count += 1
    return count


def changed(name, change):
    """The sample with its configuration changed, refused with exit code and words."""
    with work_folder() as folder:
        path = folder / name
        with zipfile.ZipFile(os.path.join(samples, name)) as old, zipfile.ZipFile(path, "w") as new:
            for member in old.namelist():
                data = old.read(member)
                if member == "config.json":
                    config = json.loads(data)
                    change(config["config"]["layers"])
                    data = json.dumps(config).encode()
                new.writestr(member, data)
        return convert(path)


def refused(name, change, code, *words):
    checks.report(name, changed(name, change).refusal(code, *words, lines=None))


def set_field(layer, key, value):
    def change(layers):
        layers[layer]["config"][key] = value

    return change


def two_kinds(layers):
    layers[2]["class_name"] = "Lambda"
    layers[3]["class_name"] = "MyOwnLayer"


def overlays():
    """A sample with its numbers overwritten gives the sample's outputs again under --weights, in
    both containers."""
    for name in ("mix.keras", "nested.h5"):
        path, golden = (
            os.path.join(samples, name),
            os.path.join(samples, name.split(".")[0] + ".npz"),
        )
        with work_folder() as folder:
            extracted = os.path.join(folder, "w.safetensors")
            run(ingot, "extract", path, "-o", extracted).succeeded()
            with open(extracted, "rb") as file:
                size = int.from_bytes(file.read(8), "little")
                header, body = json.loads(file.read(size)), file.read()
            spans = [
                t["data_offsets"]
                for k, t in header.items()
                if k != "__metadata__"
                and t["dtype"] == "F32"
                and t["data_offsets"][1] - t["data_offsets"][0] >= 32
            ]
            changed = 0

            def scramble(data):
                nonlocal changed
                for low, high in spans:
                    if data.count(body[low:high]) == 1:
                        data = data.replace(
                            body[low:high], b"\x00\x00\x80\x3e" * ((high - low) // 4)
                        )
                        changed += 1
                return data

            other = os.path.join(folder, "other" + os.path.splitext(name)[1])
            if name.endswith(".h5"):
                with open(path, "rb") as file, open(other, "wb") as out:
                    out.write(scramble(file.read()))
            else:
                with zipfile.ZipFile(path) as archive, zipfile.ZipFile(other, "w") as out:
                    for member in archive.namelist():
                        data = archive.read(member)
                        out.writestr(member, scramble(data) if member.endswith(".h5") else data)
            check(changed >= 2, f"{name}: {changed} weights overwritten, expected 2 or more")
            check(
                convert(other, "--golden", golden).returncode == 6,
                f"{name}: overwritten weights give the sample's outputs",
            )
            why = convert(other, "--weights", path, "--golden", golden).error
            checks.report(f"{name} --weights", why)
            done = convert(other, "--weights", os.path.join(samples, "gru.keras"))
            why = done.refusal(5, "missing", "unexpected", lines=None)
            checks.report(f"{name} with other weights", why)


samples = os.path.join(source, "tests/import/keras/samples")
count = equal_outputs(samples)
check(count >= 8, f"{count} samples were found, expected 8 or more")
with work_folder() as folder:  # a batch of nothing
    made = Ingot(ingot, folder)
    made.convert(os.path.join(samples, "lstm.keras")).succeeded()
    dims = json.loads(made("inspect", made.file, "--json").stdout)["dims"]
    check([each["low"] for each in dims] == [0], f"an LSTM's batch: {dims}")
refused(
    "sequential.keras", two_kinds, 4, "2 things are not supported", "never executed", "MyOwnLayer"
)
refused("sequential.keras", set_field(1, "filters", 6), 5, "belong to different models")
refused("sequential.keras", set_field(1, "padding", "sideways"), 4, "sideways")
refused("sequential.keras", set_field(1, "surprise", 3), 4, "surprise")
refused("sequential.keras", set_field(1, "kernel_size", [0, 3]), 2, "window")
refused(
    "masked_sequential.keras",
    lambda layers: layers[2].update(class_name="Softmax", config={"name": "s", "axis": -1}),
    4,
    "mask",
)
refused(
    "lstm.keras", lambda layers: layers[1]["inbound_nodes"].clear(), 2, "reads what nothing makes"
)


def first(layers, kind):
    return next(layer for layer in layers if layer["class_name"] == kind)


def set_index(kind, index):
    return lambda layers: first(layers, kind)["inbound_nodes"][0]["args"].__setitem__(1, index)


whole = {"class_name": "__slice__", "config": {"start": None, "stop": None, "step": None}}
for kind, index, exit_code, words in (
    ("GetItem", [whole, 99], 2, "has index 99"),
    ("GetItem", [0] * 9, 2, "an index of 9 dimensions"),
    ("GetItem", [{"class_name": "__slice__"}], 2, "without its bounds"),
    ("GetItem", [[0, 1]], 4, "other than numbers and slices"),
    ("Take", [0, 99], 2, "takes element 99"),
):
    refused("every_operation.keras", set_index(kind, index), exit_code, words)
refused(
    "every_activation.keras",
    lambda layers: layers[0]["config"].update(batch_shape=[None, 6, 3]),
    4,
    "glu halves a dimension of 3",
)
for kind, key, value, words in (
    ("Reshape", "newshape", [1 << 40, 1 << 40, -1], "overflows 64 bits"),
    ("Split", "indices_or_sections", [1e300], "holds 1"),
    ("Transpose", "axes", [0, 0, 1], "no order"),
    ("Softmax", "axis", 1 << 39, "its axis"),
):
    refused(
        "every_operation.keras",
        lambda layers: first(layers, kind)["config"].update({key: value}),
        2,
        words,
    )


def stateful(batch):
    def change(layers):
        layers[0]["config"]["batch_shape"][0] = batch
        layers[3]["config"]["stateful"] = True

    return change


refused("lstm.keras", stateful(None), 4, "stateful", "--dim")
kept = changed("lstm.keras", stateful(2))
check(
    kept.returncode == 0 and kept.stderr.count("is kept from run to run") == 2,
    f"stateful lstm.keras: exit {kept.returncode}: {kept.stderr}",
)
for name in ("lambda.keras", "small.weights.h5"):
    done = convert(os.path.join(source, "tests/checkpoint/keras", name))
    checks.report(name, done.refusal(4, lines=None))
overlays()
networks = os.environ.get("INGOT_KERAS_NETWORKS")
if networks:
    check(equal_outputs(networks) > 0, networks + " holds no networks")
else:
    maker = "tests/frameworks/keras/make_networks.py"
    checks.skip(f"keras.applications: INGOT_KERAS_NETWORKS names no folder of {maker}")
sys.exit(checks.finish())
