#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Piper's voices with random weights (VITS: a text encoder with relative attention, a stochastic
duration predictor of splines, flows and a HiFi-GAN decoder), as Piper exports them, against
onnxruntime: with scales of noise of 0 the same length and numbers, with noise given as inputs the
same too, and with noise that is drawn the same bits for a seed.

  vits.py --ingot PATH --work DIR [--only VOICE ...]

Needs torch, onnx, onnxruntime and piper-tts, which has the network and its export. Voices that are
in the folder are not exported again."""

import functools
import hashlib
import importlib.util
import logging
import pathlib
import re
import struct
import sys
import time
import types
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import Checks, Ingot, RunError, ingot_parser, largest_error  # noqa: E402

NEEDED = ("numpy", "torch", "onnx", "onnxruntime", "piper.train")
TOLERANCE = 1e-4  # of the largest number: tools/diagnose/golden/tolerance.h
SYMBOLS = 256
PHONEMES = 120  # at most
FRAMES = 1024  # at most, of 256 samples
NOISE = (0.667, 1.0, 0.8)  # Piper's own: noise, length, noise of durations
LENGTHS = (0.8, 1.0, 1.3)
DRAWS = 8

# Of Piper's configuration: the decoder, speakers, sizes that are not the usual ones; the counts
# of phonemes that are run.
X_LOW = {"hidden_channels": 96, "inter_channels": 96, "filter_channels": 384}
VOICES = {
    "x_low": ("low_quality", 1, X_LOW, (5, 37, PHONEMES)),
    "medium": ("low_quality", 1, {}, (5, 37, PHONEMES)),
    "medium_4_speakers": ("low_quality", 4, {}, (5, 37, PHONEMES)),
    "high": ("high_quality", 1, {}, (5, 37)),
}


def log_frames(network):
    """Logarithms of the frames of phonemes drawn at random."""
    import torch

    symbols, count = torch.randint(0, SYMBOLS, (1, 400)), torch.tensor([400])
    hidden, _, _, mask = network.enc_p(symbols, count)
    speaker = torch.tensor([0])
    g = network.emb_g(speaker).unsqueeze(-1) if network.n_speakers > 1 else None
    return network.dp(hidden, mask, g=g, reverse=True, noise_scale=NOISE[2])


def synthesizer(name):
    """Weights that training would start from are zero in the splines and flows, and all but silent
    in the decoder: these are drawn larger, and scaled to some 3 frames a phoneme and audible
    samples."""
    import torch
    from piper.train.vits.config import ModelAudioConfig, ModelConfig
    from piper.train.vits.models import SynthesizerTrn

    quality, speakers, sizes, _ = VOICES[name]
    c = ModelConfig(SYMBOLS, speakers, getattr(ModelAudioConfig, quality)(), **sizes)
    shared = "inter_channels hidden_channels filter_channels n_heads n_layers kernel_size p_dropout"
    audio = (
        "resblock resblock_kernel_sizes resblock_dilation_sizes upsample_rates "
        "upsample_initial_channel upsample_kernel_sizes"
    )
    rest = "n_speakers gin_channels use_sdp"
    torch.manual_seed(sum(name.encode()))
    network = SynthesizerTrn(
        n_vocab=SYMBOLS,
        spec_channels=c.mel.filter_length // 2 + 1,
        segment_size=c.segment_size // c.mel.hop_length,
        **{key: getattr(c, key) for key in f"{shared} {audio} {rest}".split()},
    )
    network.eval()
    with torch.no_grad():
        for key, weight in network.named_parameters():
            if not weight.any():
                weight.normal_(0, 0.3 if key.startswith("dp.flows") else 0.03)
        of_durations = network.dp.flows[0]
        of_durations.m.zero_(), of_durations.logs.zero_()
        frames = log_frames(network)
        of_durations.logs[0] = (frames.std() / 0.6).log()
        of_durations.m[0] = frames.mean() - frames.std() / 0.6
        for layer, rate in zip(network.dec.ups, c.upsample_rates):
            inputs, _, taps = layer.weight_v.shape
            layer.weight_g *= 140 / (inputs * taps / rate) ** 0.5
    return network


def export(name, path):
    """By Piper's own exporter, which asks a class of its training for a checkpoint."""
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network = synthesizer(name)
    loaded = types.SimpleNamespace(model_g=network)
    training = types.ModuleType("piper.train.vits.lightning")
    training.VitsModel = None
    sys.modules[training.__name__] = training
    from piper.train import export_onnx

    export_onnx.VitsModel = types.SimpleNamespace(load_from_checkpoint=lambda *_, **__: loaded)
    kept, arguments = torch.onnx.export, sys.argv
    torch.onnx.export = functools.partial(kept, dynamo=False)  # torch.export refuses the splines
    part = path.with_suffix(".part")
    sys.argv = ["export_onnx", "--checkpoint", "none", "--output-file", str(part)]
    logging.basicConfig(level=logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            export_onnx.main()
    finally:
        torch.onnx.export, sys.argv = kept, arguments
    part.rename(path)


def with_noise_as_inputs(source, path):
    """The same network, whose two draws are the inputs `noise_w` and the first of `noise`."""
    import onnx
    from onnx import TensorProto, helper

    model = onnx.load(source)
    graph = model.graph
    of_durations, of_frames = [n for n in graph.node if n.op_type == "RandomNormalLike"]
    channels = next(
        t.dims[0] // 2 for t in graph.initializer if t.name.endswith("enc_p.proj.weight")
    )
    for node, dims in ((of_durations, [1, 2, "phonemes"]), (of_frames, [1, channels, FRAMES])):
        like, drawn = node.input[0], node.output[0]
        made = [helper.make_node("Identity", ["noise_w"], [drawn])]
        if node is of_frames:
            made = [
                helper.make_node("Shape", [like], ["frames"], start=2, end=3),
                helper.make_node("Constant", [], ["first"], value_ints=[0]),
                helper.make_node("Constant", [], ["axis"], value_ints=[2]),
                helper.make_node("Slice", ["noise", "first", "frames", "axis"], [drawn]),
            ]
        at = list(graph.node).index(node)
        graph.node.remove(node)
        for i, new in enumerate(made):
            graph.node.insert(at + i, new)
        port = "noise" if node is of_frames else "noise_w"
        graph.input.append(helper.make_tensor_value_info(port, TensorProto.FLOAT, dims))
    onnx.save(model, path)
    return channels


def seeded(state, seed, path):
    """A file of state that begins at `seed` (docs/state.md, "The file")."""
    data = state.read_bytes()[: -32 - 16] + struct.pack("<qq", seed, 0)  # its one variable
    path.write_bytes(data + hashlib.sha256(data).digest())
    return path


class Voice:
    """One of VOICES, exported; `peer` is onnxruntime's session of it."""

    def __init__(self, ingot, work, name):
        import numpy as np

        self.name, self.work = name, work
        self.ingot = Ingot(ingot, work)
        self.source = work / f"{name}.onnx"
        self.rng = np.random.default_rng(1)
        if not self.source.exists():
            export(name, self.source)
        self.peer = self.session(self.source)

    @staticmethod
    def session(path):
        import onnxruntime

        onnxruntime.set_seed(1)  # a session's draws begin with it
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def fed(self, phonemes, scales):
        import numpy as np

        fed = {
            "input": self.rng.integers(0, SYMBOLS, (1, phonemes)),
            "input_lengths": np.array([phonemes]),
            "scales": np.array(scales, np.float32),
        }
        speakers = VOICES[self.name][1]
        if speakers > 1:
            fed["sid"] = self.rng.integers(0, speakers, 1)
        return fed

    def audio(self, fed, *options, **extra):
        return self.ingot.outputs(fed, *options, **extra)["output"]


def difference(found, wanted):
    """What is wrong, or ""; silence is wrong too."""
    if found.shape != wanted.shape:
        return f"shape {found.shape}, onnxruntime has {wanted.shape}"
    if not wanted.std() > 0.02:
        return f"samples spread by {wanted.std():.2g}: the weights say nothing"
    error = largest_error(found, wanted, 1e-30)
    return "" if error <= TOLERANCE else f"differs by {error:.2g} of the largest sample"


def without_noise(checks, voice):
    """@return the largest difference, and samples in all"""
    worst, samples = 0.0, 0
    for phonemes in VOICES[voice.name][3]:
        for length in LENGTHS:
            what = f"{voice.name}, {phonemes} phonemes, length {length}"
            fed = voice.fed(phonemes, (0, length, 0))
            wanted = voice.peer.run(None, fed)[0]
            found = voice.audio(fed, "--threads", 1)
            if checks.report(what, difference(found, wanted)):
                worst = max(worst, largest_error(found, wanted, 1e-30))
            samples += wanted.size
            for threads in (2, 3):
                again = voice.audio(fed, "--threads", threads)
                checks.check(same(found, again), f"{what}, {threads} threads: other bits")
    return worst, samples


def same(a, b):
    return a.shape == b.shape and a.tobytes() == b.tobytes()


def with_given_noise(checks, voice):
    """@return the largest difference"""
    import numpy as np

    path = voice.source.with_suffix(".noise.onnx")
    channels = with_noise_as_inputs(voice.source, path)
    peer = voice.session(path)
    voice.ingot.convert(path, "-q", "--max-elements", FRAMES).succeeded()
    worst = 0.0
    for phonemes in VOICES[voice.name][3]:
        fed = voice.fed(phonemes, NOISE)
        fed["noise_w"] = voice.rng.normal(0, 1, (1, 2, phonemes)).astype(np.float32)
        fed["noise_w"][..., ::4] = -8  # beyond the splines, which end at 5
        fed["noise"] = voice.rng.normal(0, 1, (1, channels, FRAMES)).astype(np.float32)
        wanted, found = peer.run(None, fed)[0], voice.audio(fed)
        if checks.report(
            f"{voice.name}, {phonemes} phonemes, noise given", difference(found, wanted)
        ):
            worst = max(worst, largest_error(found, wanted, 1e-30))
    path.unlink()
    return worst


def with_drawn_noise(checks, voice):
    import numpy as np

    name, fed = voice.name, voice.fed(37, NOISE)
    state = voice.work / "voice.state"
    state.unlink(missing_ok=True)
    fresh = voice.audio(fed, state=state)
    second = voice.audio(fed, state=state)  # goes on with what the first left
    checks.check(same(fresh, voice.audio(fed)), f"{name}: two fresh runs differ")
    checks.check(not same(fresh, second), f"{name}: a second run has the first one's noise")
    found = []
    for seed in range(DRAWS):
        at = seeded(state, seed, voice.work / "seed.state")
        found.append(voice.audio(fed, "--load-state", at, "--threads", 1))
        again = voice.audio(fed, "--load-state", at, "--threads", 2)
        checks.check(same(found[-1], again), f"{name}, seed {seed}: two runs differ")
    checks.check(same(fresh, found[0]), f"{name}: seed 0 is not a fresh run's")
    checks.check(len({a.tobytes() for a in found}) == DRAWS, f"{name}: seeds with the same samples")
    wanted = [voice.peer.run(None, fed)[0] for _ in range(DRAWS)]
    lengths = [np.array([a.size for a in audio]) for audio in (found, wanted)]
    apart = abs(lengths[0].mean() - lengths[1].mean())
    by_chance = sum(a.var(ddof=1) / DRAWS for a in lengths) ** 0.5
    means = [int(a.mean()) for a in lengths]
    checks.check(apart <= 4 * by_chance, f"{name}: mean lengths {means}, {by_chance:.0f} by chance")
    loudness = [np.concatenate([a.ravel() for a in audio]).std() for audio in (found, wanted)]
    checks.check(0.9 < loudness[0] / loudness[1] < 1.1, f"{name}: samples spread by {loudness}")
    return means


def convert_as_told(checks, voice):
    """Without a bound of the frames the converter names the option, and a run past it fails."""
    name, bounds = voice.name, ("--dim", "batch_size=1", "--dim", f"phonemes=1..{PHONEMES}")
    done = voice.ingot.convert(voice.source, bounds)
    checks.report(f"{name}: no bound", done.refusal(4, "--max-elements"))
    told = re.search(r"--dim '([^']+)=1\.\.", done.stderr)
    if not checks.check(told, f"{name}: no --dim is named", done.output):
        raise RunError(done.output)
    frames = told[1]
    voice.ingot.convert(voice.source, "-q", bounds, "--dim", f"{frames}=1..8").succeeded()
    try:
        found = voice.audio(voice.fed(PHONEMES, (0, 1, 0)))
        checks.check(False, f"{name}: {found.size} samples in 8 frames")
    except RunError as error:
        checks.check("beyond its bound" in str(error), f"{name}: past the bound", error)
    done = voice.ingot.convert(voice.source, bounds, "--dim", f"{frames}=1..{FRAMES}").succeeded()
    checks.check("random_state" in done.output, f"{name}: no note of its noise", done.output)


def compare(checks, voice):
    began = time.monotonic()
    given = with_given_noise(checks, voice)
    convert_as_told(checks, voice)
    worst, samples = without_noise(checks, voice)
    means = with_drawn_noise(checks, voice)
    print(
        f"{voice.name}: {voice.source.stat().st_size / 1e6:.0f} MB, {samples:,} samples; differs "
        f"by {worst:.1e} without noise, {given:.1e} with given noise; mean length with drawn noise "
        f"{means[0]:,}, onnxruntime's {means[1]:,}; {time.monotonic() - began:.0f} s",
        flush=True,
    )


def is_here(package):
    try:
        return importlib.util.find_spec(package) is not None
    except ImportError:
        return False


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--only", nargs="+", choices=VOICES, metavar="VOICE")
    a = parser.parse_args()
    a.work.mkdir(parents=True, exist_ok=True)
    checks = Checks("vits")
    missing = [package for package in NEEDED if not is_here(package)]
    if missing:
        checks.skip(f"no voice was made: {', '.join(missing)} not to be had")
        return checks.finish()
    for name in a.only or VOICES:
        try:
            compare(checks, Voice(a.ingot, a.work, name))
        except RunError as error:
            checks.check(False, name, error)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
