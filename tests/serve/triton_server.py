#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A real tritonserver, that of nvidia-pytriton, until standard input ends: the digit network in
its Python backend and onnxruntime, for load.py to compare with; or a repository of ours in ours.

  triton_server.py PORT                                        needs nvidia-pytriton, onnxruntime
  triton_server.py PORT --repository DIR --backend LIBRARY"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = """import sys

sys.path.insert(0, PACKAGES)
import numpy as np
import onnxruntime
import triton_python_backend_utils as triton


class TritonPythonModel:
    def initialize(self, arguments):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(MODEL_FILE, options)

    def execute(self, requests):
        inputs = [triton.get_input_tensor_by_name(r, "image").as_numpy() for r in requests]
        rows = self.session.run(["digit"], {"image": np.concatenate(inputs)})[0]
        replies, at = [], 0
        for one in inputs:
            part = triton.Tensor("digit", rows[at : at + len(one)])
            replies.append(triton.InferenceResponse([part]))
            at += len(one)
        return replies
"""
CONFIGURATION = """name: "digits"
backend: "python"
max_batch_size: 8
dynamic_batching { }
instance_group [ { count: 2 kind: KIND_CPU } ]
input [ { name: "image" data_type: TYPE_FP32 dims: [ 1, 28, 28 ] } ]
output [ { name: "digit" data_type: TYPE_FP32 dims: [ 10 ] } ]
"""


def write_digits(folder, packages):
    """Below the folder: the model, and the backend with the program that runs its Python."""
    server = packages / "pytriton" / "tritonserver"
    version = folder / "digits" / "1"
    version.mkdir(parents=True)
    source = repr(str(ROOT / "examples/digits/digits.onnx"))
    model = MODEL.replace("MODEL_FILE", source).replace("PACKAGES", repr(str(packages)))
    (version / "model.py").write_text(model)
    (folder / "digits" / "config.pbtxt").write_text(CONFIGURATION)
    stub = f"{sys.version_info.major}.{sys.version_info.minor}"
    backends = folder / "backends"
    shutil.copytree(server / "backends", backends)
    shutil.copy(
        server / "python_backend_stubs" / stub / "triton_python_backend_stub", backends / "python"
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("port", type=int, help="of HTTP; the next one is gRPC's")
    parser.add_argument("--repository", type=pathlib.Path)
    parser.add_argument("--backend", type=pathlib.Path, help="libtriton_ingot.so")
    options = parser.parse_args()
    port = options.port
    packages = pathlib.Path(sysconfig.get_paths()["purelib"])
    server = packages / "pytriton" / "tritonserver"
    libraries = [str(packages / "nvidia_pytriton.libs"), sysconfig.get_config_var("LIBDIR")]
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ingot-triton-"))
    backends, repository = folder / "backends", options.repository or folder
    if options.backend:
        (backends / "ingot").mkdir(parents=True)
        shutil.copy(options.backend, backends / "ingot")
        names = sorted(path.name for path in repository.iterdir() if path.is_dir())
    else:
        write_digits(folder, packages)
        names = ["digits"]
    process = subprocess.Popen(
        [
            server / "bin" / "tritonserver",
            f"--model-repository={repository}",
            "--model-control-mode=explicit",
            *(f"--load-model={name}" for name in names),
            "--exit-on-error=false",
            "--exit-timeout-secs=3",
            f"--backend-directory={backends}",
            f"--http-port={port}",
            f"--grpc-port={port + 1}",
            f"--metrics-port={port + 2}",
            "--http-address=127.0.0.1",
        ],
        env={
            **os.environ,
            "LD_LIBRARY_PATH": ":".join(libraries),
        },
    )
    try:
        sys.stdin.read()
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
