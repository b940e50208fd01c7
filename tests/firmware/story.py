#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A language model's answers as firmware on emulated boards: token for token those of the host, and
the text of `ingot generate`.

  story.py --ingot BIN --work DIR [--part own|shared|all] [--boards A,B] [--count]

own: a small model that is made here, with its tokenizer. shared: the 260K model of TinyStories;
without a tokenizer beside it the tokens' numbers are printed. --count: instructions of a token
(QEMU's counter)."""

import json
import pathlib
import re
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import make_story  # noqa: E402
from boards import Refused, build, emulate  # noqa: E402
from shared import SHARED  # noqa: E402
from testing import Checks, ingot_parser, run  # noqa: E402

STORIES = SHARED / "models/llm/stories260K.bin"
CONTEXT = 64
TICK_NS = {"mps2-an500": 40, "mps3-an547": 31.25}  # of QEMU's clocks: 25 and 32 MHz
# Of the own models: answers with quotes, line ends, characters of several bytes; some end at the
# end token. The wide one has weights in blocks of 256.
CASES = (
    ("story", "f32", "the"),
    ("story", "f32", "ak"),
    ("story", "f32", "au"),
    ("story", "q8", "ao"),
    ("wide", "q4", "the"),
)
LINE = re.compile(
    r"^(\w+): (\d+) of (\d+) tokens as on the host; arena (\d+) bytes, object \d+ bytes, "
    r"ticks (\d+)",
    re.M,
)


def weight_options(weights):
    return () if weights == "f32" else ("--weights", weights)


class Stories:
    def __init__(self, args, checks):
        self.ingot, self.work, self.checks = args.ingot.resolve(), args.work.resolve(), checks
        self.count = args.count

    def host_answer(self, source, weights, prompt, tokens):
        """Of the file as it is converted for hosts."""
        model = self.work / f"{source.stem}_{weights}.ingot"
        run(self.ingot, "convert", source, "-o", model, "-q", "--context", str(CONTEXT),
            *weight_options(weights)).succeeded()  # fmt: skip
        said = run(self.ingot, "generate", model, "--prompt", prompt, "--tokens", str(tokens),
                   "--json").succeeded()  # fmt: skip
        return json.loads(said.stdout)

    def run_on(self, board, source, weights, tokens, *prompt):
        """What the board printed before the line of counts; None where that failed."""
        folder = self.work / f"{board}-{source.stem}-{weights}"
        options = ("--context", str(CONTEXT), "--generate", str(tokens), *prompt,
                   *weight_options(weights))  # fmt: skip
        try:
            build(self.ingot, folder, board, [source], options=options)
        except Refused as line:
            self.checks.check(False, f"{board} {source.stem} {weights}: has room", str(line))
            return None
        output = emulate(folder, *(["-icount", "shift=0"] if self.count else []))
        found = LINE.search(output)
        self.checks.check(bool(found), f"{board} {source.stem}: ends", output)
        if not found:
            return None
        name, equal, said, arena, ticks = found.groups()
        self.checks.check(equal == said, f"{board} {name}: tokens of the host", output)
        text = output[: found.start()].removesuffix("\n")
        print(text)
        count = int(ticks) * TICK_NS.get(board, 0) / 1e6 if self.count else 0
        counted = f", {count:.2f} million instructions a token" if count else ""
        print(f"{board:14} {name} {weights}: {equal} of {said} tokens as on the host, "
              f"arena {int(arena):,}{counted}")  # fmt: skip
        return text

    def own(self, boards):
        make_story.write_story(self.work / "story.bin")
        make_story.write_story(self.work / "wide.bin", width=256, hidden=256, layers=1)
        ends = set()
        for name, weights, prompt in CASES:
            source = self.work / f"{name}.bin"
            host = self.host_answer(source, weights, prompt, 24)
            ends.add(host["stopped_by"])
            for board in boards:
                text = self.run_on(board, source, weights, 24, "--prompt", prompt)
                same = text == host["text"]
                self.checks.check(same, f"{board}: the text of {prompt!r}", f"{text!r}")
        self.checks.check(ends == {"end", "tokens"}, "answers end in both ways", str(ends))

    def shared(self, boards):
        if not STORIES.exists():
            self.checks.skip(f"{STORIES.name}: there is no shared material")
            return
        has_text = any((STORIES.parent / n).exists() for n in ("tok512.bin", "tokenizer.bin"))
        prompt = ("--prompt", "Once upon a time") if has_text else ("--prompt-ids", "1")
        for board in boards:
            for weights in ("f32", "q8"):
                self.run_on(board, STORIES, weights, 40, *prompt)


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--part", choices=("own", "shared", "all"), default="all")
    parser.add_argument("--boards", default="mps2-an500,mps3-an547")
    parser.add_argument("--count", action="store_true")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    checks = Checks("answers on boards")
    if not shutil.which("qemu-system-arm") or not shutil.which("arm-none-eabi-g++"):
        checks.skip("qemu-system-arm or arm-none-eabi-g++ is absent")
        sys.exit(checks.finish())
    stories, boards = Stories(args, checks), args.boards.split(",")
    if args.part != "shared":
        stories.own(boards)
    if args.part != "own":
        stories.shared(boards)
    sys.exit(checks.finish())


if __name__ == "__main__":
    main()
