#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`ingot chat`: turns of piped input equal to those of `ingot generate --chat`; on a terminal
Ctrl-C ends the answer alone, Ctrl-D the program, characters come whole; what is refused.

  conversation_test.py --ingot BIN
"""

import json
import os
import pathlib
import pty
import select
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "support")]
from testing import Checks, Ingot, ingot_parser, numpy_or_skip, work_folder  # noqa: E402

numpy_or_skip("conversations with small language models")
from chat_test import NAMED, TEMPLATE, tokenizer  # noqa: E402
from decoder_test import small_llama  # noqa: E402
from gguf_writer import write_gguf  # noqa: E402

LONG = 40000  # tokens of a context that no answer fills before it is interrupted
ENDLESS = [f"--bias={i}=-inf" for i in range(1, len(NAMED))]


class Terminal:
    """A program on a terminal of its own, which takes Ctrl-C and Ctrl-D as one does."""

    def __init__(self, *words):
        self.seen = b""
        self.pid, self.end = pty.fork()
        if self.pid == 0:
            words = [str(word) for word in words]
            os.execv(words[0], words)

    def type(self, text):
        os.write(self.end, text if isinstance(text, bytes) else text.encode())

    def read(self, until, seconds=60):
        """What came until `until(bytes)` of it holds; all that is there where it never does."""
        begun = len(self.seen)
        deadline = time.monotonic() + seconds
        while not until(self.seen[begun:]) and time.monotonic() < deadline:
            if select.select([self.end], [], [], 0.2)[0]:
                try:
                    more = os.read(self.end, 4096)
                except OSError:  # the program has ended
                    break
                if not more:
                    break
                self.seen += more
        return self.seen[begun:]

    def prompt(self):
        return self.read(lambda seen: seen.endswith(b"> "))

    def code(self):
        self.read(lambda seen: False, 30)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def check_piped(checks, ingot, folder):
    done = ingot("chat", ingot.file, "--tokens", 4, "--system", "be", input="hi\n\nab", stderr=None)
    checks.report("chat", done.error)
    messages, expected = [{"role": "system", "content": "be"}], ""
    for line in ("hi", "ab"):
        messages.append({"role": "user", "content": line})
        path = folder / "messages.json"
        path.write_text(json.dumps(messages))
        words = ["generate", ingot.file, "--chat", "--messages", path, "--tokens", 4]
        expected += ingot(*words).stdout
        messages.append({"role": "assistant",
                         "content": json.loads(ingot(*words, "--json").stdout)["text"]})
    checks.check(done.stdout == expected, "answers of generate", f"{done.stdout!r}\n{expected!r}")
    draw = ["--tokens", 6, "--temperature", 1.5, "--seed", 5]
    drawn = [ingot("chat", ingot.file, *draw, input="hi\nhi\n").stdout for _ in range(2)]
    checks.check(drawn[0] == drawn[1], "the same seed, the same answers")
    saved = folder / "saved.json"
    done = ingot("chat", ingot.file, "--tokens", 3, input=f"hi\n/save {saved}\n")
    checks.report("/save", done.error)
    checks.check(len(json.loads(saved.read_text())["messages"]) == 2, "both messages are saved")
    whole = ingot("chat", ingot.file, "--tokens", 3, input="hi\nab\n").stdout
    rest = ingot("chat", ingot.file, "--tokens", 3, input=f"/load {saved}\nab\n").stdout
    checks.check(whole == done.stdout + rest, "a loaded conversation goes on", rest)
    anew = ingot("chat", ingot.file, "--tokens", 3, input="hi\n/reset\nhi\n").stdout
    checks.check(anew == 2 * done.stdout, "/reset begins anew", anew)
    ended = ingot("chat", ingot.file, "--tokens", 3, input="hi\n/exit\nhi\n").stdout
    checks.check(ended == done.stdout, "/exit ends", ended)
    for name, words, text, code, says in (
        ("no UTF-8", [], b"\xff\xfe\n", 5, "the line is not UTF-8"),
        ("beyond the context", [], b"a" * 100 + b"\n", 5, "its context room for 64; /reset"),
        ("a file that is not there", [], b"/load none\n", 7, "none"),
        ("/save of nothing", [], b"/save\n", 1, "/save: expected a file"),
        ("an unknown command", [], b"/rest\n", 1, "no command /rest; /help"),
        ("tokens", ["--tokens", "-1"], b"", 1, "--tokens: expected a whole number"),
        ("a bias", ["--bias", "61=1"], b"", 5, "--bias 61"),
    ):
        done = ingot("chat", ingot.file, *words, input=text.decode("latin-1"), encoding="latin-1")
        checks.report(name, done.refusal(code, says))


def check_typed(checks, ingot, folder):
    chat = Terminal(ingot.program, "chat", ingot.file, *ENDLESS)
    checks.check(b"/help" in chat.prompt(), "a prompt, and what there is", repr(chat.seen))
    chat.type("hi\n")
    chat.read(lambda seen: len(seen) > 200)
    chat.type(b"\x03")
    stopped = time.monotonic()
    chat.prompt()
    checks.check(time.monotonic() - stopped < 20, "Ctrl-C ends the answer")
    chat.type("typed in vain\x03")
    chat.prompt()
    chat.type("/reset\n")
    chat.prompt()
    chat.type("\U0001F600 \u4f60\u597d \u00e9\n")
    chat.read(lambda seen: len(seen) > 200)
    chat.type(b"\x03")
    chat.prompt()
    text = chat.seen.decode("utf-8", "replace")
    checks.check("\U0001F600 \u4f60\u597d \u00e9" in text, "wide characters are typed", text[-300:])
    saved = folder / "typed.json"
    chat.type(f"/save {saved}\n")
    chat.prompt()
    said = json.loads(saved.read_text())["messages"]
    checks.check(said[0]["content"] == "\U0001F600 \u4f60\u597d \u00e9" and len(said) == 2,
                 "they arrive whole, and the answer is kept as far as it came", str(said)[:200])
    chat.type("a" * 100 + "\n")  # a turn goes on from the caches
    chat.read(lambda seen: len(seen) > 300)
    chat.type(b"\x03")
    chat.prompt()
    chat.type("/load none\n")
    checks.check(b"note: " in chat.prompt(), "what is refused is a note", repr(chat.seen[-200:]))
    chat.type(b"\x04")
    code = chat.code()
    checks.check(code == 0, "Ctrl-D ends the program", str(code))


def main():
    args = ingot_parser(__doc__).parse_args()
    checks = Checks("conversations")
    with work_folder() as folder:
        folder = pathlib.Path(folder)
        ingot = Ingot(args.ingot, folder, suffix=".gguf")
        metadata, tensors = small_llama()
        own = {**tokenizer(), "tokenizer.chat_template": TEMPLATE}
        for context, check in ((64, check_piped), (LONG, check_typed)):
            source = folder / "llama.gguf"
            write_gguf(source, {**metadata, "llama.context_length": context, **own}, tensors)
            done = ingot.convert(source, "--context", context)
            checks.report(f"a context of {context}", done.error)
            check(checks, ingot, folder)
        own.pop("tokenizer.chat_template")
        write_gguf(source, {**metadata, **own}, tensors)
        checks.report("convert without a template", ingot.convert(source).error)
        done = ingot("chat", ingot.file, input="hi\n")
        checks.report("a file without a template", done.refusal(5, "has no chat template"))
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
