#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls of the published client of Triton (tritonclient), unchanged, against `ingot serve`:
health, metadata, configuration, inference with binary and JSON tensors, asynchronous, by shared
memory, statistics, the repository's index, load and unload, deadlines, errors. Every answer is
compared with that of `ingot run`, bit for bit.

  triton_client.py --ingot BINARY [--grpc]

Needs numpy and tritonclient[http,grpc]."""

import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import Checks, Ingot, ingot_parser, run  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Server:
    """`ingot serve` on free ports, until the block ends."""

    def __init__(self, ingot, repository, *options):
        self.process = subprocess.Popen(
            [ingot, "serve", str(repository), "--http-port", "0", "--grpc-port", "0", *options],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.urls = {}

    def __enter__(self):
        for line in self.process.stdout:
            if line.strip() == "ready":
                return self
            kind, _, address = line.strip().partition("://")
            self.urls[kind] = address
        raise SystemExit(f"the server ended: {self.process.wait()}")

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.status = self.process.wait(timeout=60)


def expected_outputs(ingot, file, inputs, folder):
    one = Ingot(ingot, folder)
    one.file = file
    return one.outputs(inputs)


class ClientChecks(Checks):
    def __call__(self, what, is_right):
        self.check(is_right, what)

    def refused(self, what, call, *texts):
        try:
            call()
        except Exception as error:  # the client's own type
            said = str(error)
            self(f"{what}: says {said[:160]}", all(text in said for text in texts))
            return
        self(f"{what}: was taken", False)


def tensors(client, inputs, **options):
    made = []
    for name, array in inputs.items():
        tensor = client.InferInput(name, array.shape, client_type(array))
        tensor.set_data_from_numpy(array, **options)
        made.append(tensor)
    return made


def client_type(array):
    return {"float32": "FP32", "int64": "INT64", "uint8": "UINT8"}[str(array.dtype)]


def shared_memory(check, triton, client, image, expected):
    import tritonclient.utils.shared_memory as shm

    source = shm.create_shared_memory_region("source", "/ingot_serve_in", image.nbytes)
    target = shm.create_shared_memory_region("target", "/ingot_serve_out", expected.nbytes)
    try:
        shm.set_shared_memory_region(source, [image])
        client.register_system_shared_memory("source", "/ingot_serve_in", image.nbytes)
        client.register_system_shared_memory("target", "/ingot_serve_out", expected.nbytes)
        check("regions are listed", len(regions_of(client)) == 2)
        tensor = triton.InferInput("image", image.shape, "FP32")
        tensor.set_shared_memory("source", image.nbytes)
        output = triton.InferRequestedOutput("digit")
        output.set_shared_memory("target", expected.nbytes)
        result = client.infer("digits", [tensor], outputs=[output])
        shape = shape_of(result.get_output("digit"))
        got = shm.get_contents_as_numpy(target, np.float32, shape)
        check("shared memory: the bits of run", np.array_equal(got, expected))
        tensor.set_shared_memory("source", image.nbytes, offset=4)
        check.refused(
            "beyond a region's end", lambda: client.infer("digits", [tensor]), "pass its end"
        )
        client.unregister_system_shared_memory("source")
        tensor.set_shared_memory("source", image.nbytes)
        check.refused(
            "a region that is no more", lambda: client.infer("digits", [tensor]), "not registered"
        )
        check.refused(
            "a region of no object",
            lambda: client.register_system_shared_memory("none", "/ingot_no_such", 64),
            "cannot be opened",
        )
        client.unregister_system_shared_memory()
        check("no region is left", len(regions_of(client)) == 0)
    finally:
        shm.destroy_shared_memory_region(source)
        shm.destroy_shared_memory_region(target)


def regions_of(client):
    status = client.get_system_shared_memory_status()
    return status.regions if hasattr(status, "regions") else status


def shape_of(output):
    return list(output.shape) if hasattr(output, "shape") else output["shape"]


def as_json(reply):
    """A reply of either client as the dictionary that HTTP gives."""
    if isinstance(reply, (dict, list)):
        return reply
    from google.protobuf import json_format

    return json_format.MessageToDict(reply, preserving_proto_field_name=True)


def calls(check, triton, url, models, file, ingot, folder):
    """What both protocols have."""
    client = triton.InferenceServerClient(url)
    rng = np.random.default_rng(5)
    check("live", client.is_server_live())
    check("ready", client.is_server_ready())
    check("the model is ready", client.is_model_ready("digits"))
    check("metadata", as_json(client.get_server_metadata())["name"] == "ingot")
    metadata = as_json(client.get_model_metadata("digits"))
    check("inputs", metadata["inputs"][0]["name"] == "image")
    check("shape", [int(d) for d in metadata["inputs"][0]["shape"]] == [-1, 1, 28, 28])
    config = as_json(client.get_model_config("digits"))
    config = config.get("config", config)
    check("configuration", int(config["max_batch_size"]) == 8)
    for rows in (1, 2, 8):
        image = rng.standard_normal((rows, 1, 28, 28)).astype(np.float32)
        expected = expected_outputs(ingot, file, {"image": image}, folder)["digit"]
        got = client.infer("digits", tensors(triton, {"image": image})).as_numpy("digit")
        check(f"{rows} rows: the bits of run", np.array_equal(got, expected))
    output = triton.InferRequestedOutput("digit")
    result = client.infer(
        "digits", tensors(triton, {"image": image}), outputs=[output], request_id="seven"
    )
    response = as_json(result.get_response())
    check("id", response["id"] == "seven")
    check("an output by name", np.array_equal(result.as_numpy("digit"), expected))
    check(
        "version",
        client.infer("digits", tensors(triton, {"image": image}), model_version="1") is not None,
    )
    check.refused(
        "another version",
        lambda: client.infer("digits", tensors(triton, {"image": image}), model_version="7"),
        "version 7 is not served",
    )
    check.refused(
        "another model", lambda: client.get_model_metadata("letters"), "'letters' is unknown"
    )
    wide = np.zeros((1, 1, 28, 29), np.float32)
    check.refused(
        "another shape",
        lambda: client.infer("digits", tensors(triton, {"image": wide})),
        "[1,1,28,29]",
    )
    check.refused(
        "another name",
        lambda: client.infer("digits", tensors(triton, {"photo": image})),
        "'photo'",
        "'image'",
    )
    integers = image.astype(np.int64)
    check.refused(
        "another type",
        lambda: client.infer("digits", tensors(triton, {"image": integers})),
        "INT64",
        "FP32",
    )
    many = np.zeros((9, 1, 28, 28), np.float32)
    check.refused(
        "too many rows", lambda: client.infer("digits", tensors(triton, {"image": many})), "1 to 8"
    )
    check.refused(
        "a deadline that passes",
        lambda: [
            client.infer("digits", tensors(triton, {"image": image}), timeout=1) for _ in range(200)
        ],
        "time",
    )
    statistics = as_json(client.get_inference_statistics("digits"))["model_stats"][0]
    check("statistics", int(statistics["inference_stats"]["success"]["count"]) >= 4)
    shared_memory(check, triton, client, image, expected)
    index = as_json(client.get_model_repository_index())
    index = index.get("models", index) if isinstance(index, dict) else index
    check("index", index[0]["name"] == "digits" and index[0]["state"] == "READY")
    run(ingot, "registry", "add", file, "digits", "--root", models, "--tag", "next").succeeded()
    client.load_model("digits")
    check("version 2 is served", client.is_model_ready("digits", "2"))
    check("by its tag too", client.is_model_ready("digits", "next"))
    client.unload_model("digits")
    check("unloaded", not client.is_model_ready("digits"))
    check.refused(
        "of a model that is unloaded",
        lambda: client.infer("digits", tensors(triton, {"image": image})),
        "unloaded",
    )
    client.load_model("digits")
    check("loaded again", client.is_model_ready("digits"))
    check.refused("a name that is hidden", lambda: client.load_model(".changes"), "unknown")
    check.refused("a model without files", lambda: client.load_model("letters"), "no such folder")
    return client, image, expected


def http_calls(check, url, image, expected):
    """What is of HTTP alone."""
    import tritonclient.http as triton

    client = triton.InferenceServerClient(url, concurrency=4)
    plain = triton.InferRequestedOutput("digit", binary_data=False)
    result = client.infer(
        "digits", tensors(triton, {"image": image}, binary_data=False), outputs=[plain]
    )
    check("JSON both ways: the bits of run", np.array_equal(result.as_numpy("digit"), expected))
    waiting = [client.async_infer("digits", tensors(triton, {"image": image})) for _ in range(16)]
    check(
        "asynchronous",
        all(np.array_equal(w.get_result().as_numpy("digit"), expected) for w in waiting),
    )
    for algorithm in ("gzip", "deflate"):
        packed = client.infer(
            "digits", tensors(triton, {"image": image}), request_compression_algorithm=algorithm
        )
        check(f"{algorithm}: the bits of run", np.array_equal(packed.as_numpy("digit"), expected))
        for outputs in ([plain], None):
            packed = client.infer(
                "digits",
                tensors(triton, {"image": image}),
                outputs=outputs,
                response_compression_algorithm=algorithm,
            )
            check(
                f"an answer by {algorithm}, {'JSON' if outputs else 'bytes'}: the bits of run",
                np.array_equal(packed.as_numpy("digit"), expected),
            )


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--grpc", action="store_true", help="the calls over gRPC too")
    arguments = parser.parse_args()
    import tritonclient.http

    folder = pathlib.Path(tempfile.mkdtemp(prefix="ingot-serve-"))
    check = ClientChecks("tritonclient")
    kinds = ["http"]
    if arguments.grpc:
        import tritonclient.grpc

        kinds.append("grpc")
    for kind in kinds:
        models = folder / kind
        file = folder / "digits.ingot"
        run(
            arguments.ingot, "convert", ROOT / "examples/digits/digits.onnx", "-o", file
        ).succeeded()
        run(arguments.ingot, "registry", "add", file, "digits", "--root", models).succeeded()
        triton = tritonclient.http if kind == "http" else tritonclient.grpc
        server = Server(arguments.ingot, models, "--shared-memory")
        with server:
            _, image, expected = calls(
                check, triton, server.urls[kind], models, file, arguments.ingot, folder
            )
            if kind == "http":
                http_calls(check, server.urls[kind], image, expected)
        check(f"{kind}: ends with 0", server.status == 0)
    shutil.rmtree(folder)
    return check.finish()


if __name__ == "__main__":
    sys.exit(main())
