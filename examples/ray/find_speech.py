#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The speech in a folder of recordings (.wav of 16-bit PCM, 16 kHz, mono), found with Ray Data: a
line of JSON for each recording.

  find_speech.py vad.ingot RECORDINGS OUT.jsonl [--workers N]   needs ray[data], ingot-runtime

vad.ingot is the sequence form of silero-vad (./dev demo converts it). An actor of Ray's opens the
model once; its weights are mapped from the file, so a machine has them once. The number of frames
is a dynamic dimension: one run is a whole recording. The same with examples/speech and no Ray:

  ls RECORDINGS/*.wav |
    xargs -P 4 -I{} sh -c 'find_speech vad.ingot "$1" 1 >"$1.txt"; [ $? -le 6 ]' - {}"""

import argparse
import json
import os
import pathlib
import sys
import wave

import numpy as np
import ray

RATE, FRAME, CONTEXT = 16000, 512, 64


def read_frames(path):
    """Frames of 512 samples, each with the 64 before it."""
    with wave.open(str(path)) as file:
        if (file.getnchannels(), file.getsampwidth(), file.getframerate()) != (1, 2, RATE):
            raise ValueError(f"{path}: expected 16-bit PCM, one channel, 16 kHz")
        samples = np.frombuffer(file.readframes(file.getnframes()), dtype="<i2")
    count = -(-len(samples) // FRAME)
    padded = np.zeros(CONTEXT + count * FRAME, np.float32)
    padded[CONTEXT : CONTEXT + len(samples)] = samples / np.float32(32768)
    windows = np.lib.stride_tricks.sliding_window_view(padded, CONTEXT + FRAME)
    return np.ascontiguousarray(windows[::FRAME])


def stretches(probabilities):
    """Seconds of each stretch: it begins above 0.5 and ends below 0.35, lasts a quarter of a
    second at least, and gaps under a fifth are closed."""
    found, inside, seconds = [], False, FRAME / RATE
    for i, probability in enumerate(probabilities):
        if not inside and probability >= 0.5:
            begin = i * seconds
            if found and begin - found[-1][1] < 0.2:
                found[-1][1] = begin
            else:
                found.append([begin, begin])
            inside = True
        if inside:
            if probability < 0.35:
                inside = False
            else:
                found[-1][1] = (i + 1) * seconds
    return [each for each in found if each[1] - each[0] >= 0.25]


class FindSpeech:
    """Of a process of Ray's: the model is opened once, the session is bound to each recording."""

    def __init__(self, model):
        import ingot

        self.model = ingot.Model(model)
        self.dimension = self.model.symbols[0].name

    def __call__(self, row):
        frames = read_frames(row["item"])
        zeros = np.zeros(self.model.inputs[1].shape, np.float32)
        inputs = {"input": frames, "h": zeros, "c": zeros}
        bindings = {self.dimension: len(frames)}
        with self.model.session("cpu", threads=1, bindings=bindings) as session:
            probabilities = session.run(inputs)["speech_probs"].ravel()
        return {
            "recording": row["item"],
            "speech": json.dumps(stretches(probabilities)),
            "probabilities": probabilities.tobytes().hex(),
            "process": os.getpid(),
        }


def find_speech(model, recordings, workers):
    """Rows in the order of the recordings' names."""
    paths = sorted(str(path) for path in pathlib.Path(recordings).glob("*.wav"))
    blocks = max(1, min(len(paths), 4 * workers))
    found = ray.data.from_items(paths, override_num_blocks=blocks).map(
        FindSpeech, fn_constructor_kwargs={"model": str(model)}, concurrency=workers, num_cpus=1
    )
    return sorted(found.take_all(), key=lambda row: row["recording"])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("recordings")
    parser.add_argument("out")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    options = parser.parse_args()
    # one more than the actors: Ray Data wants a processor to read with
    ray.init(num_cpus=options.workers + 1, include_dashboard=False, log_to_driver=False)
    rows = find_speech(os.path.abspath(options.model), options.recordings, options.workers)
    with open(options.out, "w") as out:
        for row in rows:
            speech = json.loads(row["speech"])
            out.write(json.dumps({"recording": row["recording"], "speech": speech}) + "\n")
    print(f"{len(rows)} recordings")
    return 0


if __name__ == "__main__":
    sys.exit(main())
