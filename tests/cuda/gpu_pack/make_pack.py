#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One folder with all that tests/cuda/gpu_pack/run needs on a machine with a GPU, a driver and a
shell: stripped programs, their shared libraries but the C library's, fragments, models, larger
networks without their weights, and a manifest with the hash of each file.

  make_pack.py --build TREE --models DIR --architecture 90 --commit NAME --out PACK [--small]

The tree is built for that architecture alone. What cannot be had here (a model whose source is
not) is left out and named. At most 50 MiB, else nothing is left under the name PACK. PACK.tar.gz is
the same in one file: with the tracked files of this tree at most 60 MiB. --small: for
rehearsals over the fake driver, of a tree without device code (architecture 0), with files of
tests/golden: neither Python's packages nor a network are asked for.
"""

import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tarfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(ROOT / f) for f in ("tests/models", "tests/support", "bench")]
from testing import Checks, run, text_parser  # noqa: E402

if "--small" not in sys.argv:
    import numpy as np
    import onnx
    from batched import batched
    from convert_once import Converted
    from sources import locate, make_zoo, read_rows, write_inputs

LIMIT = 50 << 20
TO_BRING_ALONG = 60 << 20  # archive and tree
PROGRAMS = (
    "bin/ingot",
    "tests/cuda/gpu_runner",
    "tests/cuda/test_cuda_fragments_gpu",
    "tests/cuda/pipeline_bench",
    "tests/cuda/pack_tool",
    "tests/cuda/pack_run",
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
# Larger ones: no weights, made again by seed. Options of `ingot convert`, and dimensions of a run
# of @ items; without them each batch is a graph of its own.
SEEDED = {
    "resnet50_224": ("", ""),
    "mobilenetv2_224": ("", ""),
    "minilm_l6": ("--dim batch=1..32 --dim sequence=1..64", "batch=@ sequence=64"),
    "yolov8n_320": ("", ""),
}
BATCHES = (1, 8, 32)
GOLDEN = "small_network branching_network if chain conv2d softmax".split()
PYTHON = "bench/cuda_torch.py bench/onnx_as_torch.py bench/batched.py bench/rounds.py"


def fail(text):
    sys.exit(f"make_pack: {text}")


def output_of(*words):
    return run(*words).stdout


def programs(tree, out, architecture):
    libraries = {}
    for name in PROGRAMS:
        path = tree / name
        if not path.exists():
            fail(f"{path} is not built")
        to = out / "bin" / path.name
        run("strip", "-o", to, path).succeeded()
        said = output_of("ldd", path)
        for library, at in re.findall(r"(\S+) => (/\S+)", said):
            if not re.match(C_LIBRARY, library):
                libraries[library] = at
        if "not found" in said:
            fail(f"{path}: {said}")
        # LD_LIBRARY_PATH stays as it is: the driver may be found by it
        if "(RPATH)" not in (dynamic := output_of("readelf", "-d", path)):
            fail(f"{path} does not find lib/ beside it by its RPATH:\n{dynamic}")
    for library, at in libraries.items():
        run("strip", "-o", out / "lib" / library, os.path.realpath(at)).succeeded()
    if architecture == "0":
        return {"emulated"}
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


def golden(out):
    """Lines of models.txt, as models()."""
    for name in GOLDEN:
        source = ROOT / f"tests/golden/accept/v1/{name}.ingot"
        shutil.copy(source, out / f"models/{name}.exact.ingot")
    shapes = {"branching_network": ["x=8x8"]}
    return [(name, ["exact"], [1], shapes.get(name, [])) for name in GOLDEN]


def models(ingot, work, out, tally):
    """Lines of models.txt: name, precisions, batches, shapes."""
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
                done = run([*words, *options])
                if done.returncode:
                    fail(f"{row['name']}, {precision}: {done.stderr}")
                have.append(precision)
            shutil.copytree(converted.inputs, out / "inputs" / row["name"])
            lines.append((row["name"], have, [1], converted.shapes))
    return lines


def graph_of(row, work, tally):
    """The ONNX file of a row; None where it is not to be had here."""
    for source in (work / f"zoo/{row['name']}.onnx", work / f"{row['name']}.onnx"):
        if source.exists():
            return source
    if row["source"].startswith("zoo"):
        source = make_zoo(row["name"], work)[0]
    else:
        source = (locate(row, work, tally) or [None])[0]
    return source if source and pathlib.Path(source).exists() else None


def one_item(model, dims, out):
    """Random inputs of one item, and their shapes as gpu_runner takes them."""
    numbers, arrays = np.random.default_rng(3), {}
    known = dict(pair.split("=") for pair in dims.replace("@", "1").split())
    weights = {i.name for i in model.graph.initializer}
    for port in model.graph.input:
        if port.name in weights:
            continue
        shape = [
            d.dim_value or int(known.get(d.dim_param, 1)) for d in port.type.tensor_type.shape.dim
        ]
        kind = onnx.helper.tensor_dtype_to_np_dtype(port.type.tensor_type.elem_type)
        if np.issubdtype(kind, np.floating):
            arrays[port.name] = numbers.standard_normal(shape).astype(kind)
        else:  # tokens, masks, kinds of tokens
            arrays[port.name] = np.ones(shape, kind)
    write_inputs(arrays, out)
    return [f"{n}={'x'.join(map(str, a.shape))}" for n, a in arrays.items() if a.ndim]


def seeded(work, out, tally):
    lines = []
    for row in read_rows(SEEDED):
        source = graph_of(row, work, tally)
        if not source:
            print(f"left out: {row['name']}: its graph is not to be had here")
            continue
        name, (options, dims) = row["name"], SEEDED[row["name"]]
        model = onnx.load(source)
        for batch in BATCHES if not dims else (1,):
            stem = name if batch == 1 else f"{name}.b{batch}"
            to = out / f"seeds/{stem}.onnx"
            to.parent.mkdir(exist_ok=True)
            onnx.save(model if batch == 1 else batched(model, batch), to)
            command = [sys.executable, HERE / "seed_networks.py", to, out / "seeds"]
            done = run([*command, "--weights", f"{name}.weights"])
            if done.returncode:
                fail(f"{name}: {done.stderr}")
            if batch > 1:  # the same weights
                (out / f"seeds/{stem}.seed").unlink()
        (out / f"seeds/{name}.options").write_text(options + "\n")
        (out / f"seeds/{name}.dims").write_text(dims + "\n")
        shapes = one_item(model, dims, out / "inputs" / name)
        lines.append((name, ["exact", "fp16", "fast"], BATCHES, shapes if dims else []))
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
    parser = text_parser(__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--models", type=pathlib.Path, required=True)
    parser.add_argument("--architecture", required=True)
    parser.add_argument("--commit", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--small", action="store_true")
    args = parser.parse_args()
    out = args.out.with_name(args.out.name + ".tmp")
    shutil.rmtree(out, ignore_errors=True)
    scripts = ("python/tests/models", "python/tests/support")
    for folder in ("bin/cubin", "lib", "models", "inputs", "seeds", *scripts):
        (out / folder).mkdir(parents=True)
    units = programs(args.build, out, args.architecture)
    if args.small:
        lines = golden(out)
    else:
        ingot, tally = args.build / "bin/ingot", Checks(verbose=True)
        lines = models(ingot, args.models, out, tally) + seeded(args.models, out, tally)
    text = "".join(
        f"{n} {','.join(p)} {','.join(map(str, b))} {' '.join(s)}\n" for n, p, b, s in lines
    )
    (out / "models.txt").write_text(text)
    for script in PYTHON.split():
        to = out / "python" / script
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / script, to)
    for script in (ROOT / "tests/models").glob("*.py"):
        shutil.copy(script, out / "python/tests/models")
    for script in (ROOT / "tests/support").glob("*.py"):
        shutil.copy(script, out / "python/tests/support")
    shutil.copy(ROOT / "tests/models/models.tsv", out / "python/tests/models")
    shutil.copy(HERE / "run", out)
    shutil.copy(HERE / "ort_gpu.py", out / "python")
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
    archive(args.out)


def archive(pack):
    """One file to bring along, and what it makes with the tree that it was built from."""
    to = pack.with_name(pack.name + ".tar.gz")
    with tarfile.open(to, "w:gz", compresslevel=6) as tar:
        tar.add(pack, pack.name)
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, check=False)
    names = [n for n in listed.stdout.decode().split("\0") if n]
    tree = sum(os.lstat(ROOT / n).st_size for n in names if os.path.lexists(ROOT / n))
    size = to.stat().st_size
    print(
        f"archive: {to}, {size / (1 << 20):.1f} MiB; with the tree "
        f"{(size + tree) / (1 << 20):.1f} MiB of {TO_BRING_ALONG >> 20}"
    )
    if size + tree > TO_BRING_ALONG:
        fail(f"archive and tree have {size + tree} bytes, and are at most {TO_BRING_ALONG}")


main()
