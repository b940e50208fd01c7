#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The deepest stack of a microcontroller's core, from what the compiler knows of each function
(-fstack-usage, -fcallgraph-info): the frames along the longest way through the calls of a project
as `ingot firmware` writes it. Library functions, which have no such record, are disassembled.

  micro_stack.py --ingot BIN --work DIR [--board NAME] [--chain]

A call through a pointer goes to every linked function of the type that it can hold; one that no
rule here knows is an error, as are recursion and frames whose size is not known. The image is run
as well: what it really used of a painted stack must be within the figure."""

import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from shared import SHARED  # noqa: E402
from testing import ingot_parser, run  # noqa: E402

MODELS = SHARED / "models"
NETWORKS = (
    "str_ww_ref_model",
    "kws_ref_model",
    "vww_96_int8",
    "pretrainedResnet_quant",
    "ad01_int8",
)
BOARD = "mps2-an386"
RECORD = "-O2 -fstack-usage -fcallgraph-info=su"
NODE = re.compile(r'^node: { title: "([^"]+)" label: "([^"]*)"')
EDGE = re.compile(r'^edge: { sourcename: "([^"]+)" targetname: "([^"]+)"(?: label: "([^"]*)")?')
# What is called, as the source has it in front of the parenthesis, and the types of the functions
# that it can be. None: nothing of ours (the caller's hook; a barrier, which a team of one never
# reaches), or with a type, nothing where none is linked (state).
POINTERS = (
    (r"\bhook_?", None),
    (r"\bbarrier", None),
    (r"->read", "bool (FlatReader*, uint32_t, void*)"),
    (r"->start_states", None, "bool (const MicroModel&, MicroError*)"),
    (r"\bcheck", "bool (const OpArguments&, Violation*)"),
    (r"\bscratch", "ScratchNeed (const OpArguments&, int)"),
    (r"\bin_place", "uint32_t (const OpArguments&)"),
    (r"\bsupports", "bool (const OpArguments&)"),
    (r"entry\.run", "Status (const OpArguments&, const Team&)"),
    (
        r"\btile",
        "void (const Int8TileShape&, const Int8TileAt&)",
        "void (const TileShape&, const float*, int64_t, const float*, const float*, float*, "
        "int64_t, const float*, int64_t, int64_t)",
    ),
    (
        r"\bkRows\[int(\(.*\])?",  # GCC 10 names the place behind the index
        "void (const Epilogue&, const float*, int64_t, int64_t, int64_t, float*, "
        "int64_t, const float*)",
        "void (const Pool2dAttributes&, const NhwcView&, int64_t, Range, Range, float*, int64_t)",
    ),
    (
        r"\{ run",
        "void (const BinaryAttributes&, const uint8_t*, int64_t, const uint8_t*, int64_t, "
        "uint8_t*, int64_t)",
    ),
    (r"compress_portable\)", "void (uint32_t*, const uint8_t*, size_t)"),
)


class Graph:
    def __init__(self, folder, prefix):
        self.folder, self.prefix = folder, prefix
        self.frames, self.labels, self.calls, self.found = {}, {}, {}, {}
        image = folder / "build/image.elf"
        listing = self.tool("objdump", "-d", "--no-show-raw-insn", image)
        self.code = dict(re.findall(r"^\w+ <([^>]+)>:\n((?:.+\n)+)", listing, re.M))
        for record in sorted((folder / "build").rglob("*.ci")):
            self.read(record)

    def tool(self, name, *arguments):
        return call(self.prefix + name, *arguments)

    def read(self, record):
        for line in record.read_text().splitlines():
            if node := NODE.match(line):
                title, label = node.groups()
                size = re.search(r"\\n(\d+) bytes \(([^)]+)\)", label)
                if not size or self.symbol(title) not in self.code:
                    continue
                if size.group(2) not in ("static", "dynamic,bounded"):
                    sys.exit(f"{title}: a frame of {size.group(2)} size")
                self.frames[title] = int(size.group(1))
                self.labels[title] = label.split("\\n")[0]
            elif edge := EDGE.match(line):
                caller, callee, place = edge.groups()
                self.calls.setdefault(caller, set()).add((callee, place or ""))

    @staticmethod
    def symbol(title):
        return title.split(":")[-1]

    def pointed_to(self, place):
        """Whom a call through a pointer at FILE:LINE:COLUMN can reach."""
        file, line, column = place.split(":")
        text = (self.folder / file).read_text().splitlines()[int(line) - 1]
        for called, *types in POINTERS:
            if re.search(called + "$", text[: text.find("(", int(column) - 1)]):
                if types == [None]:
                    return []
                found = [t for t, label in self.labels.items() if self.type_of(label) in types]
                if not found and None not in types:
                    sys.exit(f"{place}: no linked function has the type that is called: {text}")
                return found
        sys.exit(f"{place}: a call through a pointer that POINTERS does not know: {text.strip()}")

    @staticmethod
    def type_of(label):
        """What it returns and takes, without namespaces."""
        function = re.sub(r"(\w+|{anonymous})::", "", label.partition(" [with ")[0])
        returned, _, rest = function.partition(" ")
        return f"{returned} {rest[rest.find('(') :]}"

    def of_library(self, symbol):
        """Frame and calls of what was not compiled here."""
        frame, calls = 0, []
        for line in self.code[symbol].splitlines():
            if push := re.search(r"\t(?:v?push|stmdb\tsp!,)[.\w]*\s.*\{(.*)\}", line):
                for part in push.group(1).split(","):
                    first, _, last = part.strip().partition("-")
                    count = int(last[1:]) - int(first[1:]) + 1 if last else 1
                    frame += count * (8 if first[0] == "d" else 4)
            elif store := re.search(r"\[sp, #-(\d+)\]!", line):
                frame += int(store.group(1))
            elif under := re.search(r"\t(?:sub[.\w]*\tsp, (?:sp, )?#|addi\tsp,sp,-)(\d+)", line):
                frame += int(under.group(1))
            elif call := re.search(r"\t(?:bl?x?|jal?)(?:\.[nw])?\t\S+ <([^>+]+)>", line):
                calls.append(call.group(1))
        return frame, calls

    def deepest(self, title, chain=()):
        """Bytes from `title` on, and the way."""
        if title in chain:
            sys.exit("recursion: " + " -> ".join([*chain, title]))
        if title in self.found:
            return self.found[title]
        if title in self.frames:
            own, callees = self.frames[title], []
            for callee, place in self.calls.get(title, ()):
                callees += self.pointed_to(place) if callee == "__indirect_call" else [callee]
        elif title in self.code:
            own, callees = self.of_library(title)
        else:  # inlined everywhere, or an instruction of the processor
            own, callees = 0, []
        ways = [self.deepest(c, (*chain, title)) for c in set(callees) if c != title]
        below, way = max(ways, default=(0, []))
        self.found[title] = own + below, [(own, title), *way]
        return self.found[title]


def networks(ingot, work, tiny):
    """MLPerf Tiny's (shared material), or the digit reader."""
    files = []
    for name in NETWORKS if tiny else ():
        source, out = MODELS / f"mlcommons__tiny/{name}.tflite", work / f"{name}.ingot"
        convert(ingot, source, out, "--dim", "N=1", "--exact-to", "builtin")
        files.append(out)
    if files:
        return "tiny", files
    out = work / "digits.ingot"
    convert(ingot, ROOT / "examples/digits/digits.onnx", out, "--dim", "n=1")
    return "digits", [out]


