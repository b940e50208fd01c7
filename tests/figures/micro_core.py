# SPDX-License-Identifier: Apache-2.0
"""Flash of the microcontroller's core: everything that an image links besides kernels and its own
main, with the rules of convolution, linear layer, pooling and softmax of bytes, the operators of
MLPerf Tiny's keyword network."""

import sys
import pathlib
import re
import shutil

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import run  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPILER = "arm-none-eabi-g++"
FLAGS = (
    "-mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=hard -Os -ffunction-sections "
    "-fdata-sections -ffp-contract=off -DINGOT_FIRMWARE -std=c++17 -fno-exceptions -fno-rtti "
    "-fno-threadsafe-statics -fno-unwind-tables -fno-asynchronous-unwind-tables"
).split()
OPERATORS = (
    "quantized_conv2d",
    "quantized_linear",
    "quantized_pool2d",
    "quantized_softmax",
    "quantized_blocks",
    "requantize",
    "conv_blocks",
    "conv_rules",
    "rules",
    "tensor",
)
OWN = ("main", "quiet_kernel")  # of core_image.cpp


def sources():
    yield from sorted((ROOT / "runtime/micro").glob("*.cpp"))
    yield from (ROOT / f"runtime/op/{name}.cpp" for name in OPERATORS)
    yield from (ROOT / f"runtime/base/{name}.cpp" for name in ("sha256", "sha256_x86", "status"))
    yield ROOT / "tests/figures/core_image.cpp"


def measure(work):
    """{} and a counted skip where there is no compiler for it."""
    if not shutil.which(COMPILER):
        print("[skip] flash of the microcontroller's core: arm-none-eabi-g++ is absent")
        return {}
    image, objects = work / "micro_core.elf", []
    for source in sources():
        objects.append(work / (source.stem + ".micro.o"))
        command = [COMPILER, *FLAGS, f"-I{ROOT}", f"-I{ROOT}/runtime/include", "-c", source]
        run(command, "-o", objects[-1]).succeeded()
    link = ["-nostartfiles", "--specs=nano.specs", "-Wl,--gc-sections", "-Wl,-e,main"]
    run(COMPILER, *FLAGS, *link, *objects, "-o", image).succeeded()
    sections = run("arm-none-eabi-size", "-A", image).succeeded().stdout
    flash = sum(
        int(n) for n in re.findall(r"^\.(?:text|rodata|data|ARM\.\S+)\s+(\d+)", sections, re.M)
    )
    names = run("arm-none-eabi-nm", "-S", "-C", image).succeeded().stdout
    own = sum(
        int(size, 16)
        for size, name in re.findall(r"^\w+ (\w+) \w (\w+)", names, re.M)
        if name in OWN
    )
    object_bytes = re.search(r"^\w+ (\w+) \w model$", names, re.M).group(1)
    return {"micro_core": flash - own, "micro_object": int(object_bytes, 16)}
