#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torch.export archives: those of data/ give what eager torch gave, the refused ones say all that
stands in the way, damaged ones give one line.

  programs_test.py INGOT SOURCE_ROOT

Needs Python alone. Archives of shared material are compared with the outputs beside them, where
they are present.
"""

import json
import pathlib
import re
import sys
import zipfile

INGOT, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
sys.path.insert(0, str(ROOT / "tests/support"))
from shared import SHARED  # noqa: E402
from testing import Checks, run, work_folder  # noqa: E402

DATA = pathlib.Path(__file__).resolve().parent / "data"
ARGUMENTS = ROOT / "tests/import/aten/argument_rows.inc"
FORMS = 850  # that programs of PyTorch may call; may only grow
checks = Checks("torch_programs")


def expect(name, good, what=""):
    checks.check(good, name, what)


def ingot(*arguments):
    return run(INGOT, *arguments)


def operator_list():
    """`ingot operators --torch` has a row for each operator that the importer registers and for
    each that tests/import/aten calls, no row twice, and a reason for each argument without
    effect."""
    done = ingot("operators", "--torch")
    rows = re.findall(r"^- `(.*)`$", done.stdout, re.M)
    formed = [re.fullmatch(r"((?:\w+::)?\w+)(?:\.\w+)?\((.*)\)", row) for row in rows]
    names = {found[1] for found in formed if found}
    sources = "".join(p.read_text() for p in (ROOT / "tools/import/aten").glob("*.cpp"))
    wanted = set(re.findall(r'\btable\.add\("((?:\w+::)?\w+)', sources))
    for called in re.findall(r'^\{"([^"]+)"', ARGUMENTS.read_text(), re.M):
        wanted |= {name.split(".")[0] for name in called.split()}
    expect("operators --torch: exit code", done.returncode == 0, done.stderr)
    expect("operators --torch: a form that cannot be read", all(formed) and rows, rows[:3])
    expect("operators --torch: a form twice", len(set(rows)) == len(rows))
    expect("operators --torch: forms are missing", len(rows) >= FORMS, len(rows))
    expect("operators --torch: operators are missing", not wanted - names, sorted(wanted - names))
    expect("operators --torch: hardly an operator was wanted", len(wanted) > 400, len(wanted))
    reasons = re.findall(r"^\| `[^`]+` \| `[^`]+` \| ([^|]+) \|$", done.stdout, re.M)
    expect("operators --torch: arguments without effect", len(reasons) > 100, len(reasons))


def convert_and_check(name, source, golden, work, *options):
    converted = work / (name + ".ingot")
    done = ingot("convert", source, "-o", converted, *options)
    if done.returncode == 0:
        done = ingot("check", converted, "--golden", golden)
    checks.report(name, done.error)
    return converted


def refused(name, source, code, work, *parts):
    out = work / "refused.ingot"
    checks.report(name, ingot("convert", source, "-o", out).refusal(code, *parts, lines=None))
    expect(f"{name}: nothing is written", not out.exists())


def rewritten(path, source, change):
    """The archive with its program changed, or members replaced; change(members, program)."""
    with zipfile.ZipFile(source) as old:
        members = {name: old.read(name) for name in old.namelist()}
    model = next(name for name in members if "/models/" in name)
    program = json.loads(members[model])
    change(members, program)
    if members.get(model) is not None and not isinstance(program, bytes):
        members[model] = json.dumps(program).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name, data in members.items():
            if data is not None:
                new.writestr(name, data)
    return path


def hostile(work):
    source = DATA / "attention.pt2"
    graph = lambda program: program["graph_module"]["graph"]

    def case(name, code, change, *parts):
        refused(name, rewritten(work / "hostile.pt2", source, change), code, work, *parts)

    def newer(members, program):
        program["schema_version"]["major"] = 99

    def older(members, program):
        program["schema_version"]["major"] = 1

    def unversioned(members, program):
        del program["schema_version"]

    def no_graph(members, program):
        program["graph_module"] = 7

    def unknown_name(members, program):
        graph(program)["nodes"][0]["inputs"][0]["arg"] = {"as_tensor": {"name": "nobody"}}

    def no_weight(members, program):
        for name in list(members):
            if name.endswith("weights/weight_0"):
                del members[name]

    def spec(members, program):
        program["graph_module"]["signature"]["input_specs"][0]["parameter"][
            "parameter_name"
        ] = "no.such"

    def deep(members, program):
        value = "x"
        for _ in range(400):
            value = [value]
        program["deep"] = value

    def shape(members, program):
        for node in graph(program)["nodes"]:
            if node["target"].startswith("torch.ops.aten.reshape"):
                node["inputs"][1]["arg"] = {"as_ints": [7, 7, 7]}

    def axis(members, program):
        for node in graph(program)["nodes"]:
            if node["target"].startswith("torch.ops.aten.transpose"):
                node["inputs"][1]["arg"] = {"as_int": 1 << 62}

    def tag(members, program):
        graph(program)["nodes"][1]["inputs"][0]["arg"] = {"as_spell": 1, "as_int": 2}

    def sizes(members, program):
        for meta in graph(program)["tensor_values"].values():
            meta["sizes"] = [{"as_int": 1 << 62}] * 3

    def custom(members, program):
        graph(program)["nodes"][0]["target"] = "torch.ops.vendor.fast_linear.default"

    def argument(name, value, target):
        def change(members, program):
            node = next(n for n in graph(program)["nodes"] if target in n["target"])
            node["inputs"] = [i for i in node["inputs"] if i["name"] != name] + [
                {"name": name, "arg": value, "kind": 2}
            ]

        return change

    def accepted(name, change):
        done = ingot(
            "convert",
            rewritten(work / "hostile.pt2", source, change),
            "-o",
            work / "accepted.ingot",
        )
        expect(name, done.returncode == 0, done.stderr)

    case(
        "an argument of a newer torch",
        4,
        argument("of_a_newer_torch", {"as_int": 1}, "aten.linear"),
        "aten::linear",
        "of_a_newer_torch",
    )
    case(
        "an argument that no lowering reads",
        4,
        argument("layout", {"as_layout": 1}, "aten.eye"),
        "aten::eye layout 'eye': is the number 1",
    )
    accepted("a dense layout", argument("layout", {"as_layout": 7}, "aten.eye"))
    accepted("a place", argument("device", {"as_device": {"type": "cuda", "index": 1}}, "aten.eye"))
    case("a newer schema", 4, newer, "schema version 99")
    case("an older schema", 4, older, "schema version 1")
    case("no version", 2, unversioned, "schema version")
    case("no graph", 2, no_graph, "graph_module")
    case("a name that nothing makes", 2, unknown_name, "nobody")
    case("a weight that is not there", 2, no_weight, "weight_0")
    case("a parameter that is not there", 2, spec, "no.such")
    case("deep JSON", 2, deep, "nests more than")
    case("a shape that does not fit", 2, shape, "reshape")
    case("an axis out of range", 2, axis, "out of range")
    case("no tagged value", 2, tag, "tagged")
    case("sizes beyond reason", 2, sizes)
    case(
        "an operator of a vendor",
        4,
        custom,
        "torch.ops.vendor.fast_linear.default",
        "the operator is not supported",
    )
    for name, data in {"no JSON": b"{", "an empty program": b"", "no object": b"[]"}.items():
        with zipfile.ZipFile(source) as old:
            model = next(n for n in old.namelist() if "/models/" in n)
            members = {n: old.read(n) for n in old.namelist()}
        members[model] = data
        with zipfile.ZipFile(work / "hostile.pt2", "w") as new:
            for n, d in members.items():
                new.writestr(n, d)
        refused(name, work / "hostile.pt2", 2, work)
    whole = source.read_bytes()
    (work / "cut.pt2").write_bytes(whole[: len(whole) // 2])
    done = ingot("convert", work / "cut.pt2", "-o", work / "cut.ingot")
    expect(
        "half a file",
        done.returncode in (2, 4) and len(done.stderr.strip().splitlines()) == 1,
        done.stderr,
    )


def dynamic(work):
    converted = convert_and_check("dynamic", DATA / "dynamic.pt2", DATA / "dynamic.npz", work)
    report = json.loads(ingot("inspect", converted, "--json").stdout)
    expect(
        "dynamic: two free dimensions", report["inputs"][0]["dims"].count(-1) == 2, report["inputs"]
    )
    symbols = report["inputs"][0]["dim_names"]
    lows = {each["name"]: each["low"] for each in report["dims"]}
    expect("dynamic: dimensions may be 0", set(lows.values()) == {0}, lows)
    convert_and_check(
        "dynamic, bound",
        DATA / "dynamic.pt2",
        DATA / "dynamic.npz",
        work,
        "--dim",
        f"{symbols[0]}=3",
        "--dim",
        f"{symbols[1]}=7",
    )
    done = ingot(
        "convert", DATA / "dynamic.pt2", "-o", work / "x.ingot", "--dim", f"{symbols[1]}=33"
    )
    expect(
        "dynamic: beyond the bounds of the export",
        done.returncode == 5 and "32" in done.stderr,
        done.stderr,
    )
    done = ingot("convert", DATA / "dynamic.pt2", "-o", work / "x.ingot", "--dim", "nobody=3")
    expect(
        "dynamic: a symbol that is none",
        done.returncode == 5 and "nobody" in done.stderr,
        done.stderr,
    )
    done = ingot(
        "convert", DATA / "attention.pt2", "-o", work / "x.ingot", "--input-shape", "x=3x5x12"
    )
    expect(
        "a shape that was not exported",
        done.returncode == 5 and "exported for 2" in done.stderr,
        done.stderr,
    )


def npz_of(path, **arrays):
    with zipfile.ZipFile(path, "w") as out:
        for name, file in arrays.items():
            out.writestr(name + ".npy", file.read_bytes())
    return path


def shared(work):
    folder = SHARED / "formats"
    if not (folder / "pt2").is_dir():
        print("[skip] archives of shared material: not present")
        return
    for source in sorted((folder / "pt2").glob("*.pt2")):
        net = source.name.split("_")[0]
        golden = npz_of(
            work / f"{net}.npz",
            in0=folder / "torchscript" / f"{net}_in.npy",
            out0=folder / "torchscript" / f"{net}_out.npy",
        )
        convert_and_check("shared " + source.name, source, golden, work)


def main():
    with work_folder() as work:
        for golden in sorted(DATA.glob("*.npz")):
            if golden.stem != "dynamic":
                convert_and_check(golden.stem, golden.with_suffix(".pt2"), golden, work)
        dynamic(work)
        done = ingot("convert", DATA / "picture.pt2", "-o", work / "picture.ingot")
        expect(
            "training mode is reported",
            "BatchNorm was saved in training mode" in done.stdout + done.stderr,
            done.stdout + done.stderr,
        )
        refused(
            "refuse_unknown",
            DATA / "refuse_unknown.pt2",
            4,
            work,
            "aten::linalg_svd",
            "things are not supported",
        )
        refused(
            "refuse_buffer",
            DATA / "refuse_buffer.pt2",
            4,
            work,
            "seen",
            "is written by the program",
        )
        report = json.loads(ingot("inspect", DATA / "attention.pt2", "--json").stdout)
        expect(
            "inspect",
            report["kind"] == "pt2"
            and report["convertible"]
            and report["producer"].startswith("torch 2"),
            report,
        )
        report = json.loads(ingot("inspect", DATA / "refuse_unknown.pt2", "--json").stdout)
        expect(
            "inspect what is refused",
            not report["convertible"]
            and len(report["obstacles"]) >= 2
            and report["inputs"][0]["dims"] == [4, 4],
            report,
        )
        operator_list()
        hostile(work)
        shared(work)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
