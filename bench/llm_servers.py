# SPDX-License-Identifier: Apache-2.0
"""`ingot serve` beside llama-server: answers of one model over slots, each server's clients in
turns, on the same processors.

    ./dev show llm-peers --servers [--models NAME,..] [--slots 4] [--threads N] [--rounds N]

Prints generated tokens a second with one client and with as many as slots, milliseconds to the
first token, and the largest resident memory; Ingot's over llama-server's of the paired rounds with
the smallest and the largest. Prompts are texts that no other request begins with; answers have a
fixed length, greedy."""

import concurrent.futures
import http.client
import json
import os
import pathlib
import random
import signal
import socket
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
WORDS = "river stone seven blue train window garden paper winter music small bright open".split()
TOKENS, CONTEXT = 64, 512


class Server:
    """A process that serves, stopped while the other is measured."""

    def __init__(self, words, port, threads, pin):
        self.port = port
        self.process = subprocess.Popen(
            [str(word) for word in words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=pin(threads),
        )
        for _ in range(600):
            try:
                if self.get("/v1/models") == 200 and self.ask("Hi.", 1):
                    break
            except (OSError, http.client.HTTPException, ValueError):
                if self.process.poll() is not None:
                    raise RuntimeError(f"{words[0]} ended with {self.process.returncode}") from None
            time.sleep(0.1)
        else:
            raise RuntimeError(f"{words[0]} does not answer")
        os.kill(self.process.pid, signal.SIGSTOP)

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", path)
        return connection.getresponse().status

    def ask(self, prompt, tokens):
        """Seconds to the first token and to the last."""
        body = {"model": "model", "prompt": prompt, "max_tokens": tokens, "temperature": 0}
        body |= {"stream": True, "ignore_eos": True}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        began, first = time.monotonic(), None
        connection.request(
            "POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"}
        )
        reply = connection.getresponse()
        if reply.status != 200:
            raise ValueError(f"status {reply.status}: {reply.read()[:200]}")
        for line in reply:
            if not line.startswith(b"data: {"):
                continue
            if "error" in json.loads(line[6:]):
                raise ValueError(line.decode())
            first = first or time.monotonic() - began
        return first, time.monotonic() - began

    def measure(self, clients, requests, seed):
        """Tokens a second, and milliseconds to a first token: the median."""
        r = random.Random(seed)
        prompts = [" ".join(r.choices(WORDS, k=64)) + "." for _ in range(requests)]
        os.kill(self.process.pid, signal.SIGCONT)
        began = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(clients) as pool:
            times = list(pool.map(lambda prompt: self.ask(prompt, TOKENS), prompts))
        took = time.monotonic() - began
        os.kill(self.process.pid, signal.SIGSTOP)
        return requests * TOKENS / took, statistics.median(first for first, _ in times) * 1e3

    def resident(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
        return 0

    def end(self):
        self.process.kill()
        self.process.wait()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def build_server(work, run):
    """llama-server of the sources that llm_peers.py unpacked and configured."""
    program = work / "native/bin/llama-server"
    if not program.exists():
        (source,) = work.glob("llama_cpp_python-*/vendor/llama.cpp")
        parts = [f"-DLLAMA_BUILD_{part}=ON" for part in ("COMMON", "TOOLS", "SERVER")]
        print("building llama-server", file=sys.stderr)
        run("cmake", "-S", source, "-B", work / "native", parts).succeeded()
        run("cmake", "--build", work / "native", "--target", "llama-server", "-j2").succeeded()
    return program


def compare_servers(args, name, model, repository, program, pin):
    """Rows of a table: tokens a second, by clients."""
    ports = [free_port(), free_port()]
    ours = [args.ingot, "serve", "-q", repository, "--http-port", ports[0], "--no-grpc"]
    ours += ["--slots", args.slots, "--threads", args.threads]
    theirs = [program, "-m", model, "--port", ports[1], "-np", args.slots, "--no-webui"]
    theirs += ["-c", CONTEXT * args.slots, "-t", args.threads, "-tb", args.threads]
    servers = []
    try:
        for words, port in zip((ours, theirs), ports, strict=True):
            servers.append(Server(words, port, args.threads, pin))
        for clients in (1, args.slots):
            rows = ([], [])
            for at in range(args.rounds):
                for who in random.sample((0, 1), 2):
                    requests = args.requests * clients
                    rows[who].append(servers[who].measure(clients, requests, 100 * clients + at))
            tokens = [[row[0] for row in each] for each in rows]
            firsts = [statistics.median(row[1] for row in each) for each in rows]
            ratios = [a / b for a, b in zip(*tokens, strict=True)]
            print(
                f"| {name} | {clients} | {statistics.median(tokens[0]):.0f} | "
                f"{statistics.median(tokens[1]):.0f} | {statistics.median(ratios):.2f} "
                f"({min(ratios):.2f}..{max(ratios):.2f}) | {firsts[0]:.0f} | {firsts[1]:.0f} | "
                f"{servers[0].resident() / 1e6:.0f} | {servers[1].resident() / 1e6:.0f} |",
                flush=True,
            )
    finally:
        for server in servers:
            server.end()


def main(args, models, program, prepare, pin, run):
    """The comparison of each model that can be had. `program`: llama_peer"""
    server = build_server(args.work, run)
    print(f"{HEAD}\n{'|---' * HEAD.count(' | ')}|---|", flush=True)
    for name in models:
        model = prepare(name, args.work, program)
        if model is None:
            print(f"[skip] {name}: its package cannot be fetched")
            continue
        repository = args.work / f"{name}-served"
        file = repository / "model/1/model.ingot"
        file.parent.mkdir(parents=True, exist_ok=True)
        options = ["--context", CONTEXT, "--slots", args.slots, "-q"]
        run(args.ingot, "convert", model, "-o", file, options).succeeded()
        compare_servers(args, name, model, repository, server, pin)


HEAD = "| model | clients | tokens/s | llama-server | times | first ms | llama-server | MB "
HEAD += "| llama-server |"
