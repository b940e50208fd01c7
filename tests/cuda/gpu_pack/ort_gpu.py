#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""p50 and p99 of networks in onnxruntime on a GPU, with TensorRT where it is there, from host to
host; for beside the figures of PACK/run.

  ort_gpu.py MODEL.onnx...
"""

import pathlib
import sys
import time


def main():
    try:
        import numpy as np
        import onnxruntime as ort
    except ImportError as error:
        print(f"[skip] onnxruntime on a GPU: {error}")
        return
    providers = [
        p
        for p in ("TensorrtExecutionProvider", "CUDAExecutionProvider")
        if p in ort.get_available_providers()
    ]
    if not providers:
        print(f"[skip] onnxruntime {ort.__version__} here has no GPU's provider")
        return
    for path in map(pathlib.Path, sys.argv[1:]):
        for provider in providers:
            try:
                session = ort.InferenceSession(str(path), providers=[provider])
                feed = {
                    i.name: np.random.default_rng(3)
                    .standard_normal([d if isinstance(d, int) else 1 for d in i.shape])
                    .astype(np.float32)
                    for i in session.get_inputs()
                }
                times = []
                end = time.monotonic() + 1.5
                while time.monotonic() < end or len(times) < 20:
                    began = time.perf_counter()
                    session.run(None, feed)
                    times.append(time.perf_counter() - began)
            except Exception as error:  # whatever a provider raises is what is reported
                print(f"[skip] {path.stem}, {provider}: {str(error).splitlines()[0][:200]}")
                continue
            times = sorted(times[10:])
            print(
                f"{path.stem}, {provider} of {session.get_providers()[0]}: p50 "
                f"{times[len(times) // 2] * 1e3:.3f} ms, "
                f"p99 {times[-len(times) // 100] * 1e3:.3f} ms"
            )


main()
