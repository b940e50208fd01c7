# SPDX-License-Identifier: Apache-2.0
"""Both runtimes: onnxruntime in this process, ingot's graph_runner beside it."""

import pathlib
import select
import subprocess

import numpy as np
import onnxruntime

onnxruntime.set_default_logger_severity(4)
PATIENCE = 60  # seconds; the graphs take milliseconds


class Refused(Exception):
    """Exit code and text of what a runtime did not take; a signal's number is negative."""

    def __init__(self, code, text):
        super().__init__(f"{code} {text}")
        self.code, self.text = code, text


def plain_session(model):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


class Peer:
    """@raises Refused where onnxruntime does not take the model."""

    def __init__(self, model):
        try:
            self.session = plain_session(model)
        except Exception as error:
            raise Refused(1, str(error)) from error
        self.names = [o.name for o in self.session.get_outputs()]

    def run(self, fed):
        try:
            return dict(zip(self.names, self.session.run(None, fed)))
        except Exception as error:
            raise Refused(1, str(error)) from error


class Runner:
    """One process of graph_runner, started again where a graph ended it."""

    def __init__(self, program, work):
        self.program, self.work, self.process = program, pathlib.Path(work), None
        self.work.mkdir(parents=True, exist_ok=True)

    def ask(self, *words):
        if self.process is None:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            self.process = subprocess.Popen([str(self.program)], **pipes, stderr=subprocess.DEVNULL)
        self.process.stdin.write("\t".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        line = self.process.stdout.readline() if ready else ""
        if not line:
            self.process.kill()
            code = self.process.wait()
            self.process = None
            raise Refused(code if ready else -9, "the process ended" if ready else "no answer")
        answer = line.rstrip("\n").split("\t")
        if answer[0] != "ok":
            code, text = line.strip().split(" ", 1)
            raise Refused(int(code), text)
        return answer[1:]

    def convert(self, model, options=()):
        source = self.work / "model.onnx"
        source.write_bytes(model.SerializeToString())
        self.ask("convert", source, self.work / "model.ingot", *options)

    def run(self, fed):
        given, made = self.work / "in.npz", self.work / "out.npz"
        np.savez(given, **fed)
        self.ask("run", self.work / "model.ingot", given, made)
        with np.load(made, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}

    def close(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None
