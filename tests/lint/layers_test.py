#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants one violation of each rule of tools/lint/layers.py: each must be found, and nothing else
(a folder without a place in the order has no README.md either).

layers_test.py ROOT        the last line counts"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import Checks  # noqa: E402

ROOT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "tools/lint"))
import layers  # noqa: E402

# What is planted: a path, its text, and a part of the finding ("" where it is allowed).
PLANTED = [
    ("runtime/op/x.h", '#include "runtime/format/program.h"', "order is base -> op"),
    ("runtime/device/x.cpp", '#include "runtime/session/session.h"', "order is base -> op"),
    (
        "runtime/session/x.cpp",
        '#include "kernels/cpu/cpu_kernels.h"',
        "runtime never includes kernels",
    ),
    ("runtime/plan/x.cpp", '#include "tools/files/file.h"', "runtime never includes tools"),
    ("python/x.cpp", '#include "runtime/session/session.h"', "the Python extension includes <"),
    ("python/x.h", "#include <ingot/ingot.h>", ""),
    (
        "runtime/api/x.cpp",
        "#include <flatbuffers/flatbuffers.h>",
        "only runtime/format sees FlatBuffers",
    ),
    (
        "runtime/format/x.cpp",
        "#include <flatbuffers/flatbuffers.h>",
        "expected '- **May include** runtime/{base,base/os,op}; FlatBuffers",
    ),
    (
        "runtime/device/x.h",
        "struct OpenModel;",
        "declares OpenModel of runtime/session, a layer above",
    ),
    ("runtime/base/x.h", "struct OpContract;", "declares OpContract of runtime/op, a layer above"),
    ("runtime/session/x.h", "struct Device;", ""),
    (
        "runtime/device/cuda/x.cpp",
        "Status assign_devices(const OpenModel& model,\n                      int x);",
        "declares assign_devices, which another file defines",
    ),
    (
        "runtime/device/cuda/x.cpp",
        "extern const F16WeightPacker kF16WeightPacker;",
        "declares kF16WeightPacker, which another file defines",
    ),
    (
        "runtime/device/cuda/x.cpp",
        'extern "C" __attribute__((weak)) const ingot::DeviceBackend ingot_cuda_backend;',
        "declares ingot_cuda_backend, which another file defines",
    ),
    ("runtime/session/x.cpp", 'if (is(name, "cuda:1")) return;', "names the back end cuda"),
    ("runtime/device/x.h", "int version;  // of CUDA", "names the back end cuda"),
    ("runtime/device/x.h", "constexpr int kCudaGpus = 2;", "names the back end cuda"),
    ("runtime/device/x.h", "int barracuda;  // another word", ""),
    ("runtime/device/x.h", "int places;  // see kernels/cuda/embed", ""),
    ("runtime/include/ingot/x.h", "/* or cuda */", ""),
    ("runtime/device/cuda/x.cpp", "Status later(int x);\nStatus later(int x) {\n}", ""),
    (
        "kernels/cpu/x.inl",
        '#include "runtime/device/device.h"',
        "kernels include runtime/base and runtime/op",
    ),
    (
        "kernels/cpu/x.inl",
        '#include "runtime/device/gpu/kernel_set.h"',
        "kernels include runtime/base and runtime/op",
    ),
    ("kernels/cuda/x.h", '#include "runtime/device/gpu/kernel_set.h"', ""),
    ("kernels/cuda/x.cu", '#include "tests/support/values.h"', "kernels never include tests"),
    (
        "kernels/cuda/x.cuh",
        '#include "kernels/cpu/attention/attention.inl"',
        "share nothing but arithmetic",
    ),
    ("kernels/cuda/resize/x.cuh", '#include "kernels/cpu/resize/taps.inl"', ""),
    ("tools/graph/x.cpp", '#include "tests/support/values.h"', "tools never include tests"),
    ("tools/graph/x.cpp", '#include "tools/import/onnx/import.h"', "order is files -> files/npz"),
    ("tools/files/x.cpp", '#include "tools/files/npz/npz.h"', "order is files -> files/npz"),
    ("tools/compile/write/x.cpp", '#include "tools/compile/plan/views.h"', "order is files"),
    ("tools/cli/commands/x.cpp", '#include "tools/import/onnx/operators.h"', ""),
    ("tools/cli/x.cpp", '#include "tools/import/onnx/import.h"', "expected '- **May include**"),
    ("tools/cli/README.md", "# tools/cli", "has no '- **Owns** ...'"),
    (
        "runtime/device/null/README.md",
        "# x\n- **Owns** x\n- **May include** runtime/device.\n- **Start at** gone.h.\n- **Tested by** x",
        "says 'Start at gone.h', which does not exist",
    ),
    ("tools/unlisted/x.cpp", '#include "tools/files/file.h"', "has no place in TOOLS"),
    ("tools/cli/unlisted/x.cpp", '#include "tools/files/file.h"', "has no place in TOOLS"),
]


def main():
    tree = layers.read_tree(ROOT)
    before = list(layers.findings(tree))
    checks = Checks("layers_lint")
    checks.report("the tree itself", "\n".join(before))
    for path, text, expected in PLANTED:
        found = list(layers.findings({**tree, path: text + "\n"}, [path]))
        found = [line for line in found if expected != "has no place in TOOLS" or expected in line]
        good = len(found) == 1 and expected in found[0] if expected else not found
        checks.check(good, f"{path}: {text!r}", f"expected {expected!r}, found {found}")
    sys.exit(checks.finish())


main()
