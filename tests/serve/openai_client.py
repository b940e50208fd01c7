#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The published clients of OpenAI and Anthropic, unchanged, against `ingot serve`: models, chats,
streams that are read and streams that are left, texts, log probabilities, tools, errors, many
answers at once. Answers are compared with those of `ingot generate` and of lone requests.

  openai_client.py --ingot BIN --model CHAT.ingot [--packages FOLDER]

FOLDER gets the clients where Python has none. Needs Python and, for the first time, pip."""

import asyncio
import importlib.util
import json
import pathlib
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import Checks, Ingot, ingot_parser, run, work_folder  # noqa: E402

HI = [{"role": "user", "content": "hi"}]
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]


CALL = 'root ::= "<tool_call>{\\"name\\":\\"f\\",\\"arguments\\":{}}"'


def schema_of(schema):
    return {"type": "json_schema", "json_schema": {"name": "it", "schema": schema}}


def missing_clients(folder):
    """Those that cannot be imported, after pip has put both into the folder if need be."""
    if folder:
        sys.path.insert(0, str(folder))
    names = [name for name in ("openai", "anthropic") if not importlib.util.find_spec(name)]
    if names and folder:
        command = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        run(*command, "--upgrade", "--target", folder, *names, seconds=120)
        importlib.invalidate_caches()
    return [name for name in names if not importlib.util.find_spec(name)]


class Server:
    """`ingot serve` on a free port, until the block ends."""

    def __init__(self, ingot, repository, *options):
        self.process = subprocess.Popen(
            [ingot, "serve", "-q", str(repository), "--http-port", "0", "--no-grpc", *options],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.url = ""

    def __enter__(self):
        for line in self.process.stdout:
            if line.strip() == "ready":
                return self
            self.url = line.strip()
        raise SystemExit(f"the server ended: {self.process.wait()}")

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.status = self.process.wait(timeout=60)


def ask(client, **more):
    return client.chat.completions.create(
        **{"model": "chat", "messages": HI, "temperature": 0, "max_tokens": 5, **more})


def check_answers(checks, client, expected):
    checks.check([m.id for m in client.models.list()] == ["chat"], "models.list")
    checks.check(client.models.retrieve("chat").owned_by == "ingot", "models.retrieve")
    whole = ask(client)
    said = whole.choices[0].message.content
    checks.check(said == expected, "a chat is what ingot generate says", f"{said!r}")
    checks.check(whole.choices[0].finish_reason == "length", "its finish_reason")
    usage = (whole.usage.prompt_tokens, whole.usage.completion_tokens, whole.usage.total_tokens)
    checks.check(usage == (4, 5, 9), "its usage", str(usage))
    events = list(ask(client, stream=True, stream_options={"include_usage": True}))
    checks.check(events[0].choices[0].delta.role == "assistant", "the first event has the role")
    text = "".join(e.choices[0].delta.content or "" for e in events if e.choices)
    checks.check(text == expected, "a stream is the same", f"{text!r}")
    checks.check(events[-2].choices[0].finish_reason == "length", "the stream's finish_reason")
    checks.check(events[-1].usage.total_tokens == 9, "the stream's usage")
    checks.check(events[-1].usage.prompt_tokens_details.cached_tokens == 3, "cached tokens")
    one = ask(client, logprobs=True, top_logprobs=2).choices[0].logprobs.content
    checks.check(len(one) == 5 and all(len(t.top_logprobs) == 2 for t in one), "logprobs")
    checks.check(all(t.logprob == t.top_logprobs[0].logprob for t in one),
                 "the most probable token is the one taken")
    biased = ask(client, logit_bias={"6": 100}, logprobs=True).choices[0]
    joined = b"".join(bytes(t.bytes) for t in biased.logprobs.content)
    checks.check(joined == b"aaaaa" and biased.message.content == "aaaaa", "a bias, and bytes")
    stopped = ask(client, logit_bias={"6": 100}, stop="aaa", max_tokens=9)
    checks.check((stopped.choices[0].message.content, stopped.choices[0].finish_reason)
                 == ("", "stop"), "a stop text")
    old = client.completions.create(model="chat", prompt=[4, 13, 14, 5], max_tokens=5,
                                    temperature=0, logprobs=1)
    checks.check(old.choices[0].text == expected, "a text completion from tokens")
    checks.check(len(old.choices[0].logprobs.token_logprobs) == 5, "its logprobs")
    parts = client.completions.create(model="chat", prompt=[4, 13, 14, 5], max_tokens=5,
                                      temperature=0, stream=True)
    text = "".join(p.choices[0].text for p in parts)
    checks.check(text == expected, "a stream of text", f"{text!r}")
    extra = ask(client, extra_body={"top_k": 1, "chat_template_kwargs": {"mood": "!"}})
    checks.check(extra.usage.prompt_tokens == 5, "a variable of the template")
    formed = ask(client, response_format=schema_of({"enum": [7, "ab"]}), max_tokens=9).choices[0]
    checks.check((formed.message.content in ('7', '"ab"'), formed.finish_reason) == (True, "stop"),
                 "an answer by a schema", formed.message.content)
    called = ask(client, tools=TOOLS, extra_body={"grammar": CALL}, max_tokens=40).choices[0]
    checks.check(called.finish_reason == "tool_calls" and called.message.content is None,
                 "a call in the text", str(called))
    function = called.message.tool_calls[0].function
    checks.check((function.name, function.arguments) == ("f", "{}"), "its name and arguments")
    replies = [{"role": "assistant", "tool_calls": [t.model_dump() for t in
                                                    called.message.tool_calls]},
               {"role": "tool", "tool_call_id": "x", "content": "a"}]
    checks.check(ask(client, messages=HI + replies).usage.completion_tokens == 5, "its answer")


def check_refusals(checks, client):
    import openai

    for what, kind, more, param in (
        ("no such model", openai.NotFoundError, {"model": "none"}, "model"),
        ("a tool that is none", openai.BadRequestError, {"tools": TOOLS, "tool_choice": {
            "type": "function", "function": {"name": "g"}}}, "tool_choice"),
        ("two answers", openai.BadRequestError, {"n": 2}, "n"),
        ("a schema", openai.BadRequestError, {"response_format": schema_of({"not": {}})},
         "response_format"),
        ("an unknown field", openai.BadRequestError, {"extra_body": {"frob": 1}}, "frob"),
    ):
        try:
            ask(client, **more)
            checks.check(False, f"{what}: was taken")
        except kind as error:
            checks.check(error.param == param, f"{what}: names its field", str(error))
    try:
        ask(client, messages=[{"role": "user", "content": "a" * 99}])
        checks.check(False, "a long prompt: was taken")
    except openai.BadRequestError as error:
        checks.check(error.code == "context_length_exceeded", "a long prompt", str(error))


def check_many(checks, url):
    import openai

    async def answers(count):
        async with openai.AsyncOpenAI(base_url=url + "/v1", api_key="none") as client:
            return await asyncio.gather(*(one(client, seed) for seed in range(count)))

    async def one(client, seed):
        made = client.chat.completions.create(
            model="chat", messages=[{"role": "user", "content": "abc"[: 1 + seed % 3]}],
            temperature=1, seed=seed, max_tokens=20, stream=seed % 2 == 0)
        if seed % 2:
            return (await made).choices[0].message.content
        return "".join([e.choices[0].delta.content or "" async for e in await made])

    many = asyncio.run(answers(60))
    client = openai.OpenAI(base_url=url + "/v1", api_key="none")
    for seed, text in enumerate(many):
        lone = client.chat.completions.create(
            model="chat", messages=[{"role": "user", "content": "abc"[: 1 + seed % 3]}],
            temperature=1, seed=seed, max_tokens=20).choices[0].message.content
        checks.check(lone == text, f"answer {seed} of many is that of a lone request")


def check_anthropic(checks, url, expected):
    import anthropic

    client = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0)

    def asked(max_tokens=5, more=None, **fields):
        # some of its versions have no temperature
        return {"model": "chat", "messages": HI, "max_tokens": max_tokens, **fields,
                "extra_body": {"temperature": 0, **(more or {})}}

    whole = client.messages.create(**asked())
    checks.check(whole.content[0].text == expected, "a message is what ingot generate says")
    checks.check(whole.stop_reason == "max_tokens", "its stop_reason")
    used = whole.usage
    counts = (used.input_tokens + used.cache_read_input_tokens, used.output_tokens)
    checks.check(counts == (4, 5), "its usage", str(counts))
    with client.messages.stream(**asked()) as stream:
        text = "".join(stream.text_stream)
        last = stream.get_final_message()
    checks.check(text == expected == last.content[0].text, "a stream is the same", f"{text!r}")
    checks.check((last.stop_reason, last.usage.output_tokens) == ("max_tokens", 5), "its end")
    stopped = client.messages.create(
        **asked(stop_sequences=["aa"], more={"logit_bias": {"6": 100}}))
    checks.check((stopped.stop_reason, stopped.stop_sequence) == ("stop_sequence", "aa"),
                 "a stop sequence")
    tools = [{"name": "f", "input_schema": {"type": "object"}}]
    called = asked(max_tokens=40, tools=tools, more={"grammar": CALL})
    use = client.messages.create(**called).content[0]
    checks.check((use.type, use.name, use.input) == ("tool_use", "f", {}), "a call", str(use))
    with client.messages.stream(**called) as stream:
        streamed = stream.get_final_message()
    checks.check((streamed.content[0].input, streamed.stop_reason) == ({}, "tool_use"),
                 "a call in a stream", str(streamed))
    replies = [{"role": "assistant", "content": [use.model_dump()]}, {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": use.id, "content": "a"}]}]
    counted = client.messages.count_tokens(model="chat", messages=HI + replies, system="s")
    checks.check(counted.input_tokens > 4, "its answer, counted", str(counted))
    for what, kind, more in (
        ("no such model", anthropic.NotFoundError, {"model": "none"}),
        ("a long prompt", anthropic.BadRequestError, {"system": "a" * 99}),
        ("an unknown field", anthropic.BadRequestError, {"more": {"frob": 1}}),
    ):
        try:
            client.messages.create(**asked(**more))
            checks.check(False, f"{what}: was taken")
        except kind as error:
            checks.check(error.body["type"] == "error", f"{what}: an error", str(error))


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--model", type=pathlib.Path, required=True)
    parser.add_argument("--packages", type=pathlib.Path)
    a = parser.parse_args()
    checks = Checks("openai_client")
    missing = missing_clients(a.packages)
    for name in missing:
        checks.skip(f"the client {name}: Python has none, and pip cannot get it")
    if "openai" in missing:
        return checks.finish()
    import openai

    with work_folder() as folder:
        place = folder / "models/chat/1"
        place.mkdir(parents=True)
        shutil.copy(a.model, place / "model.ingot")
        question = ["--chat", "--prompt", "hi", "--tokens", 5, "--json"]
        told = Ingot(a.ingot, folder)("generate", a.model, *question).succeeded()
        expected = json.loads(told.stdout)["text"]
        with Server(a.ingot, folder / "models", "--slots", "4") as server:
            client = openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0)
            check_answers(checks, client, expected)
            check_refusals(checks, client)
            check_many(checks, server.url)
            if "anthropic" not in missing:
                check_anthropic(checks, server.url, expected)
        checks.check(server.status == 0, "the server ends")
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
