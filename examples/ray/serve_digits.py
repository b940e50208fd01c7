#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ray Serve: images of 28 x 28 bytes come by HTTP, and the digit goes back as JSON.

  serve_digits.py digits.ingot [--replicas N] [--port P]      needs ray[serve], ingot-runtime
  tail -c 784 image.pgm | curl --data-binary @- localhost:8000/digits

Each replica has a session; the weights are mapped from the file, so a machine has them once. Ray
gives a replica several requests at once where they wait for something; a session is one run at a
time, and here one request is. `ingot serve` (docs/serve.md) does this without Python and joins
requests."""

import argparse
import os
import sys
import threading

import numpy as np
import ray
from ray import serve
from starlette.requests import Request
from starlette.responses import JSONResponse


@serve.deployment(max_ongoing_requests=1, ray_actor_options={"num_cpus": 0.5})
class Digits:
    def __init__(self, model: str):
        import ingot

        self.session = ingot.Model(model).session("cpu", threads=1, bindings={"n": 1})

    async def __call__(self, request: Request):
        body = await request.body()
        if len(body) != 784:
            return JSONResponse({"error": f"{len(body)} bytes, expected 28 x 28"}, status_code=400)
        image = np.frombuffer(body, np.uint8).astype(np.float32).reshape(1, 1, 28, 28) / 255
        scores = self.session.run({"image": image})["digit"][0]
        return {"digit": int(np.argmax(scores)), "scores": scores.tobytes().hex()}


def begin(model, replicas, port):
    """Replicas that are there when it comes back; it is ended by serve.shutdown()."""
    serve.start(http_options={"host": "127.0.0.1", "port": port})
    deployment = Digits.options(num_replicas=replicas).bind(os.path.abspath(model))
    serve.run(deployment, name="digits", route_prefix="/digits")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    ray.init(include_dashboard=False, log_to_driver=False)
    begin(options.model, options.replicas, options.port)
    print("ready", flush=True)
    threading.Event().wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
