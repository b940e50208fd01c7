#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Requests from 64 connections at once against `ingot serve`: none lost, none wrong (every answer
beside that of `ingot run`), memory flat, latency and requests a second; 10,000 connections that
wait beside them. With --triton a tritonserver (triton_server.py) gets the same requests in turns
with ours: requests a second, latency, and processor time of each, medians of the rounds.

  load.py --ingot BINARY --client LOAD_CLIENT [--requests N] [--triton PYTHON]"""

import json
import os
import pathlib
import resource
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request

import numpy as np
from triton_client import ROOT, Server, expected_outputs

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import ingot_parser, run  # noqa: E402

CALLS = 64


def resident_kib(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1])
    return 0


def write_calls(path, model, name, output, inputs, outputs):
    """Each image by itself, as bytes behind the JSON."""
    blocks = [struct.pack("<I", len(inputs))]
    for array, expected in zip(inputs, outputs):
        data = array[None].tobytes()
        shape = [1, *array.shape]
        head = {
            "inputs": [
                {
                    "name": name,
                    "shape": shape,
                    "datatype": "FP32",
                    "parameters": {"binary_data_size": len(data)},
                }
            ],
            "outputs": [{"name": output, "parameters": {"binary_data": True}}],
        }
        text = json.dumps(head).encode()
        request = (
            f"POST /v2/models/{model}/infer HTTP/1.1\r\nHost: localhost\r\n"
            f"Inference-Header-Content-Length: {len(text)}\r\n"
            f"Content-Length: {len(text) + len(data)}\r\n\r\n"
        ).encode()
        for block in (request + text + data, expected.tobytes()):
            blocks += [struct.pack("<I", len(block)), block]
    path.write_bytes(b"".join(blocks))


def load(client, port, connections, requests, calls):
    ran = run(client, port, connections, requests, calls)
    if not ran.stdout:
        raise SystemExit(ran.stderr)
    return json.loads(ran.stdout), ran.stderr


def show(what, result):
    print(
        f"{what}: {result['right']:,} right, {result['wrong']} wrong, {result['lost']} lost; "
        f"{result['per_second']:,.0f} a second, p50 {result['p50_us'] / 1000:.2f} ms, "
        f"p99 {result['p99_us'] / 1000:.2f} ms"
    )


def processor_us(process):
    """Of a process and all below it, in microseconds."""
    parents, times = {}, {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        pid = int(stat.parent.name)
        parents[pid] = int(fields[1])
        times[pid] = (int(fields[11]) + int(fields[12])) * 1e6 / os.sysconf("SC_CLK_TCK")
    below = {process}
    for _ in range(4):
        below |= {pid for pid, parent in parents.items() if parent in below}
    return sum(times.get(pid, 0) for pid in below)


def start_triton(python, port):
    process = subprocess.Popen(
        [python, str(pathlib.Path(__file__).with_name("triton_server.py")), str(port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    ready = f"http://127.0.0.1:{port}/v2/models/digits/ready"
    for _ in range(120):
        try:
            urllib.request.urlopen(ready, timeout=1).close()
            return process
        except OSError:
            if process.poll() is not None:
                break
            time.sleep(0.5)
    raise SystemExit("tritonserver does not begin: see triton_server.py")


def compare(client, requests, servers, rounds=5):
    """servers: name -> (port, process, file of calls)."""
    found = {name: [] for name in servers}
    for turn in range(rounds + 1):
        for name, (port, process, calls) in servers.items():
            before = processor_us(process)
            result, _ = load(client, port, 64, requests, calls)
            result["cpu_us"] = (processor_us(process) - before) / requests
            if turn:  # the first is to warm up
                found[name].append(result)
    for name, results in found.items():
        middle = {key: statistics.median(r[key] for r in results) for key in results[0]}
        print(
            f"{name}: {middle['per_second']:,.0f} a second, p50 {middle['p50_us'] / 1000:.2f} ms, "
            f"p99 {middle['p99_us'] / 1000:.2f} ms, {middle['cpu_us']:.0f} us of a processor each"
        )


def port_of(server):
    return int(server.urls["http"].rsplit(":", 1)[1])


def idle_connections(port, count):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return [socket.create_connection(("127.0.0.1", port)) for _ in range(min(count, hard - 200))]


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--client", required=True)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--idle", type=int, default=10_000)
    parser.add_argument("--serve", nargs="*", default=[], help="options of ingot serve")
    parser.add_argument("--triton", help="a Python with nvidia-pytriton and onnxruntime")
    arguments = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ingot-load-"))
    file, models, calls = folder / "digits.ingot", folder / "models", folder / "calls"
    run(arguments.ingot, "convert", ROOT / "examples/digits/digits.onnx", "-o", file).succeeded()
    run(arguments.ingot, "registry", "add", file, "digits", "--root", models).succeeded()
    images = np.random.default_rng(3).standard_normal((CALLS, 1, 28, 28)).astype(np.float32)
    expected = expected_outputs(arguments.ingot, file, {"image": images}, folder)["digit"]
    write_calls(calls, "digits", "image", "digit", images, expected)
    failed = False
    with Server(arguments.ingot, models, "--idle-seconds", "600", *arguments.serve) as server:
        port = port_of(server)
        warm, said = load(arguments.client, port, 64, max(arguments.requests // 10, 100), calls)
        print(said, end="", file=sys.stderr)
        before = resident_kib(server.process.pid)
        result, said = load(arguments.client, port, 64, arguments.requests, calls)
        after = resident_kib(server.process.pid)
        show("64 connections", result)
        print(f"memory: {before:,} KiB before, {after:,} KiB after")
        single, _ = load(arguments.client, port, 1, max(arguments.requests // 20, 100), calls)
        show("1 connection", single)
        waiting = idle_connections(port, arguments.idle)
        held = resident_kib(server.process.pid)
        beside, _ = load(arguments.client, port, 64, arguments.requests // 5, calls)
        show(f"64 beside {len(waiting):,} that wait", beside)
        print(f"memory of those: {(held - after) / max(len(waiting), 1):.1f} KiB each")
        for connection in waiting:
            connection.close()
        for one in (warm, result, single, beside):
            failed = failed or one["wrong"] or one["lost"]
        failed = failed or after > before * 1.05 + 1024
    if arguments.triton:
        # its answers are those of another runtime: only their number is compared here
        any_answer = folder / "any_answer"
        write_calls(any_answer, "digits", "image", "digit", images, [e[:0] for e in expected])
        triton = start_triton(arguments.triton, 18470)
        try:
            # as it comes, and as the other: two instances of one thread
            with Server(arguments.ingot, models) as default:
                with Server(arguments.ingot, models, "--threads", "1", "--instances", "2") as same:
                    servers = {
                        "ingot serve": (port_of(default), default.process.pid, calls),
                        "ingot serve, two instances": (
                            port_of(same),
                            same.process.pid,
                            calls,
                        ),
                        "tritonserver, two instances": (18470, triton.pid, any_answer),
                    }
                    compare(arguments.client, 40_000, servers)
        finally:
            triton.stdin.close()
            triton.wait()
    print("[fail] requests lost or wrong, or memory grew" if failed else "load: passed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
