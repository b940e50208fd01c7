#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples/ray/find_speech.py with 2 actors: every recording once, the bits of one process, and the
stretches of examples/speech, which xargs runs.

  recordings_test.py --model vad.ingot --find-speech PROGRAM [--recordings N]
                                                  needs ray[data], ingot-runtime, espeak-ng"""

import json
import os
import pathlib
import re
import subprocess
import sys
import wave

import numpy as np
import ray

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import text_parser, work_folder  # noqa: E402

EXAMPLE = str(pathlib.Path(__file__).resolve().parents[2] / "examples/ray")
sys.path.insert(0, EXAMPLE)
os.environ["PYTHONPATH"] = f"{EXAMPLE}:{os.environ.get('PYTHONPATH', '')}"  # of the workers
import find_speech as example  # noqa: E402


def write_recordings(folder, count):
    """Of lengths of their own: espeak-ng speaks, or nobody does, in noise."""
    random = np.random.default_rng(5)
    for i in range(count):
        words = f"{i} boats, and then {i * 7 % 13}" if i % 3 else ""
        said = folder / "said"
        subprocess.run(["espeak-ng", "-s", str(130 + i), "-w", said, words or "."], check=True)
        with wave.open(str(said)) as file:
            voice = np.frombuffer(file.readframes(file.getnframes()), "<i2") * (0.5 if words else 0)
            length = len(voice) * 16000 // file.getframerate()
        voice = np.interp(np.linspace(0, len(voice) - 1, length), np.arange(len(voice)), voice)
        sound = np.concatenate([np.zeros(6000 + i), voice, np.zeros(6000)])
        sound += 20 * random.standard_normal(len(sound))
        with wave.open(str(folder / f"{i:03}.wav"), "wb") as file:
            file.setparams((1, 2, 16000, 0, "NONE", ""))
            file.writeframes(np.clip(sound, -32768, 32767).astype("<i2").tobytes())


def of_the_program(folder, program, model):
    """What examples/speech finds, by the line of the example's help."""
    each = '"$2" "$3" "$1" 1 >"$1.txt"; [ $? -le 6 ]'
    line = f'ls "$1"/*.wav | xargs -P 2 -I{{}} sh -c \'{each}\' - {{}} "$2" "$3"'
    subprocess.run(["sh", "-c", line, "-", str(folder), program, model], check=True)
    found = {}
    for path in sorted(folder.glob("*.wav")):
        text = pathlib.Path(f"{path}.txt").read_text()
        pattern = r"^speech from +([\d.]+) s to +([\d.]+) s$"
        found[str(path)] = [[float(a), float(b)] for a, b in re.findall(pattern, text, re.M)]
    return found


def agree(stretches, of_program):
    """The program prints hundredths, and no end behind the recording's."""
    return len(stretches) == len(of_program) and all(
        abs(a[0] - b[0]) < 0.006 and -0.006 < a[1] - b[1] < example.FRAME / example.RATE + 0.006
        for a, b in zip(stretches, of_program)
    )


def main():
    parser = text_parser(__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--find-speech", required=True)
    parser.add_argument("--recordings", type=int, default=60)
    options = parser.parse_args()
    model = os.path.abspath(options.model)
    with work_folder() as folder:
        write_recordings(folder, options.recordings)
        finder = example.FindSpeech(model)
        expected = [finder({"item": str(path)}) for path in sorted(folder.glob("*.wav"))]
        ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False)
        rows = example.find_speech(model, folder, 2)
        ray.shutdown()
        program = of_the_program(folder, os.path.abspath(options.find_speech), model)
    speech = {row["recording"]: json.loads(row["speech"]) for row in rows}
    checks = {
        "each recording once": len(speech) == len(rows) == options.recordings,
        "the bits of one process": [row["probabilities"] for row in rows]
        == [row["probabilities"] for row in expected],
        "two processes worked": len({row["process"] for row in rows}) == 2,
        "speech where somebody speaks": [bool(speech[path]) for path in sorted(speech)]
        == [bool(i % 3) for i in range(options.recordings)],
        "the stretches of examples/speech": all(agree(speech[p], program[p]) for p in program),
    }
    for text, holds in checks.items():
        print(f"{text}: {holds}")
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
