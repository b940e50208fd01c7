#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples/ray/serve_digits.py with 2 replicas: answers over HTTP have the bits of one process,
from many clients at once; a body of another size is refused and the next is answered.

  serve_test.py --model digits.ingot                            needs ray[serve], ingot-runtime"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import socket
import sys
import urllib.error
import urllib.request

import ingot
import numpy as np
import ray
from ray import serve

EXAMPLE = str(pathlib.Path(__file__).resolve().parents[2] / "examples/ray")
sys.path.insert(0, EXAMPLE)
os.environ["PYTHONPATH"] = f"{EXAMPLE}:{os.environ.get('PYTHONPATH', '')}"  # of the replicas
import serve_digits as example  # noqa: E402

REQUESTS = 400


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", required=True)
    options = parser.parse_args()
    images = np.random.default_rng(7).integers(0, 256, (REQUESTS, 784), dtype=np.uint8)
    session = ingot.Model(options.model).session("cpu", threads=1, bindings={"n": 1})
    expected = [
        session.run({"image": image.astype(np.float32).reshape(1, 1, 28, 28) / 255})["digit"][0]
        for image in images
    ]
    port = free_port()
    url = f"http://127.0.0.1:{port}/digits"

    def ask(body):
        with urllib.request.urlopen(url, data=body, timeout=60) as answer:
            return json.load(answer)

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    example.begin(options.model, 2, port)
    with concurrent.futures.ThreadPoolExecutor(8) as clients:
        answers = list(clients.map(ask, (image.tobytes() for image in images)))
    try:
        ask(b"x" * 783)
        refused = ""
    except urllib.error.HTTPError as error:
        refused = f"{error.code} {error.read().decode()}"
    again = ask(images[0].tobytes())
    serve.shutdown()
    ray.shutdown()
    checks = {
        f"{REQUESTS} requests of 8 clients: the bits of one process": [
            answer["scores"] for answer in answers
        ]
        == [scores.tobytes().hex() for scores in expected],
        "another size is refused by name": refused.startswith("400") and "28 x 28" in refused,
        "the next is answered": again == answers[0],
    }
    for text, holds in checks.items():
        print(f"{text}: {holds}")
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
