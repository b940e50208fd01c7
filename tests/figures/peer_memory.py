#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What one network takes in another runtime, one thread, in a process of its own; prints JSON.

  peer_memory.py onnxruntime|litert MODEL INPUTS.npz

resident_mb  the most that was resident (VmHWM) from before the model is opened until it has run
three times, less what was resident
             (VmRSS) when the runtime was imported and the inputs were read
arena_bytes  onnxruntime: "Total allocated bytes" as its log says it, all that its arena took from
the system: activations and what kernels
             asked for; weights lie elsewhere unless it packed them anew
"""

import json
import os
import pathlib
import re
import sys
import tempfile

import numpy as np

RUNS = 3


def status_mb(name):
    return (
        int(
            re.search(
                rf"^{name}:\s+(\d+) kB", pathlib.Path("/proc/self/status").read_text(), re.M
            ).group(1)
        )
        * 1024
        / 1e6
    )


class Log:
    """What goes to standard error meanwhile, in a file, since a library writes it."""

    def __enter__(self):
        self.file, self.kept = tempfile.TemporaryFile(), os.dup(2)
        os.dup2(self.file.fileno(), 2)
        return self

    def __exit__(self, *_):
        os.dup2(self.kept, 2)
        self.file.seek(0)
        self.text = self.file.read().decode(errors="replace")


def open_onnxruntime(path):
    import onnxruntime

    onnxruntime.set_default_logger_severity(1)

    def start(inputs):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = 1, 3
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        feeds = {i.name: inputs[i.name] for i in session.get_inputs()}
        return lambda: session.run(None, feeds)

    return start


def open_litert(path):
    from ai_edge_litert.interpreter import Interpreter

    def start(inputs):
        interpreter = Interpreter(model_path=path, num_threads=1)
        interpreter.allocate_tensors()
        arrays = list(inputs.values())
        for port in interpreter.get_input_details():
            # Names differ between the two exports, and images are written channels last: dims say
            # which is meant.
            fits = [a for a in arrays if sorted(a.shape) == sorted(port["shape"])]
            interpreter.set_tensor(port["index"], fits[0].reshape(port["shape"]))
        return interpreter.invoke

    return start


def main():
    runtime, path, inputs = sys.argv[1:]
    start = {"onnxruntime": open_onnxruntime, "litert": open_litert}[runtime](path)
    arrays = {name: np.array(array) for name, array in np.load(inputs).items()}
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # the peak counts anew
    before = status_mb("VmRSS")
    with Log() as log:
        run = start(arrays)
        for _ in range(RUNS):
            run()
        peak = status_mb("VmHWM")
    totals = [int(n) for n in re.findall(r"Total allocated bytes: (\d+)", log.text)]
    print(
        json.dumps({"resident_mb": peak - before, "arena_bytes": max(totals) if totals else None})
    )


main()
