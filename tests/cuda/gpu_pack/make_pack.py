#!/usr/bin/env python3
"""One folder with all that tests/cuda/gpu_pack/run needs on a machine with a GPU, a driver and a
shell: stripped programs, their shared libraries but the C library's, fragments, models, larger
networks without their weights, and a manifest with the hash of each file.

  make_pack.py --build TREE --models DIR --architecture 90 --commit NAME --out PACK

The tree is built for that architecture alone. What cannot be had here (a model whose source is
not) is left out and named. At most 50 MiB, else nothing is left under the name PACK.
"""

import argparse
import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "tests/models"))
from convert_once import Converted  # noqa: E402
from sources import Tally, call, locate, make_zoo, read_rows  # noqa: E402

LIMIT = 50 << 20
PROGRAMS = (
    "bin/ingot",
    "tests/cuda/gpu_runner",
    "tests/cuda/test_cuda_fragments_gpu",
    "tests/cuda/pipeline_bench",
    "tests/cuda/pack_tool",
    "tests/conformance/test_conformance_driver",
)
# Of the C library, which a machine has: they fit each other and its kernel.
C_LIBRARY = (
    r"(linux-vdso|ld-linux|libc\.|libm\.|libdl\.|libpthread\.|librt\.|libresolv\.|libutil\.)"
)
# Small, of every family; with products also in fp16 and fast.
MODELS = {
    "exact fp16 fast": "digits mnist_8 decoder_full tflite_tiny_ic",
    "exact": "looping detector ppocr_cls tflite_mnist_lstm tflite_tiny_kws_int8",
}
# Larger ones: no weights, made again by seed. Options of `ingot convert`.
SEEDED = {
    "mobilenetv2_224": "",
    "yolov8n_320": "",
    "minilm_l6": "--dim batch=1..2 --dim sequence=1..512",
    "resnet50_224": "",
}
PYTHON = "bench/cuda_torch.py bench/onnx_as_torch.py bench/rounds.py"


def fail(text):
    sys.exit(f"make_pack: {text}")


def programs(tree, out, architecture):
    libraries = {}
    for name in PROGRAMS:
        path = tree / name
        if not path.exists():
            fail(f"{path} is not built")
        to = out / "bin" / path.name
        subprocess.run(["strip", "-o", to, path], check=True)
        said = call(["ldd", path]).stdout
        for library, at in re.findall(r"(\S+) => (/\S+)", said):
            if not re.match(C_LIBRARY, library):
                libraries[library] = at
        if "not found" in said:
            fail(f"{path}: {said}")
    for library, at in libraries.items():
        subprocess.run(["strip", "-o", out / "lib" / library, os.path.realpath(at)], check=True)
    table = tree / "kernels/cuda/device_images.bin.tsv"
    rows = [line.split("\t") for line in table.read_text().splitlines()[1:]]
    units = {row[0] for row in rows if row[1] == architecture}
    if len(units) < 4:
        fail(f"the tree has device code of sm_{architecture} for {sorted(units)} only")
    cubin = tree / f"tests/cuda/cubin/fragments.sm{architecture}.cubin"
    if not cubin.exists():
        fail(f"{cubin} is not built")
    shutil.copy(cubin, out / "bin/cubin")
    return units


def models(ingot, work, out, tally):
    """Lines of models.txt: name, precisions, shapes."""
    lines = []
    for precisions, names in MODELS.items():
        for row in read_rows(names.split()):
            converted = Converted(row, ingot, work, tally)
            if converted.problem:
                print(f"left out: {row['name']}: {converted.problem}")
                continue
            have = ["exact"]
            shutil.copy(converted.path, out / f"models/{row['name']}.exact.ingot")
            found = locate(row, work, tally) if precisions != "exact" else None
            for precision in precisions.split()[1:] if found else ():
                to = out / f"models/{row['name']}.{precision}.ingot"
                options = (row["options"] or "").split()
                words = [ingot, "convert", found[0], "-o", to, "--precision", precision, "-q"]
                done = call([*words, *options])
                if done.returncode:
                    fail(f"{row['name']}, {precision}: {done.stderr}")
                have.append(precision)
            lines.append((row["name"], have, converted))
    return lines


def seeded(work, out, ingot, tally):
    lines = []
    for row in read_rows(SEEDED):
        name = row["name"]
        source = work / f"zoo/{name}.onnx"
        if not source.exists():
            source = work / f"{name}.onnx"
        if not source.exists() and row["source"].startswith("zoo"):
            source = make_zoo(name, work)[0]
        converted = Converted(row, ingot, work, tally) if source.exists() else None
        if not converted or converted.problem:
            print(f"left out: {name}: its graph is not to be had here")
            continue
        done = call([sys.executable, HERE / "seed_networks.py", source, out / "seeds"])
        if done.returncode:
            fail(f"{name}: {done.stderr}")
        (out / f"seeds/{name}.options").write_text(SEEDED[name] + "\n")
        lines.append((name, ["exact", "fp16", "fast"], converted))
    return lines


def manifest(out):
    total, rows = 0, []
    for path in sorted(p for p in out.rglob("*") if p.is_file()):
        content = path.read_bytes()
        total += len(content)
        digest = hashlib.sha256(content).hexdigest()
        rows.append(f"{digest}\t{len(content)}\t{path.relative_to(out)}")
    (out / "manifest.tsv").write_text("\n".join([*rows, "end"]) + "\n")
    return total


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--models", type=pathlib.Path, required=True)
    parser.add_argument("--architecture", required=True)
    parser.add_argument("--commit", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    args = parser.parse_args()
    out = args.out.with_name(args.out.name + ".tmp")
    shutil.rmtree(out, ignore_errors=True)
    for folder in ("bin/cubin", "lib", "models", "inputs", "seeds", "python/tests/models"):
        (out / folder).mkdir(parents=True)
    units = programs(args.build, out, args.architecture)
    ingot, tally = args.build / "bin/ingot", Tally()
    lines = models(ingot, args.models, out, tally) + seeded(args.models, out, ingot, tally)
    for name, _, converted in lines:
        shutil.copytree(converted.inputs, out / "inputs" / name)
    text = "".join(f"{n} {','.join(p)} {' '.join(c.shapes)}\n" for n, p, c in lines)
    (out / "models.txt").write_text(text)
    for script in PYTHON.split():
        to = out / "python" / script
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / script, to)
    for script in (ROOT / "tests/models").glob("*.py"):
        shutil.copy(script, out / "python/tests/models")
    shutil.copy(ROOT / "tests/models/models.tsv", out / "python/tests/models")
    shutil.copy(HERE / "run", out)
    (out / "made.txt").write_text(
        f"pack of {args.commit} for sm_{args.architecture}, {platform.machine()} Linux with "
        f"{' '.join(platform.libc_ver())} or newer\n"
    )
    total = manifest(out)
    if total > LIMIT:
        fail(f"{total} bytes, and a pack has at most {LIMIT}: fewer models; see {out}")
    shutil.rmtree(args.out, ignore_errors=True)
    out.rename(args.out)
    print(
        f"pack: {args.out}, {total / (1 << 20):.1f} MiB, device code of {', '.join(sorted(units))}"
    )
    for folder in sorted(p for p in args.out.iterdir() if p.is_dir()):
        files = [p for p in folder.rglob("*") if p.is_file()]
        size = sum(p.stat().st_size for p in files) / (1 << 20)
        print(f"  {folder.name:8} {len(files):4} files {size:6.1f} MiB")


main()
