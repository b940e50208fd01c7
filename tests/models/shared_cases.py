#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every input of cases/ of shared material, tried and judged: a row for each, right, refused (as it
should be) or wrong, and a last line of counts. cases/README.md says what they are.

  shared_cases.py --ingot BIN --build DIR [--server INGOT_SERVE] [--seconds S] [--only WORD]

DIR has the libraries that the programs of attack/ are linked with. Mutants run for S seconds (20)
each. Needs numpy, onnx, onnxruntime; g++ for the programs."""

import json
import pathlib
import re
import sys
import time

import numpy as np
import onnx
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
sys.path.insert(0, str(ROOT / "tests/serve"))
from attacks import Server  # noqa: E402
from shared import SHARED  # noqa: E402
from testing import Checks, Ingot, ingot_parser, run, work_folder  # noqa: E402

CASES = SHARED / "cases"
ACCEPTED = ROOT / "tests/golden/accept/v1"
REFUSALS = (1, 2, 3, 4, 5, 6, 7)  # exit codes of one line; 8 is an internal error
PIXELS = "--image", "x=rgb:32x4"
IMAGES = {"jpeg_cmyk": 8 / 255, "png_16bit_rgb": 1 / 255, "png_gama_linear": 1 / 255}
REFUSED = {"message_declared_output_type"}  # rightly, by onnxruntime too
LEGACY_PHRASES = "type number", "the file is wrong", "expected 2, found 2", "internal error"
# of lines of small_models.py: the largest difference; onnxruntime computes a DFT in f32, too
LIMITS = {"DFT": 1e-3, "quantized LSTM": 1e-4, "": 1e-6}
CPU = pathlib.Path("/proc/cpuinfo").read_text()
WAYS_OUT = "--dim", "--max-elements"  # a size that only a run knows: named, with what to do
# Requests of s1.py that a server may answer with 200
SOUND = "GET with body", "upgrade h2c", "deep control json closed", "pipeline 200"


class Table(Checks):
    """A row for each case; `wrong` says what is."""

    def row(self, case, verdict, detail="", wrong=""):
        detail = " ".join(str(wrong or detail or "").split())[:110]
        print(f"| {case} | {'wrong' if wrong else verdict} | {detail} |", flush=True)
        self.passed += not wrong
        self.failed += bool(wrong)


def difference(found, wanted, limit):
    """What is wrong, "" for nothing, and how far apart they are."""
    if [a.shape for a in found] != [a.shape for a in wanted]:
        return f"shapes {[a.shape for a in found]}, expected {[a.shape for a in wanted]}", 0
    pairs = zip(found, wanted)
    largest = max((np.abs(a - b.astype(float)).max(initial=0) for a, b in pairs), default=0)
    return ("" if largest <= limit else f"differs by {largest:.2g}, allowed {limit:.2g}"), largest


def check_report(table, ingot, folder):
    """A folder of reports/: converted, run, compared."""
    name = f"reports/{folder.name}"
    source = next(folder.glob("model.*"))
    done = ingot.convert(source, *(PIXELS if folder.name in IMAGES else ()))
    said = [phrase for phrase in LEGACY_PHRASES if phrase in done.output]
    if done.returncode:
        rightly = folder.name in REFUSED and done.returncode in REFUSALS and not said
        rightly |= folder.name == "jpeg_cmyk" and done.returncode == 4 and "CMYK" in done.output
        return table.row(name, "refused", done.stderr, "" if rightly else done.error)
    if said:
        return table.row(name, "", wrong=f"says {said}: {done.output}")
    given = next(folder.glob("image.*"), folder / "input.npz")
    out = ingot.folder / "out.npz"
    ran = ingot("run", ingot.file, "-q", "--inputs", given, "--outputs", out)
    if ran.returncode or not (folder / "expected.npz").exists():
        return table.row(name, "right", "runs", ran.error)
    with np.load(folder / "expected.npz") as wanted, np.load(out) as found:
        wanted = [wanted[key] for key in wanted.files]
        found = [found[key] for key in found.files][: len(wanted)]
    wrong, largest = difference(found, wanted, IMAGES.get(folder.name, 1e-5))
    table.row(name, "right", f"differs by at most {largest:.2g}", wrong)


def check_small_models(table, ingot):
    """Each line of small_models.py, which compares with onnxruntime."""
    done = run(sys.executable, CASES / "small_models.py", ingot.program)
    line = re.compile(r"^(.+?) ?: (max difference \S+|shapes .*|(?:convert|run) \d: [^\0]*?) \(con")
    found = re.findall(line.pattern, done.stdout, re.MULTILINE)
    for name, result in found:
        limit = next(most for prefix, most in LIMITS.items() if name.startswith(prefix))
        verdict, wrong = "right", result
        if result.startswith("max difference"):
            largest = float(result.split()[-1])
            wrong = "" if largest <= limit else f"{result}, allowed {limit:.2g}"
        elif re.match(r"convert [457]:", result) and all(way in result for way in WAYS_OUT):
            verdict, wrong = "refused", ""
        # without VNNI sums of two products saturate in onnxruntime, 0.03 from the exact answer
        if wrong and name.startswith("quantized LSTM") and "vnni" not in CPU:
            table.skip(f"small_models.py: {name}: onnxruntime is not exact on this processor")
            continue
        table.row(f"small_models.py: {name}", verdict, result, wrong)
    if not found or done.returncode:
        table.row("small_models.py", "", wrong=done.error or "printed no case")


def check_file(table, ingot, path):
    """A hostile model: taken, or refused in one line that is no internal error, in 30 seconds and
    with 100 MB written at most."""
    name, began = f"attack/{path.name}", time.monotonic()
    if path.suffix == ".ingot":
        done = ingot("bench", path, "--seconds", "0.2", "--max-run-seconds", "2", seconds=30)
        text = ingot("inspect", path, "--json", seconds=30, text=False, errors=None).stdout
        try:
            json.loads(text.decode("utf-8", "strict"))
        except ValueError as error:
            return table.row(name, "", wrong=f"inspect --json: {error}")
    else:
        words = f"ulimit -f 200000; exec {ingot.program} convert {path} -o {ingot.file}"
        done = run("bash", "-c", words, seconds=30)
    seconds = f"{time.monotonic() - began:.1f} s"
    if done.returncode == 0:
        return table.row(name, "right", f"taken, {seconds}")
    table.row(name, "refused", done.stderr, done.refusal(REFUSALS))


def two_outputs(folder):
    """y and z of the same x, for ovl.cpp: z is computed from x again."""
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [4])
    nodes = [helper.make_node("Exp", ["x"], ["y"]), helper.make_node("Softmax", ["x"], ["z"])]
    graph = helper.make_graph(nodes, "two", [value("x")], [value("y"), value("z")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    onnx.save(model, folder / "two.onnx")
    return folder / "two.onnx"


def fp_faults(done):
    """One hash whatever is set before a run. What is set before a file is opened also makes other
    inputs: there, the same hash on one thread and on two. The state is as it was set."""
    row = re.compile(r"mode=(\S+) set_before_(\w+) .* rc=0 hash=(\w+) csr=(\w+) rm=(\w+)")
    rows = row.findall(done.stdout)
    hashes, states = {}, {}
    for mode, when, value, csr, rounding in rows:
        hashes.setdefault("run" if when == "run" else mode, set()).add(value)
        states.setdefault(mode, set()).add((int(csr, 16) & 0xFFC0, rounding))  # without flags
    differ = [key for table in (hashes, states) for key, seen in table.items() if len(seen) > 1]
    return done.stdout if len(rows) != 16 else f"differ: {differ}" if differ else ""


def kv_faults(done):
    """The same values kept or not, of two inputs."""
    values = [line.partition(":")[2] for line in done.stdout.splitlines()]
    return "" if len(values) == 4 and values[::2] == values[1::2] else done.stdout


def ovl_faults(done):
    """An output onto an input: refused, or both outputs right."""
    values = re.findall(r"second output: (.*)", done.stdout)
    refused = re.search(r"memory: [1-9]", done.stdout)
    return "" if len(values) == 2 and (refused or values[0] == values[1]) else done.stdout


def check_programs(table, ingot, build):
    """Programs against the libraries."""
    libraries = build / "kernels/cpu/libingot_cpu.a", build / "runtime/libingot_runtime.a"
    files = {"kv": ACCEPTED / "in_place_of_a_part.ingot"}
    for name, source in (
        ("fp", ROOT / "examples/digits/digits.onnx"),
        ("ovl", two_outputs(ingot.folder)),
    ):
        ingot.convert(source).succeeded()
        files[name] = ingot.file.rename(ingot.folder / f"{name}.ingot")
    for name, faults in (("fp", fp_faults), ("kv", kv_faults), ("ovl", ovl_faults)):
        program, source = ingot.folder / name, CASES / f"attack/{name}.cpp"
        options = "-O1", "-w", "-pthread", f"-I{ROOT}/runtime/include"
        done = run("g++", *options, source, "-o", program, *libraries)
        if not done.returncode:
            done = run(program, files[name], seconds=60)
        table.row(f"attack/{source.name}", "right", "", done.error or faults(done))


def check_mutants(table, ingot, seconds):
    """Mutants by rank and shape: none ends by a signal, an internal error or after 5 seconds."""
    nodes = pathlib.Path(onnx.__file__).parent / "backend/test/data/node"
    for link, to in (("ingot", ingot.program), ("tools", ROOT / "tools"), ("nodes", nodes)):
        (ingot.folder / link).symlink_to(to)
    for name in ("rank_mutants.py", "shape_mutants.py"):
        done = run(sys.executable, CASES / "attack" / name, 1, seconds, cwd=ingot.folder)
        found = re.findall("^FIND.*", done.stdout, re.MULTILINE)
        last = re.search("^DONE (.*)", done.stdout, re.MULTILINE)
        wrong = done.error or (f"{len(found)} found: {found[0]}" if found else "")
        wrong = wrong or ("" if last else "no last line")
        table.row(f"attack/{name}", "right", last and last[1], wrong)


def check_clients(table, ingot, program):
    """s1.py: each request of a stranger, or that proxies read differently, is refused; s10.py: the
    server answers while it inflates."""
    model = ingot.folder / "repository/digits/1"
    model.mkdir(parents=True)
    ingot.convert(ROOT / "examples/digits/digits.onnx").succeeded()
    ingot.file.rename(model / "model.ingot")
    with Server(program, model.parents[1]) as server:
        done = run(sys.executable, CASES / "attack/s1.py", server.port, cwd=ingot.folder)
        answer = re.compile(r"^([^(\n]+?):?\s+\(?b['\"](?:HTTP/1.. (\d+))?", re.MULTILINE)
        answers = answer.findall(done.stdout)
        taken = [name for name, status in answers if status in ("", "200") and name not in SOUND]
        wrong = done.error or (f"taken, or no answer: {taken}" if taken else "")
        table.row("attack/s1.py", "right", f"{len(answers)} requests", wrong)
        text = (CASES / "attack/s10.py").read_text().replace("P=18090", f"P={server.port}")
        done = run(sys.executable, "-c", text, server.process.pid, cwd=ingot.folder)
        waited = re.search(r"meanwhile ([0-9.]+) s", done.stdout)
        wrong = "" if waited and float(waited[1]) <= 0.1 else done.output
        table.row("attack/s10.py", "right", waited and waited[0], done.error or wrong)


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--server", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--only", default="", help="cases whose folder or kind has this word")
    args = parser.parse_args()
    table = Table("cases")
    if not CASES.is_dir():
        table.skip("cases/ is not in shared material")
        return table.finish()
    print("| case | verdict | what |\n|---|---|---|")
    with work_folder() as folder:
        ingot = Ingot(args.ingot, folder, seconds=300)
        reports, attack = (sorted((CASES / part).iterdir()) for part in ("reports", "attack"))
        files = [one for one in attack if one.suffix not in (".py", ".cpp")]
        parts = {f"reports/{one.name}": (check_report, one) for one in reports}
        parts |= {f"attack/{one.name}": (check_file, one) for one in files}
        parts |= {
            "small_models.py": (check_small_models,),
            "programs": (check_programs, args.build),
            "mutants": (check_mutants, args.seconds),
        }
        if args.server:
            parts["clients"] = (check_clients, args.server)
        else:
            table.skip("attack/s1.py and s10.py: no server was built")
        for name, (judge, *more) in parts.items():
            if args.only in name:
                judge(table, ingot, *more)
    return table.finish()


if __name__ == "__main__":
    sys.exit(main())