def convert(ingot, source, out, *options):
    call(ingot, "convert", source, "-o", out, "--target", "mcu", "-q", *options)


def call(*command):
    return run(*command).succeeded().stdout


def measure(ingot, work, board=BOARD, show=False, tiny=False):
    """{} and a counted skip where there is no compiler for it."""
    name, files = networks(ingot, work, tiny)
    folder = work / f"stack_{board}_{name}"
    shutil.rmtree(folder, ignore_errors=True)
    call(ingot, "firmware", *files, "-o", folder, "--board", board)
    settings = (folder / "board.mk").read_text()
    prefix = re.search(r"^CROSS \?= (\S+)", settings, re.M).group(1)
    if not shutil.which(prefix + "g++"):
        print(f"[skip] stack of the microcontroller's core: {prefix}g++ is absent")
        return {}
    call("make", "-s", "-j2", "-C", folder, f"OPTIMIZE={RECORD}")
    graph = Graph(folder, prefix)
    figures = {}
    for entry in ("open", "run"):
        figures[f"stack_{entry}:{name}"], way = graph.deepest(f"ingot_micro_{entry}")
        if show:
            print(f"ingot_micro_{entry}: {figures[f'stack_{entry}:{name}']:,} bytes")
            for own, title in way:
                print(f"  {own:6} {graph.labels.get(title, title)[:110]}")
    emulator = re.search(r"^QEMU \?= (.*)", settings, re.M).group(1).split()
    if not shutil.which(emulator[0]):
        print(f"[skip] what an image used of its stack: {emulator[0]} is absent")
        return figures
    done = run(emulator, "-kernel", folder / "build/image.elf", seconds=300)
    used = int(re.search(r"^stack: (\d+) of", done.output, re.M).group(1))
    whole = graph.deepest("start")[0]
    print(f"{board}: painted stack {used:,} bytes, the longest way from reset {whole:,}")
    if used > whole:
        sys.exit("the image used more of its stack than the longest way takes")
    return figures


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--board", default=BOARD)
    parser.add_argument("--chain", action="store_true", help="the frames along the longest way")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    ingot, work, tiny = args.ingot.resolve(), args.work.resolve(), MODELS.is_dir()
    figures = measure(ingot, work, args.board, args.chain, tiny)
    for name, size in figures.items():
        print(f"{name:24} {size:>8,} bytes")


if __name__ == "__main__":
    main()
