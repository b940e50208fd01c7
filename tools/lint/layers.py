#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refuses what points against the order of the layers: an #include, a forward declaration of a type
of a layer above, in a .cpp file a declaration of what another file defines, and in the runtime the
name of a back end outside of it.

The rules are data: ORDER and TOOLS (a layer may include what stands before it), LINKED (the symbols
that a program links or does not), and "May include" in the README.md of each folder, which names
what its files include, no more and no less. tests/lint/layers_test.py plants one violation of
each."""

import collections
import functools
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ORDER = ["base", "op", "format", "plan", "memory", "device", "session", "text", "generate", "api", "micro"]
TOOLS = [
    "files",
    "files/npz",
    "plugins",
    "registry",
    "checkpoint/tensors",
    "checkpoint/torch",
    "checkpoint/hdf5",
    "checkpoint/julia",
    "checkpoint/flat",
    "checkpoint",
    "text",
    "graph",
    "graph/fold",
    "graph/infer",
    "import/common",
    "import/onnx",
    "import/aten",
    "import/layers",
    "import/pt2",
    "import/torchscript",
    "import/keras",
    "import/tflite",
    "import/flux",
    "import/decoder",
    "weights/programs",
    "weights/overlay",
    "compile/passes/common",
    "compile/passes/canonical",
    "compile/passes/layout",
    "compile/passes/simplify",
    "compile/passes/recognize",
    "compile/passes/quantize",
    "compile/passes/fuse",
    "compile/passes",
    "compile/quantize",
    "compile/image",
    "compile/stream",
    "compile/write",
    "compile/program",
    "compile/lower",
    "compile/plan",
    "compile/patches",
    "compile/emit",
    "compile/firmware",
    "compile/convert",
    "session",
    "serve/core",
    "serve/protocol",
    "serve/http",
    "serve/grpc",
    "serve/triton",
    "serve/options",
    "serve",
    "diagnose/golden",
    "diagnose/steps",
    "diagnose/reference",
    "diagnose/graph",
    "diagnose/program",
    "diagnose/gpu_cost",
    "diagnose/precision",
    "cli/output",
    "cli/options",
    "cli/inputs",
    "cli/profile",
    "cli/conversion",
    "cli/quantize",
    "cli/reports",
    "cli/inspect",
    "cli/tune",
    "cli/doctor",
    "cli/commands",
    "cli",
]
# The back ends of the runtime: INGOT_BACKEND(name, ...). What else asks about one asks its table.
BACKENDS = "runtime/device/backends.def"
# Defined by a library that a program links or does not; found through a weak symbol.
LINKED = {
    "ingot_backend_services": "runtime/session/backend_services.cpp",
}
# One element at a time, the same bits everywhere: device code as well.
ARITHMETIC = (
    "kernels/cpu/simd/",
    "kernels/cpu/elementwise/steps_",
    "kernels/cpu/elementwise/convert.inl",
    "kernels/cpu/gather/combine.inl",
    "kernels/cpu/reduce/folds.inl",
    "kernels/cpu/reduce/wide_fold.inl",
    "kernels/cpu/data_dependent/box.inl",
    "kernels/cpu/image/color.inl",
    "kernels/cpu/recurrent/cell.inl",
    "kernels/cpu/recurrent/linear_recurrence_columns.inl",
    "kernels/cpu/quantized/requantize_one.inl",
    "kernels/cpu/quantized/softmax_one.inl",
    "kernels/cpu/quantized/dynamic_quant_params.inl",
    "kernels/cpu/conv2d/winograd_transform.inl",
)
# Of every operator: where it reads, and with which weights.
TAPS = re.compile(r"kernels/cpu/\w+/\w*taps\.inl$")
KINDS = (".h", ".hpp", ".cpp", ".c", ".inl", ".cu", ".cuh")
DOCUMENTED = ("runtime/", "kernels/", "tools/")
FACTS = ("Owns", "May include", "Start at", "Tested by")
FACT = re.compile(r"^- \*\*([\w ]+)\*\*\s(.*(?:\n  .*)*)", re.M)
NAMED = re.compile(r"(?<![\w<>*./])([\w/]+\.(?:h|cpp|inl|cuh|cu))\b")
# Beginnings of an include, and what they are called.
LIBRARIES = {
    "CLI/": "CLI11",
    "nlohmann/": "nlohmann-json",
    "flatbuffers/": "FlatBuffers",
    "ingot_schema/": "the generated schema",
    "tflite_generated": "the generated schema",
    "ort_format_generated": "the generated schema",
    "protozero/": "protozero",
    "zip.h": "libzip",
    "zlib.h": "zlib",
    "png.h": "libpng",
    "jpeglib.h": "libjpeg",
    "boost/": "Boost",
    "openssl/": "OpenSSL",
    "grpcpp/": "gRPC",
    "kserve.": "the generated messages",
}
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]')
FORWARD = re.compile(r"^(?:struct|class)\s+(\w+);")
DEFINED = re.compile(
    r"^(?:struct|class)\s+(?:\w+\([^)]*\)\s*)?(\w+)\s*(?:final\s*)?(?::[^:;][^;{]*)?\{"
)
# At column 0 and ended before a body: a prototype, or an extern variable.
PROTOTYPE = re.compile(
    r"^(?!return|using|typedef|static_assert|template|namespace|INGOT_|#|//)"
    r"[A-Za-z_][\w:<>,*& ]*[ *&](\w+)\([^;{}]*\)(?: noexcept)?;",
    re.S | re.M,
)
EXTERN = re.compile(
    r'^extern\s+(?:"C"\s+)?(?:__attribute__\(\([^;]*?\)\)\s+)?[\w:<>,*& ]*?(\w+)(?:\[\])?;', re.M
)


def layer(path):
    parts = pathlib.PurePosixPath(path).parts
    return parts[1] if len(parts) > 2 and parts[0] == "runtime" else None


def tool(path):
    """The folder below tools/: the longest that TOOLS has, or the folder itself."""
    parts = pathlib.PurePosixPath(path).parts
    if len(parts) < 3 or parts[0] != "tools":
        return None
    folder = "/".join(parts[1:-1])
    return folder if folder in TOOLS or folder == "lint" else f"{folder}/"


def is_above(own, theirs, order):
    return own in order and theirs in order and order.index(theirs) > order.index(own)


@functools.cache
def why_not(source, target):
    """The rule that forbids `source` to include `target`, or None."""
    own, theirs = layer(source), layer(target)
    if source.startswith("runtime/"):
        if target.startswith(("kernels/", "tools/", "tests/")):
            return "runtime never includes " + target.split("/", maxsplit=1)[0]
        if is_above(own, theirs, ORDER):
            return f"order is {' -> '.join(ORDER)}"
        if ("flatbuffers" in target or target.endswith("_generated.h")) and own != "format":
            return "only runtime/format sees FlatBuffers"
    if source.startswith("kernels/"):
        if target.startswith(("tools/", "tests/")):
            return "kernels never include " + target.split("/", maxsplit=1)[0]
        if theirs and theirs not in ("base", "op", "include"):
            if not (
                source.startswith("kernels/cuda/") and target.startswith("runtime/device/gpu/")
            ):
                return "kernels include runtime/base and runtime/op, those of GPUs runtime/device/gpu, nothing else"
        if {
            source.split("/")[1],
            target.split("/")[1] if target.startswith("kernels/") else "",
        } == {"cpu", "cuda"}:
            is_arithmetic = target.startswith(ARITHMETIC) or TAPS.match(target)
            if not (source.startswith("kernels/cuda/") and is_arithmetic):
                return (
                    "kernels/cpu and kernels/cuda share nothing but arithmetic: "
                    + ", ".join(ARITHMETIC)
                    + ", kernels/cpu/*/*taps.inl"
                )
    if source.startswith("python/") and target.startswith(
        ("runtime/", "kernels/", "tools/", "tests/")
    ):
        return "the Python extension includes <ingot/...>, nothing else of Ingot's"
    if source.startswith("tools/"):
        if target.startswith("tests/"):
            return "tools never include tests"
        own, theirs = tool(source), tool(target)
        if own not in TOOLS + ["lint"]:
            return f"tools/{own} has no place in TOOLS of tools/lint/layers.py"
        if theirs and theirs not in TOOLS:
            return f"tools/{theirs} has no place in TOOLS of tools/lint/layers.py"
        if is_above(own, theirs, TOOLS):
            return f"order is {' -> '.join(TOOLS)}"
    return None


def wrong_includes(source, text):
    for number, line in enumerate(text.splitlines(), 1):
        found = INCLUDE.match(line)
        reason = found and why_not(source, found.group(1))
        if reason:
            yield number, f"includes {found.group(1)}: {reason}"


def types_of(files):
    """Where each type of the runtime is defined: name -> layers."""
    layers = collections.defaultdict(set)
    for source, text in files.items():
        if layer(source):
            for line in text.splitlines():
                found = DEFINED.match(line)
                if found:
                    layers[found.group(1)].add(layer(source))
    return layers


def wrong_forwards(source, text, types):
    own = layer(source)
    for number, line in enumerate(text.splitlines(), 1):
        found = own and FORWARD.match(line)
        if (
            found
            and types[found.group(1)]
            and all(is_above(own, at, ORDER) for at in types[found.group(1)])
        ):
            yield (
                number,
                f"declares {found.group(1)} of runtime/{min(types[found.group(1)])}, a layer above",
            )


def wrong_declarations(source, text):
    """A .cpp file declares nothing that another file defines: it includes the header that does."""
    if not source.endswith(".cpp") or not source.startswith(("runtime/", "kernels/cpu/")):
        return
    for pattern in (PROTOTYPE, EXTERN):
        for found in pattern.finditer(text):
            name = found.group(1)
            is_defined = re.search(
                rf"\b{name}\s*(?:\([^;]*?\)[^;]*?\{{|(?:\[\])?\s*=|\{{)", text[found.end() :], re.S
            )
            if not is_defined and LINKED.get(name) != source:
                yield (
                    text.count("\n", 0, found.start()) + 1,
                    f"declares {name}, which another file defines: include its header",
                )


def backends_of(files):
    return re.findall(r"^INGOT_BACKEND\((\w+),", files[BACKENDS], re.M)


def wrong_backends(source, text, names):
    """The runtime names a back end in its own folder, in the list and in the public headers. Paths
    of its kernels name a folder."""
    if not source.startswith("runtime/") or source == BACKENDS or source.endswith(".md"):
        return
    for name in names:
        if source.startswith((f"runtime/device/{name}/", "runtime/include/")):
            continue
        # as a word of a line or of a name: "npu" is in kNpu and NPU_PATH, not in "input"
        word = re.compile(rf"(?<![a-z0-9])(?:lib)?{name}(?![a-z0-9])")
        for number, line in enumerate(text.splitlines(), 1):
            parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", line).lower()
            if word.search(parts.replace(f"kernels/{name}", "")):
                yield number, f"names the back end {name}: ask its table ({BACKENDS}, device.h)"


def grouped(folders):
    """runtime/base runtime/op -> runtime/{base,op}; a folder below a group of tools stays whole."""
    groups = collections.defaultdict(list)
    for folder in sorted(folders):
        parts = folder.split("/")
        depth = 2 if parts[0] in ("tools", "kernels") and len(parts) > 2 else 1
        groups["/".join(parts[:depth])].append("/".join(parts[depth:]))
    words = []
    for top, names in sorted(groups.items()):
        words += [top] if "" in names else []
        line = []
        for name in [name for name in names if name] + [None]:  # of a length that a line has
            if line and (name is None or len(",".join([top, *line, name])) > 88):
                words.append(f"{top}/{{{','.join(line)}}}" if len(line) > 1 else f"{top}/{line[0]}")
                line = []
            line.append(name)
    return words


def libraries(includes):
    return sorted(
        {
            name
            for prefix, name in LIBRARIES.items()
            if any(target.startswith(prefix) for target in includes)
        }
    )


def may_include(folder, files, known):
    """What the files of a folder include, as its README.md says it. `known`: all folders."""
    includes = {
        found.group(1)
        for source, text in files.items()
        if source.endswith(KINDS)
        for found in map(INCLUDE.match, text.splitlines())
        if found and not why_not(source, found.group(1))
    }
    ours = {target.rsplit("/", 1)[0] for target in includes if "/" in target} & known - {folder}
    words = grouped(ours) or ["nothing of Ingot"]
    others = libraries(includes)
    return ", ".join(words) + (f"; {', '.join(others)}" if others else "")


def wrong_readmes(files):
    """Each folder with sources has a README.md whose four facts are there, and whose second one is
    what its files include."""
    known = collections.defaultdict(dict)
    for path, text in files.items():
        known[path.rsplit("/", 1)[0]][path] = text
    for folder, own in sorted(known.items()):
        if not any(path.endswith(KINDS) and path.startswith(DOCUMENTED) for path in own):
            continue
        readme = f"{folder}/README.md"
        expected = may_include(folder, own, known.keys())
        if readme not in files:
            yield f"{readme}:1: is missing; it needs '- **May include** {expected}.'"
            continue
        facts = dict(FACT.findall(files[readme]))
        missing = [fact for fact in FACTS if fact not in facts]
        if missing:
            yield f"{readme}:1: has no '- **{missing[0]}** ...'; in order: {', '.join(FACTS)}"
            continue
        for name in NAMED.findall(facts["Start at"]):
            if not any(path == name or path.endswith("/" + name) for path in files):
                yield f"{readme}:1: says 'Start at {name}', which does not exist"
        if " ".join(facts["May include"].split()).rstrip(".") != expected:
            yield f"{readme}:1: expected '- **May include** {expected}.'"


def findings(files, sources=None):
    """files: path -> text. Lines "path:number: what", of `sources` alone where they are given."""
    types, backends = types_of(files), backends_of(files)
    for source in sources or sorted(files):
        text = files[source]
        for number, what in (
            *wrong_includes(source, text),
            *wrong_forwards(source, text, types),
            *wrong_declarations(source, text),
            *wrong_backends(source, text, backends),
        ):
            yield f"{source}:{number}: {what}"
    yield from wrong_readmes(files)


def read_tree(root):
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\n")
    return {
        name: (root / name).read_text(errors="replace")
        for name in listed
        if name.endswith((*KINDS, ".def", "/README.md")) and (root / name).exists()
    }


def main():
    files = read_tree(ROOT)
    wrong = list(findings(files))
    print("\n".join(wrong + [f"layers: {len(files)} files, {len(wrong)} wrong"]))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
