#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Language models beside llama.cpp: the same GGUF file, processor, threads and tokens, each in a
process of its own, in random order within a round; logits compared first.

  llm_peers.py --ingot BIN [--work DIR] [--models NAME,..] [--isas native,avx2] [--threads 1,2]
               [--rounds 5] [--prompt 512] [--generate 64] [--json FILE] [--keep]
               [--servers [--slots 4] [--requests 4]]

Prints tokens a second of a prompt and generated, and Ingot's over llama.cpp's: the median of the
paired rounds with the smallest and the largest. Besides: resident memory, Ingot's beside file +
cache + 16 MB; milliseconds from nothing to the first token of a prompt of 16, less what the prompt
takes a second time. llama.cpp is that of llama-cpp-python's source package, built here once for the
processor and once for AVX2 (some minutes). "missed" marks what llm_models.py asks for. Files of
random weights are removed once they are measured unless --keep says otherwise.
"""

import json
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import llm_servers  # noqa: E402
from llm_models import MODELS, ROOT, is_random, prepare  # noqa: E402
from packages import fetch_sources  # noqa: E402
from processors import pin, processor_name  # noqa: E402
from testing import Ingot, largest_error, run, text_parser  # noqa: E402

PACKAGE = "llama-cpp-python==0.3.36"
OFF = [f"LLAMA_BUILD_{part}" for part in "COMMON TESTS TOOLS EXAMPLES SERVER APP UI".split()]
BUILDS = {  # options of ggml
    "native": ["NATIVE=ON"],
    "avx2": ["NATIVE=OFF", "AVX2=ON", "FMA=ON", "F16C=ON", "BMI2=ON"],
}
CONTEXT = 1024
ROOM = 16 << 20  # of memory beside file and cache
LOADING = 30  # ms that loading may add to a first token
ROWS = 60  # of the logits that are compared, every second one of the text
TEXT = """The capital of France is Paris. In 1889 a tower of iron was built there, and since then it
has been the best known sign of the city. Its engineer had built bridges before, and he knew how
wind loads a tall structure. Many artists of the time protested against it, because they thought
that it would spoil the view of the old streets. Today seven million people a year climb its stairs
or take one of its lifts. From the top one sees the river, the hills in the north, and on a clear
day the cathedral of Chartres, which is about seventy kilometres away.""".replace("\n", " ")
APART = 2e-2  # mean divergence from llama.cpp; each is 2e-3 to 7e-3 from f32
AIM = 1e-3  # which llama.cpp misses beside itself
PERPLEXITY = 3e-3  # that Ingot's may differ from llama.cpp's, of SCORED tokens of each of PROSE
PROSE = [ROOT / "docs" / f"{name}.md" for name in ("decisions", "cuda", "serve", "api")]
SCORED = 900


def build_peer(work, builds=BUILDS, options=(), compiler="g++"):
    """llama_peer, linked to llama.cpp as the first of `builds` has it; of the others there is
    libggml-cpu."""
    fetch_sources(PACKAGE, "vendor/llama.cpp/*", work)
    (source,) = work.glob("llama_cpp_python-*/vendor/llama.cpp")
    program = work / "llama_peer"
    if not program.exists():
        shared = ["-DBUILD_SHARED_LIBS=ON", "-DCMAKE_BUILD_TYPE=Release", "-DLLAMA_OPENSSL=OFF"]
        shared += ["-DCMAKE_BUILD_RPATH_USE_ORIGIN=ON"] + [f"-D{name}=OFF" for name in OFF]
        target, first = "llama", work / next(iter(builds)) / "bin"
        for name, own in builds.items():
            own = [f"-DGGML_{option}" for option in own]
            print(f"building llama.cpp for {name}", file=sys.stderr)
            run("cmake", "-S", source, "-B", work / name, shared, *options, own).succeeded()
            run("cmake", "--build", work / name, "--target", target, "-j2").succeeded()
            target = "ggml-cpu"
        include = ["-I", source / "include", "-I", source / "ggml/include"]
        library = ["-L", first, "-lllama", f"-Wl,-rpath,{first}", f"-Wl,-rpath-link,{first}"]
        peer = ROOT / "bench/llama_peer.cpp"
        run(compiler, "-std=c++17", "-O2", include, peer, library, "-o", program).succeeded()
    return program


class Peer:
    """llama.cpp, stopped until it is asked."""

    def __init__(self, program, model, isa, threads):
        folders = [program.parent / name / "bin" for name in (isa, "native")]
        self.process = subprocess.Popen(
            [program, model, str(threads), str(CONTEXT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "LD_LIBRARY_PATH": ":".join(map(str, folders))},
            preexec_fn=pin(threads),
        )
        self.facts = self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        facts = json.loads(line) if line else {"absent": f"ended with {self.process.wait()}"}
        if "absent" in facts:
            raise RuntimeError(f"llama.cpp: {facts['absent']}")
        os.kill(self.process.pid, signal.SIGSTOP)
        return facts

    def ask(self, *words):
        os.kill(self.process.pid, signal.SIGCONT)
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def end(self):
        self.process.kill()
        self.process.wait()


def measure_own(args, file, isa, threads, prompt, generate):
    """Report of `ingot bench`, and the largest resident memory of its process."""
    words = [args.ingot, "bench", file, "--prompt", prompt, "--generate", generate]
    words += ["--threads", threads, "--seconds", 0, "--json"]
    environment = {**os.environ, **({} if isa == "native" else {"INGOT_CPU_ISA": isa})}
    process = subprocess.Popen(
        [str(word) for word in words],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        preexec_fn=pin(threads),
    )
    report = json.loads(process.stdout.read() or "{}")
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    if status:
        raise RuntimeError(f"ingot bench ended with {status}")
    return {**report, "resident": usage.ru_maxrss * 1024}


def divergence(wanted, found):
    """Kullback-Leibler, in double."""

    def logs(x):
        x = x.astype(np.float64) - x.max()
        return x - np.log(np.exp(x).sum())

    p, q = logs(wanted), logs(found)
    return float((np.exp(p) * (p - q)).sum())


def text_for(args, model, count=ROWS):
    """Tokens of a text, the `count` rows of logits that are compared, and what Ingot is fed."""
    ids = [(i * 7919 + 11) % 32000 for i in range(2 * count)]
    if not is_random(model):
        said = run(args.ingot, "tokenize", model, TEXT, "--ids").succeeded().stdout
        ids = [int(word) for word in said.split()][: 2 * count]
    rows = np.arange(len(ids)) * 2 + 1
    rows[count:] = 0  # not read
    fed = {
        "tokens": np.array([ids], np.int32),
        "position": np.zeros(1, np.int64),
        "rows": rows[None],
    }
    return ids, rows[:count], fed


def kept_logits(file, vocabulary, rows):
    """What llama_peer wrote."""
    logits = np.fromfile(file, np.float32).reshape(-1, vocabulary)[rows]
    file.unlink()
    return logits


def apart(wanted, found):
    return statistics.fmean(map(divergence, wanted, found))


def perplexities(args, model, peer):
    """Of the first tokens of each text, a token given all before it: Ingot's, llama.cpp's, that
    token by token."""
    lost = np.array([losses(args, model, peer, text) for text in PROSE])
    return [float(p) for p in np.exp(lost.mean(axis=0))]


def losses(args, model, peer, text):
    """Nats a token of one text, in the order of perplexities()."""
    file = args.work / f"{args.name}.ingot"
    words = ["--text", text, "--tokens", SCORED, "--json", "-q"]
    report = json.loads(run(args.ingot, "perplexity", file, words).succeeded().stdout)
    said = run(args.ingot, "tokenize", model, "--file", text, "--ids").succeeded().stdout
    ids = [int(word) for word in said.split()][:SCORED]

    def of_peer(batch):
        kept = args.work / "logits.bin"
        vocabulary = peer.ask("logits", kept, batch, *ids)["vocabulary"]
        logits, lost = np.fromfile(kept, np.float32).reshape(-1, vocabulary), 0.0
        kept.unlink()
        for row, token in zip(logits, ids[1:]):
            row = row.astype(np.float64) - row.max()
            lost += np.log(np.exp(row).sum()) - row[token]
        return float(lost / (len(ids) - 1))

    return [float(np.log(report["perplexity"])), of_peer(len(ids)), of_peer(1)]


def own_logits(args, model, fed, *options, ingot=None):
    """Ingot's, of the rows that are fed."""
    ingot = ingot or Ingot(args.ingot, args.work)
    ingot.file = args.work / "logits.ingot"
    words = ["--context", CONTEXT, "--lookup", fed["tokens"].size // 2 - 1, "-q", *options]
    ingot.convert(model, *words).succeeded()
    logits = ingot.outputs(fed)["logits"]
    ingot.file.unlink()
    return logits


def compare_logits(args, model, program, peer):
    """How far from each other logits of a text are: those of Ingot, of llama.cpp, of llama.cpp done
    otherwise, and of f32. @raises RuntimeError where Ingot's are others."""
    ids, rows, fed = text_for(args, model)

    def of_peer(peer, batch):
        kept = args.work / "logits.bin"
        return kept_logits(kept, peer.ask("logits", kept, batch, *ids)["vocabulary"], rows)

    wanted, alone = of_peer(peer, len(ids)), of_peer(peer, 1)
    avx2 = Peer(program, model, "avx2", 1)
    try:
        other = of_peer(avx2, len(ids))
    finally:
        avx2.end()
    found = own_logits(args, model, fed)
    same = int((found.argmax(1) == wanted.argmax(1)).sum())
    facts = {
        "divergence": apart(wanted, found),
        "token by token": apart(wanted, alone),
        "AVX2": apart(wanted, other),
        "error": largest_error(found, wanted, 1),
        "same": same,
    }
    if not is_random(model):  # whose f32 takes gigabytes, and to whom a text is noise
        facts["perplexity"] = perplexities(args, model, peer)
        exact = own_logits(args, model, fed, "--dtype", "fp32")
        facts["from f32"] = [apart(exact, found), apart(exact, wanted)]
    if not facts["divergence"] <= APART:
        raise RuntimeError(f"{model.name}: logits differ, divergence {facts['divergence']:.1e}")
    return facts


def logits_line(name, facts):
    """What Ingot's logits are beside llama.cpp's, and what llama.cpp's are beside its own."""
    missed = " **missed**" if facts["divergence"] > AIM else ""
    line = (
        f"- {name}: divergence {facts['divergence']:.1e}{missed}, {facts['error']:.1e} of the "
        f"largest, {facts['same']} most probable tokens the same; llama.cpp from itself: token by "
        f"token {facts['token by token']:.1e}, with AVX2 {facts['AVX2']:.1e}"
    )
    if "from f32" not in facts:
        return line
    ours, theirs = facts["from f32"]
    line += f"; from f32: Ingot {ours:.1e}, llama.cpp {theirs:.1e}"
    ours, theirs, alone = facts["perplexity"]
    missed = " **missed**" if abs(ours / theirs - 1) > PERPLEXITY else ""
    return (
        f"{line}; perplexity of {len(PROSE) * SCORED} tokens {ours:.3f}{missed}, llama.cpp "
        f"{theirs:.3f}, token by token {alone:.3f}"
    )


def paired(own, other):
    ratios = [a / b for a, b in zip(own, other)]
    return {"ratio": statistics.median(ratios), "low": min(ratios), "high": max(ratios)}


def compare(args, name, model, file, program, isa, threads):
    """The figures of one line."""
    peer = Peer(program, model, isa, threads)
    try:
        result = {"model": name, "isa": isa, "threads": threads, "system": peer.facts["system"]}
        if isa == "native" and threads == args.threads[0]:
            args.name = name
            result["logits"] = compare_logits(args, model, program, peer)
        times = {"prompt": ([], []), "generate": ([], [])}
        for _ in range(args.rounds):
            for who in random.sample((0, 1), 2):
                if who == 0:
                    own = report = measure_own(args, file, isa, threads, args.prompt, args.generate)
                else:
                    other = report = peer.ask("measure", args.prompt, args.generate)
                for what, lists in times.items():
                    lists[who].append(report[f"{what}_tps"])
        for what, (ours, theirs) in times.items():
            wanted = MODELS[name].judge(own["isa"], what)
            result[what] = {
                "ingot": statistics.median(ours),
                "llama.cpp": statistics.median(theirs),
                **paired(ours, theirs),
                "wanted": wanted,
                "rounds": [ours, theirs],
            }
        short = measure_own(args, file, isa, threads, 16, 1)
        allowed = own["file_bytes"] + own["memory"]["state"] + ROOM
        result["isa_of_ingot"] = own["isa"]
        result["resident"] = {
            "ingot": own["resident"],
            "allowed": allowed,
            "llama.cpp": other["resident"],
            "file": model.stat().st_size,
        }
        result["loading_ms"] = {
            "ingot": short["first_token_ms"] - 16e3 / short["prompt_tps_best"],
            "llama.cpp": sum(peer.facts[k] for k in ("load_ms", "first_ms"))
            - peer.facts["again_ms"],
        }
    finally:
        peer.end()
    return result


HEAD = ["model", "set", "thr", "prompt/s", "llama.cpp", "times", "generated/s", "llama.cpp"]
HEAD += ["times", "resident MB (allowed)", "llama.cpp", "loading ms", "llama.cpp"]


def cells(result):
    line = [result["model"], result["isa_of_ingot"], str(result["threads"])]
    for what in ("prompt", "generate"):
        r = result[what]
        missed = f" **missed** {r['wanted']}" if r["ratio"] < r["wanted"] else ""
        line += [f"{r['ingot']:.0f}", f"{r['llama.cpp']:.0f}"]
        line += [f"{r['ratio']:.2f} ({r['low']:.2f}..{r['high']:.2f}){missed}"]
    r, mb = result["resident"], lambda n: f"{n / 1e6:.0f}"
    missed = " **missed**" if r["ingot"] > r["allowed"] else ""
    line += [f"{mb(r['ingot'])} ({mb(r['allowed'])}){missed}", mb(r["llama.cpp"])]
    late = result["loading_ms"]["ingot"]
    line += [f"{late:.0f}{' **missed**' if late > LOADING else ''}"]
    return line + [f"{result['loading_ms']['llama.cpp']:.0f}"]


def main():
    parser = text_parser(__doc__)
    words = lambda text: text.split(",")
    parser.add_argument("--ingot", required=True, type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/llm-peers")
    parser.add_argument("--models", type=words, default=list(MODELS))
    parser.add_argument("--isas", type=words, default=["native", "avx2"])
    parser.add_argument("--threads", type=lambda t: [int(n) for n in words(t)], default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--generate", type=int, default=64)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--servers", action="store_true", help="as servers: llm_servers.py")
    parser.add_argument("--slots", type=int, default=4)
    parser.add_argument("--requests", type=int, default=4, help="of each client in a round")
    args = parser.parse_args()
    unknown = set(args.models) - set(MODELS)
    if unknown or set(args.isas) - {"native", "avx2"}:
        parser.error(f"models: {', '.join(MODELS)}; instruction sets: native, avx2")
    random.seed(1)
    args.work = args.work.resolve()
    args.work.mkdir(parents=True, exist_ok=True)
    program = build_peer(args.work)
    print(f"{processor_name()}; llama.cpp of {PACKAGE}")
    if args.servers:
        args.threads = args.threads[0]
        return llm_servers.main(args, args.models, program, prepare, pin, run)
    print(f"prompt of {args.prompt}, {args.generate} generated, {args.rounds} rounds\n")
    print("| " + " | ".join(HEAD) + " |\n|" + "---|" * len(HEAD), flush=True)
    results, logits = [], {}
    for name in args.models:
        model = prepare(name, args.work, program)
        if model is None:
            print(f"[skip] {name}: its package cannot be fetched")
            continue
        file = args.work / f"{name}.ingot"
        run(args.ingot, "convert", model, "-o", file, "--context", CONTEXT, "-q").succeeded()
        for isa in args.isas:
            for threads in args.threads:
                results.append(compare(args, name, model, file, program, isa, threads))
                print("| " + " | ".join(cells(results[-1])) + " |", flush=True)
                logits.setdefault(name, results[-1].get("logits"))
        if name.startswith("llama1b") and not args.keep:
            file.unlink(), model.unlink()
    print(f"\nLogits beside llama.cpp's, {ROWS} tokens of a text:")
    for name, facts in logits.items():
        if facts:
            print(logits_line(name, facts))
    if args.json:
        measured = {"processor": processor_name(), "package": PACKAGE, "results": results}
        args.json.write_text(json.dumps(measured, indent=1))


if __name__ == "__main__":
    sys.exit(main())
