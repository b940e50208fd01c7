# SPDX-License-Identifier: Apache-2.0
"""Language models: answers of the command line's, iterators, chats, saving, what is refused."""

import asyncio
import json
import math
import pickle
import subprocess
import tempfile
import threading
import unittest

import numpy as np
import small_models

import ingot
from ingot import _ingot, _language
from ingot._command import PROGRAM

MESSAGES = [{"role": "system", "content": "be"}, {"role": "user", "content": "hi"}]
ENDLESS = {id: -math.inf for id in range(1, 6)}  # no control token
LONG = 40000


def command(*words):
    """What `ingot generate --json` says of the small model."""
    done = subprocess.run(
        [PROGRAM, "generate", small_models.chat_path(), "--json", *words],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def endless():
    return ingot.LanguageModel(small_models.chat_path(LONG), threads=1)


class AnswerTest(unittest.TestCase):
    def setUp(self):
        self.model = ingot.LanguageModel(small_models.chat_path())

    def check(self, answer, *words):
        said = command(*words)
        self.assertEqual(answer.text, said["text"])
        self.assertEqual(answer.tokens, said["ids"])
        self.assertEqual(answer.prompt_tokens, said["prompt_ids"])
        self.assertEqual(answer.stopped_by, said["stopped_by"])
        self.assertEqual(answer.stop_text, said["stop_text"])
        self.assertEqual(answer.seed, said["seed"])
        self.assertEqual(str(answer), answer.text)

    def test_answers_are_those_of_the_command_line(self):
        self.check(self.model("ab", max_new_tokens=9), "--prompt", "ab", "--tokens", "9")
        self.check(
            self.model("ab", max_new_tokens=9, temperature=1.5, top_k=20, seed=5, bias=ENDLESS),
            *"--prompt ab --tokens 9 --temperature 1.5 --top-k 20 --seed 5".split(),
            *(f"--bias={id}=-inf" for id in ENDLESS),
        )
        self.check(
            self.model("ab", max_new_tokens=9, seed=7, repeat_penalty=1.3, ignore_end=True),
            *"--prompt ab --tokens 9 --seed 7 --repeat-penalty 1.3 --ignore-end".split(),
        )
        self.check(self.model("ab", ignore_end=True), *"--prompt ab --ignore-end".split())
        self.check(self.model("ab", max_new_tokens=3, lookup=0), *"--prompt ab --tokens 3".split())
        with self.assertRaisesRegex(ingot.CallerError, "lookup"):  # the file has none
            self.model("ab", lookup=1)

    def test_what_is_proposed_changes_no_answer(self):
        path = small_models.chat_path(64, 7)
        options = {"max_new_tokens": 40, "seed": 3, "temperature": 0.5, "bias": ENDLESS}
        plain = self.model("abab", **options)
        self.assertEqual((plain.proposed, plain.accepted), (0, 0))
        looked = ingot.LanguageModel(path)("abab", **options)
        self.assertEqual(looked.tokens, plain.tokens)
        self.assertGreater(looked.proposed, 0)
        draft = ingot.LanguageModel(small_models.chat_path())
        drafted = ingot.LanguageModel(path, draft=draft)("abab", **options)
        self.assertEqual(drafted.tokens, plain.tokens)
        self.assertGreater(drafted.accepted, 20)
        self.assertEqual(drafted.proposed, drafted.accepted)  # the same model
        with self.assertRaisesRegex(ingot.CallerError, "closed"):  # it belongs to the other
            draft("ab")
        with self.assertRaisesRegex(ingot.CallerError, "--lookup"):
            ingot.LanguageModel(small_models.chat_path(), draft=self.model)
        with self.assertRaisesRegex(TypeError, "draft: expected an ingot.LanguageModel"):
            ingot.LanguageModel(path, draft=path)
        self.assertEqual(self.model("abab", **options).tokens, plain.tokens)  # it was not taken

    def test_answers_by_a_grammar_and_a_schema(self):
        grammar = 'root ::= [x-z]{3}'
        with tempfile.NamedTemporaryFile("w", suffix=".gbnf") as file:
            file.write(grammar)
            file.flush()
            answer = self.model("ab", grammar=grammar)
            self.check(answer, "--prompt", "ab", "--grammar", file.name)
        schema = {"enum": [True, False, None]}  # the small model has letters alone
        for seed in range(4):
            answer = self.model("ab", json_schema=schema, seed=seed, temperature=2.0)
            self.assertEqual(answer.stopped_by, "grammar")
            self.assertIn(json.loads(answer.text), schema["enum"])
        self.assertEqual(self.model("ab", json_schema='{"const": null}').text, "null")
        for options, line in (
            ({"grammar": "root ::= x"}, "line 1: there is no rule 'x'"),
            ({"json_schema": {"not": {}}}, "#/not: 'not' is not supported"),
            ({"json_schema": False}, "expected a dict"),
            ({"grammar": "", "json_schema": {}}, "one of them"),
        ):
            with self.assertRaisesRegex((ValueError, TypeError), line):
                self.model("ab", **options)

    def test_a_chat_is_that_of_the_command_line(self):
        answer = self.model(MESSAGES, max_new_tokens=6, template_options={"mood": "x"})
        self.check(
            answer,
            *"--chat --system be --prompt hi --template-option mood=x --tokens 6".split(),
        )
        self.assertEqual(answer.prompt_tokens, self.model(answer.prompt_tokens).prompt_tokens)
        tools = self.model.tokenizer.apply_chat_template(MESSAGES, tools=[{"name": "t"}])
        self.assertEqual(tools, "<|system|>be<|user|>hit<|bot|>")
        text = self.model.tokenizer.apply_chat_template(MESSAGES, add_generation_prompt=False)
        self.assertEqual(text, "<|system|>be<|user|>hi")

    def test_pieces_are_the_text_and_come_one_by_one(self):
        whole = self.model("ab", max_new_tokens=12, bias=ENDLESS)
        answer = self.model.generate("ab", max_new_tokens=12, bias=ENDLESS)
        pieces = []
        for piece in answer:
            self.assertTrue(piece)
            pieces.append(piece)
            self.assertEqual(answer.text, "".join(pieces))
        self.assertEqual("".join(pieces), whole.text)
        self.assertGreater(len(pieces), 3)
        self.assertEqual(list(answer), [])
        self.assertIn("stopped by tokens", repr(answer))
        ids = self.model(np.array(whole.prompt_tokens), max_new_tokens=12, bias=ENDLESS)
        self.assertEqual(ids.text, whole.text)

    def test_a_stop_text_ends_an_answer_in_front_of_it(self):
        whole = self.model("ab", max_new_tokens=12, bias=ENDLESS)
        stop = whole.text[4:6]
        answer = self.model("ab", max_new_tokens=12, bias=ENDLESS, stop=["never", stop])
        self.assertEqual(answer.text, whole.text[: whole.text.index(stop)])
        self.assertEqual((answer.stopped_by, answer.stop_text), ("stop", stop))
        self.assertEqual(
            self.model("ab", max_new_tokens=12, bias=ENDLESS, stop=stop).text, answer.text
        )

    def test_a_draw_has_a_seed_that_repeats_it(self):
        options = {"max_new_tokens": 9, "temperature": 2.0, "ignore_end": True}
        drawn = self.model("ab", **options)
        again = self.model("ab", **options, seed=drawn.seed)
        self.assertEqual(again.tokens, drawn.tokens)
        seeds = {self.model.generate("ab", top_k=5).seed for _ in range(4)}
        self.assertEqual(len(seeds), 4)
        self.assertIsNone(self.model.generate("ab").seed)

    def test_what_the_caches_hold_is_not_computed_again(self):
        first = self.model("abcdefgh", max_new_tokens=3, bias=ENDLESS)
        self.assertEqual(first.reused, 0)
        ids = first.prompt_tokens + first.tokens
        second = self.model.generate([*ids, 7], max_new_tokens=3)
        self.assertEqual(second.reused, len(ids) - 1)
        other = ingot.LanguageModel(self.model.model)
        self.assertEqual(second.read(), other([*ids, 7], max_new_tokens=3).text)

    def test_a_saved_model_goes_on(self):
        first = self.model("abcdefgh", max_new_tokens=3, bias=ENDLESS)
        saved = self.model.save()
        other = ingot.LanguageModel(self.model.model)
        other.restore(saved)
        ids = first.prompt_tokens + first.tokens
        answer = other.generate(ids, max_new_tokens=4)
        self.assertEqual(answer.reused, len(ids) - 1)
        self.assertEqual(answer.read(), self.model(ids, max_new_tokens=4).text)
        going = other.generate("ab")
        other.restore(saved)
        with self.assertRaisesRegex(ingot.CallerError, "restore"):
            next(going)
        for damaged in (saved[:-1], b"", saved.replace(b"i", b"j", 1)):
            with self.assertRaises(ingot.Error):
                other.restore(damaged)
        with self.assertRaises(TypeError):
            other.restore("text")

    def test_a_later_answer_ends_the_one_before(self):
        first = self.model.generate("ab", bias=ENDLESS)
        next(first)
        second = self.model.generate("ab", bias=ENDLESS, max_new_tokens=3)
        first.cancel()  # which is none of the second's
        with self.assertRaisesRegex(ingot.CallerError, "ended by a later one"):
            next(first)
        second.read()

    def test_memory_can_be_the_callers(self):
        arena = ingot.empty(1 << 22, "uint8")
        with ingot.LanguageModel(self.model.model, threads=1, arena=arena) as model:
            self.assertEqual(
                model("ab", max_new_tokens=5).text, self.model("ab", max_new_tokens=5).text
            )
        with self.assertRaisesRegex(ingot.CallerError, "closed"):
            model.generate("ab")
        model.close()


class EndedTest(unittest.TestCase):
    def test_cancel_ends_an_answer_on_another_thread(self):
        model = endless()
        answer = model.generate("ab", bias=ENDLESS)
        began = threading.Event()
        ended = []

        def read():
            try:
                for _ in answer:
                    began.set()
            except ingot.Cancelled as error:
                ended.append(error.code)

        thread = threading.Thread(target=read)
        thread.start()
        self.assertTrue(began.wait(60))
        answer.cancel()
        thread.join(60)
        self.assertEqual(ended, [9])
        self.assertIsNone(answer.stopped_by)
        self.assertTrue(answer.text)
        with self.assertRaises(ingot.Cancelled):
            next(answer)
        model("ab", max_new_tokens=2)

    def test_a_second_thread_is_refused(self):
        model = endless()
        answer = model.generate("ab" * 4000, max_new_tokens=1)

        def read():
            with self.assertRaises(ingot.Cancelled):
                answer.read()

        thread = threading.Thread(target=read)
        thread.start()
        refused = 0
        while thread.is_alive():
            try:
                model.context
            except ingot.CallerError as error:
                self.assertEqual(error.code, 8)
                self.assertIn("another thread", str(error))
                refused += 1
                answer.cancel()
                break
        thread.join(60)
        self.assertEqual(refused, 1)

    def test_a_timeout_is_of_the_whole_answer(self):
        model = endless()
        answer = model.generate("ab", bias=ENDLESS, timeout=0.05)
        with self.assertRaises(ingot.DeadlineExceeded):
            answer.read()
        self.assertTrue(answer.text)
        with self.assertRaises(TimeoutError):
            model("ab", timeout=0)
        model("ab", max_new_tokens=2)


class AsyncTest(unittest.TestCase):
    def test_pieces_come_while_the_loop_goes_on(self):
        models = [ingot.LanguageModel(small_models.chat_path(), threads=1) for _ in range(2)]
        expected = models[0](MESSAGES, max_new_tokens=12, bias=ENDLESS).text

        async def read(model):
            answer = model.generate(MESSAGES, max_new_tokens=12, bias=ENDLESS)
            return [piece async for piece in answer]

        async def main():
            return await asyncio.gather(*(read(model) for model in models))

        for pieces in asyncio.run(main()):
            self.assertEqual("".join(pieces), expected)
            self.assertGreater(len(pieces), 3)

    def test_a_cancelled_task_ends_the_answer(self):
        model = endless()

        async def read():
            async for _ in model.generate("ab" * 4000, bias=ENDLESS):
                pass

        async def main():
            for delay in (0, 0.001, 0.05):
                task = asyncio.create_task(read())
                await asyncio.sleep(delay)
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
                answer = model.generate("ab", max_new_tokens=2, bias=ENDLESS)
                self.assertTrue([piece async for piece in answer])

        asyncio.run(main())

    def test_a_timeout_of_the_loop_ends_the_answer(self):
        model = endless()

        async def main():
            answer = model.generate("ab" * 9000, bias=ENDLESS)
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(answer.__anext__(), 0.02)
            with self.assertRaises(ingot.Cancelled):
                await answer.__anext__()

        asyncio.run(main())


class TokenizerTest(unittest.TestCase):
    def test_text_to_ids_and_back(self):
        tokenizer = ingot.Tokenizer(small_models.chat_path())
        self.assertEqual(tokenizer.token_count, 61)
        ids = tokenizer.encode("hi<|bot|>", parse_special=True)
        self.assertEqual(ids[0], 1)  # <s>
        self.assertEqual(ids[1:], tokenizer.encode("hi")[1:] + [5])
        self.assertEqual(tokenizer.encode("hi", add_special_tokens=False), ids[1:3])
        self.assertEqual(tokenizer.decode(ids), "hi")
        self.assertEqual(tokenizer.decode(np.array(ids), skip_special_tokens=False), "<s>hi<|bot|>")
        self.assertEqual(tokenizer.decode([]), "")
        self.assertEqual(tokenizer.token(ids[1]), (b"h", False))
        self.assertEqual(tokenizer.token(5), (b"<|bot|>", True))
        self.assertTrue(tokenizer.has_chat_template)
        self.assertEqual(tokenizer.chat_template_refused, "")
        self.assertEqual(pickle.loads(pickle.dumps(tokenizer)).encode("hi"), ids[:3])
        self.assertIn("61 tokens", repr(tokenizer))

    def test_what_is_refused(self):
        tokenizer = ingot.Tokenizer(small_models.chat_path())
        with self.assertRaisesRegex(TypeError, "text: expected a str, found bytes"):
            tokenizer.encode(b"a")
        with self.assertRaisesRegex(ValueError, "UTF-8"):
            tokenizer.encode("\ud800")
        for ids in (3, "hi", [1.5], [None], None):
            with self.assertRaisesRegex(TypeError, "whole numbers"):
                tokenizer.decode(ids)
        for ids in ([61], [-1], [1 << 40]):
            with self.assertRaises(ValueError):
                tokenizer.decode(ids)
        with self.assertRaisesRegex(ingot.CallerError, "token id: at most 60, found 61"):
            tokenizer.token(61)
        with self.assertRaisesRegex(ingot.Error, "tokenizer"):
            ingot.Tokenizer(small_models.path_of("linear"))
        deep = []
        deep.append(deep)
        for messages, kind, words in (
            ([{"role": "user"}], ingot.CallerError, "undefined; line 2 of the chat template"),
            (deep, ingot.Error, "64"),
            ([{"role": "user", "content": object()}], TypeError, "JSON"),
            ([{1: "user"}], TypeError, "a key of a dict"),
            ([{"role": 1 << 70}], ValueError, "64 bits"),
        ):
            with self.assertRaisesRegex(kind, words):
                tokenizer.apply_chat_template(messages)


class RefusedTest(unittest.TestCase):
    def test_options_and_prompts(self):
        model = ingot.LanguageModel(small_models.chat_path())
        for options, kind, words in (
            ({"frob": 1}, TypeError, "no option 'frob' of an answer; there are: max_new_tokens"),
            ({"top_p": 2}, ingot.CallerError, "top_p: expected 0 to 1, found 2"),
            ({"top_p": math.nan}, ingot.CallerError, "top_p: expected 0 to 1"),
            ({"top_k": 1.5}, TypeError, "top_k: expected a whole number"),
            ({"temperature": "hot"}, TypeError, "temperature: expected a number"),
            ({"seed": -1}, ingot.CallerError, "seed"),
            ({"max_new_tokens": 0}, ingot.CallerError, "max_new_tokens: expected 1 to"),
            ({"stop": [""]}, ingot.CallerError, "stop"),
            ({"stop": ["a\0"]}, ValueError, "NUL"),
            ({"stop": 3}, TypeError, "stop: expected a str or a list"),
            ({"stop": ["a"] * 257}, ingot.Error, "256"),
            ({"bias": [1]}, TypeError, "bias: expected a dict"),
            ({"bias": {61: 1.0}}, ingot.CallerError, "bias"),
            ({"bias": {1: math.nan}}, ingot.CallerError, "bias: 1"),
            ({"timeout": -1}, ValueError, "timeout"),
            ({"tools": []}, TypeError, "of messages"),
        ):
            with self.assertRaisesRegex(kind, words, msg=str(options)):
                model.generate("ab", **options)
        for prompt, kind, words in (
            (b"ab", TypeError, "prompt: expected a str, a list of messages, or token ids"),
            (3, TypeError, "prompt"),
            ([], ingot.CallerError, "token"),
            ([61], ingot.CallerError, "60"),
            ("a" * 100, ingot.CallerError, "64"),
            ([{"role": "user"}], ingot.Error, "undefined"),
        ):
            with self.assertRaisesRegex(kind, words, msg=str(prompt)):
                model.generate(prompt)
        self.assertEqual(len(model("ab", max_new_tokens=2, bias=ENDLESS).tokens), 2)

    def test_no_token_is_left(self):
        model = ingot.LanguageModel(small_models.chat_path())
        with self.assertRaisesRegex(ingot.Error, "a logit above -infinity"):
            model("ab", bias={id: -math.inf for id in range(61)})

    def test_another_network_and_other_options(self):
        with self.assertRaisesRegex(ingot.CallerError, "is no language model: no input 'position'"):
            ingot.LanguageModel(small_models.path_of("linear"))
        with self.assertRaisesRegex(TypeError, "no option 'bindings'; there are: arena|'bindings'"):
            ingot.LanguageModel(small_models.chat_path(), bindings={"T": 2})
        with self.assertRaises(TypeError):
            pickle.dumps(ingot.LanguageModel(small_models.chat_path()))

    def test_the_keywords_are_those_of_the_interface(self):
        names = [name for name, *_ in _ingot.settings()]
        self.assertEqual([n for n in _language.AnswerOptions.__annotations__ if n in names], names)
        own = set(_language.AnswerOptions.__annotations__) - set(names)
        self.assertEqual(len(own), 10)


if __name__ == "__main__":
    unittest.main()
