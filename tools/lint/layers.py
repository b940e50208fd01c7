#!/usr/bin/env python3
"""Refuses what points against the order of the layers: an #include, a forward declaration of a type
of a layer above, and in a .cpp file a declaration of what another file defines.

The rules are data: ORDER and TOOLS (a layer may include what stands before it), LINKED (the symbols
that a program links or does not). tests/lint/layers_test.py plants one violation of each."""

import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ORDER = ["base", "op", "format", "plan", "memory", "device", "session", "api"]
TOOLS = [
    "files",
    "npz",
    "checkpoint",
    "check",
    "graph",
    "aten",
    "onnx",
    "weights",
    "layers",
    "pt2",
    "torchscript",
    "keras",
    "flux",
    "overlay",
    "passes",
    "reference",
    "compare",
    "cast",
    "cli",
]
# Defined by a library that a program links or does not; found through a weak symbol.
LINKED = {
    "ingot_cuda_backend": "runtime/device/device.cpp",
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
    "kernels/cpu/measured/box.inl",
    "kernels/cpu/picture/color.inl",
    "kernels/cpu/resize/taps.inl",
    "kernels/cpu/recurrent/cell.inl",
    "kernels/cpu/conv2d/winograd_transform.inl",
)
KINDS = (".h", ".hpp", ".cpp", ".c", ".inl", ".cu", ".cuh")
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
    parts = pathlib.PurePosixPath(path).parts
    return parts[1] if len(parts) > 2 and parts[0] == "tools" else None


def is_above(own, theirs, order):
    return own in order and theirs in order and order.index(theirs) > order.index(own)


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
            if not (source.startswith("kernels/cuda/") and target.startswith(ARITHMETIC)):
                return "kernels/cpu and kernels/cuda share nothing but arithmetic: " + ", ".join(
                    ARITHMETIC
                )
    if source.startswith("tools/"):
        if target.startswith("tests/"):
            return "tools never include tests"
        own, theirs = tool(source), tool(target)
        if own not in TOOLS + ["lint"]:
            return f"tools/{own} has no place in TOOLS of tools/lint/layers.py"
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


def findings(files):
    """files: path -> text. Lines "path:number: what"."""
    types = types_of(files)
    for source, text in sorted(files.items()):
        for number, what in (
            *wrong_includes(source, text),
            *wrong_forwards(source, text, types),
            *wrong_declarations(source, text),
        ):
            yield f"{source}:{number}: {what}"


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
        if name.endswith(KINDS) and (root / name).exists()
    }


def main():
    files = read_tree(ROOT)
    wrong = list(findings(files))
    print("\n".join(wrong + [f"layers: {len(files)} files, {len(wrong)} wrong"]))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
