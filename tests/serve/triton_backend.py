#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""libtriton_ingot.so in a real tritonserver, that of nvidia-pytriton: its answers beside those of
`ingot serve` to the same requests, bit for bit; batches, instances, sequences, refusals.

  triton_backend.py --ingot BINARY --backend LIBRARY --triton PYTHON     needs tritonclient

PYTHON is an interpreter that has nvidia-pytriton."""

import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import numpy as np
import tritonclient.grpc
import tritonclient.http
from triton_client import ROOT, ClientChecks, Server, tensors

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import ingot_parser, run  # noqa: E402

DATA = ROOT / "tests/cli/data"
BARE = 'backend: "ingot"\n'
WHOLE = """backend: "ingot"
max_batch_size: 4
dynamic_batching { max_queue_delay_microseconds: 50000 }
instance_group [ { count: 2 kind: KIND_CPU } ]
parameters { key: "threads" value: { string_value: "1" } }
input [ { name: "image" data_type: TYPE_FP32 dims: [ 1, 28, 28 ] } ]
output [ { name: "digit" data_type: TYPE_FP32 dims: [ 10 ] } ]
"""
OTHER_TYPE = WHOLE.replace("TYPE_FP32", "TYPE_INT8", 1)
DECOUPLED = WHOLE + "model_transaction_policy { decoupled: true }\n"
NO_NUMBER = BARE + 'parameters { key: "threads" value: { string_value: "two" } }\n'


def free_port():
    """The first of three that are free."""
    for port in range(18000, 30000, 10):
        try:
            for one in range(port, port + 3):
                with socket.socket() as listener:
                    listener.bind(("127.0.0.1", one))
            return port
        except OSError:
            continue
    raise SystemExit("no free ports")


def write_repository(ingot, folder):
    digits, kept = folder / "digits.ingot", folder / "kept.ingot"
    run(ingot, "convert", ROOT / "examples/digits/digits.onnx", "-o", digits).succeeded()
    run(ingot, "convert", DATA / "stream.onnx", "--state", "s=sn", "-o", kept).succeeded()
    spoilt = folder / "spoilt.ingot"
    spoilt.write_bytes(digits.read_bytes()[:-100])
    models = {
        "bare": (digits, BARE),
        "whole": (digits, WHOLE),
        "kept": (kept, BARE),
        "other_type": (digits, OTHER_TYPE),
        "decoupled": (digits, DECOUPLED),
        "no_number": (digits, NO_NUMBER),
        "spoilt": (spoilt, BARE),
    }
    for name, (file, config) in models.items():
        version = folder / "models" / name / "1"
        version.mkdir(parents=True)
        shutil.copy(file, version / "model.ingot")
        (version.parent / "config.pbtxt").write_text(config)
    return folder / "models"


class TritonServer:
    def __init__(self, python, repository, backend, log):
        self.port = free_port()
        script = pathlib.Path(__file__).parent / "triton_server.py"
        self.log = open(log, "w")
        self.process = subprocess.Popen(
            [python, script, str(self.port), "--repository", repository, "--backend", backend],
            stdin=subprocess.PIPE,
            stdout=self.log,
            stderr=subprocess.STDOUT,
        )

    def __enter__(self):
        client = tritonclient.http.InferenceServerClient(f"127.0.0.1:{self.port}")
        until = time.monotonic() + 60
        while time.monotonic() < until and self.process.poll() is None:
            try:
                if client.is_server_live():
                    return self
            except Exception:
                time.sleep(0.2)
        raise SystemExit(f"the tritonserver did not begin: {self.log.name}")

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.log.close()

    @property
    def urls(self):
        return {"http": f"127.0.0.1:{self.port}", "grpc": f"127.0.0.1:{self.port + 1}"}


def kinds():
    return {"http": tritonclient.http, "grpc": tritonclient.grpc}


def batches(check, theirs, ours, random):
    for kind, module in kinds().items():
        triton = module.InferenceServerClient(theirs.urls[kind])
        ingot = module.InferenceServerClient(ours.urls[kind])
        for name, most in (("bare", 8), ("whole", 4)):
            for rows in range(1, most + 1):
                image = random.random((rows, 1, 28, 28), dtype=np.float32)
                asked = tensors(module, {"image": image})
                expected = ingot.infer(name, asked).as_numpy("digit")
                found = triton.infer(name, asked).as_numpy("digit")
                same = found.shape == expected.shape and found.tobytes() == expected.tobytes()
                check(f"{kind} {name}, {rows} rows: the bits of ingot serve", same)
        image = random.random((9, 1, 28, 28), dtype=np.float32)
        check.refused(
            f"{kind}: more rows than max_batch_size",
            lambda: triton.infer("bare", tensors(module, {"image": image})),
            "batch",
        )
        wrong = random.random((1, 1, 28, 27), dtype=np.float32)
        check.refused(
            f"{kind}: another shape",
            lambda: triton.infer("bare", tensors(module, {"image": wrong})),
            "shape",
        )


def joined(check, theirs, ours, random):
    """Many requests at once: fewer executions than requests, and the same bits."""
    triton = tritonclient.http.InferenceServerClient(theirs.urls["http"], concurrency=32)
    ingot = tritonclient.http.InferenceServerClient(ours.urls["http"])
    images = [random.random((1, 1, 28, 28), dtype=np.float32) for _ in range(400)]
    asked = [tensors(tritonclient.http, {"image": image}) for image in images]
    before = statistics_of(triton, "whole")
    waiting = [triton.async_infer("whole", one) for one in asked]
    found = [one.get_result().as_numpy("digit") for one in waiting]
    after = statistics_of(triton, "whole")
    requests, executions = (after[i] - before[i] for i in range(2))
    print(f"{requests} requests in {executions} executions")
    check("requests are joined", requests == 400 and executions < 300)
    expected = [ingot.infer("whole", one).as_numpy("digit") for one in asked]
    same = all(a.tobytes() == b.tobytes() for a, b in zip(found, expected))
    check("joined: the bits of each alone", same)


def statistics_of(client, name):
    of_model = client.get_inference_statistics(name)["model_stats"][0]
    return of_model["inference_count"], of_model["execution_count"]


def sequences(check, theirs, ours, random):
    for number, (kind, module) in enumerate(kinds().items()):
        triton = module.InferenceServerClient(theirs.urls[kind])
        ingot = module.InferenceServerClient(ours.urls[kind])
        described = tritonclient.http.InferenceServerClient(ours.urls["http"])
        inputs = described.get_model_metadata("kept")["inputs"]
        steps, names = 4, [1 + number * 10, 2 + number * 10]
        differs = 0
        for step in range(steps):
            for name in names:
                arrays = {
                    i["name"]: random.random([max(d, 1) for d in i["shape"]], dtype=np.float32)
                    for i in inputs
                }
                options = {
                    "sequence_id": name,
                    "sequence_start": step == 0,
                    "sequence_end": step + 1 == steps,
                }
                asked = tensors(module, arrays)
                expected = ingot.infer("kept", asked, **options).as_numpy("y")
                found = triton.infer("kept", asked, **options).as_numpy("y")
                same = found.tobytes() == expected.tobytes()
                check(f"{kind}: sequence {name}, step {step}", same)
                again = {**options, "sequence_id": 77 + number, "sequence_start": True}
                again["sequence_end"] = True
                fresh = ingot.infer("kept", asked, **again).as_numpy("y")
                differs += fresh.tobytes() != expected.tobytes()
        check(f"{kind}: the state matters", differs == (steps - 1) * len(names))
        check.refused(
            f"{kind}: a sequence that has not begun, ours",
            lambda: ingot.infer("kept", asked, sequence_id=99),
            "has not begun",
        )
        check.refused(
            f"{kind}: the same, theirs",
            lambda: triton.infer("kept", asked, sequence_id=99),
            "START",
        )


def not_ready(check, theirs):
    triton = tritonclient.http.InferenceServerClient(theirs.urls["http"])
    index = {model["name"]: model for model in triton.get_model_repository_index()}
    for name, text in (
        ("other_type", "data_type TYPE_INT8, expected TYPE_FP32"),
        ("decoupled", "expected one answer to each request"),
        ("no_number", "threads 'two', expected 0 to 57"),
        ("spoilt", "model.ingot"),
    ):
        reason = index[name].get("reason", "")
        check(f"{name} is refused by name: {reason}", text in reason)
        check(f"{name} is not ready", not triton.is_model_ready(name))
    check("the server goes on", triton.is_model_ready("bare"))
    triton.unload_model("bare")
    triton.load_model("bare")
    check("unloaded and loaded again", triton.is_model_ready("bare"))


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--backend", required=True)
    parser.add_argument("--triton", required=True)
    options = parser.parse_args()
    check = ClientChecks("triton_backend")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ingot-backend-"))
    repository = write_repository(options.ingot, folder)
    random = np.random.default_rng(7)
    log = folder / "tritonserver.log"
    try:
        with TritonServer(options.triton, repository, options.backend, log) as theirs:
            with Server(options.ingot, repository) as ours:
                batches(check, theirs, ours, random)
                joined(check, theirs, ours, random)
                sequences(check, theirs, ours, random)
            not_ready(check, theirs)
    except Exception:
        print(log.read_text()[-3000:])
        raise
    if check.failed:
        print(log.read_text()[-3000:])
    shutil.rmtree(folder)
    return check.finish()


if __name__ == "__main__":
    sys.exit(main())
