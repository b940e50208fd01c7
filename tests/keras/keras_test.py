"""Whole Keras models are cast and give keras' own outputs; what cannot be cast is refused by name.
  keras_test.py INGOT SOURCE_DIR      networks beyond the committed samples: INGOT_KERAS_NETWORKS=FOLDER (make_networks.py FOLDER MobileNetV2 ...)"""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile

ingot, source = sys.argv[1:3]
passed = failed = skipped = 0


def check(ok, text):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print("[fail] " + text)


def convert(path, *options):
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run([ingot, "convert", path, "-o", os.path.join(folder, "out.ingot"), *options], capture_output=True, text=True,
                                timeout=300)
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
            check(result.returncode == 0, f"{path}: exit {result.returncode}, {(result.stdout + result.stderr).strip()[:400]}")
            if folder != samples and result.returncode == 0:
                print(os.path.basename(path) + ": " + [line for line in result.stdout.splitlines() if line.startswith("ok")][0])
            count += 1
    return count


def changed(name, change):
    """The sample with its configuration changed, refused with exit code and words."""
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, name)
    with zipfile.ZipFile(os.path.join(samples, name)) as old, zipfile.ZipFile(path, "w") as new:
        for member in old.namelist():
            data = old.read(member)
            if member == "config.json":
                config = json.loads(data)
                change(config["config"]["layers"])
                data = json.dumps(config).encode()
            new.writestr(member, data)
    result = convert(path)
    shutil.rmtree(folder)
    return result


def refused(name, change, code, *words):
    result = changed(name, change)
    check(result.returncode == code and all(w in result.stderr for w in words),
          f"{name}: exit {result.returncode}, expected {code} with {words}: {result.stderr.strip()[:400]}")


def set_field(layer, key, value):
    def change(layers):
        layers[layer]["config"][key] = value
    return change


def two_kinds(layers):
    layers[2]["class_name"] = "Lambda"
    layers[3]["class_name"] = "MyOwnLayer"


samples = os.path.join(source, "tests", "keras", "samples")
count = equal_outputs(samples)
check(count >= 8, f"{count} samples were found, expected 8 or more")
refused("sequential.keras", two_kinds, 4, "2 things are not supported", "never executed", "MyOwnLayer")
refused("sequential.keras", set_field(1, "filters", 6), 5, "belong to different models")
refused("sequential.keras", set_field(1, "padding", "sideways"), 4, "sideways")
refused("sequential.keras", set_field(1, "surprise", 3), 4, "surprise")
refused("sequential.keras", set_field(1, "kernel_size", [0, 3]), 2, "window")
refused("lstm.keras", lambda layers: layers[1]["config"].update(mask_zero=True), 4, "mask_zero")
refused("lstm.keras", lambda layers: layers[1]["inbound_nodes"].clear(), 2, "reads what nothing makes")
check(convert(os.path.join(source, "tests", "checkpoint", "keras", "lambda.keras")).returncode == 4, "lambda.keras is not refused with 4")
check(convert(os.path.join(source, "tests", "checkpoint", "keras", "small.weights.h5")).returncode == 4, "weights alone are not refused with 4")
networks = os.environ.get("INGOT_KERAS_NETWORKS")
if networks:
    check(equal_outputs(networks) > 0, networks + " holds no networks")
else:
    skipped = 1
    print("[skip] keras.applications: INGOT_KERAS_NETWORKS names no folder of tests/keras/make_networks.py")
print(f"keras: {passed} passed, {failed} failed, {skipped} skipped")
sys.exit(1 if failed else 0)
