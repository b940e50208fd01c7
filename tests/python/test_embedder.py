# SPDX-License-Identifier: Apache-2.0
"""Embedding models: vectors of the command line's, texts that are too long, what is refused."""

import json
import pickle
import subprocess
import unittest

import numpy as np
import small_models

import ingot
from ingot._command import PROGRAM

CONTEXT = 8  # with the token before a text, one a letter


class EmbedderTest(unittest.TestCase):
    def setUp(self):
        self.path = small_models.embedding_path()
        self.embedder = ingot.Embedder(self.path, threads=1)

    def test_vectors_are_those_of_the_command_line(self):
        texts = ["abc", "hello", "a"]
        words = [word for text in texts for word in ("--text", text)]
        done = subprocess.run(
            [PROGRAM, "embed", self.path, "--json", *words], capture_output=True, text=True
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        wanted = [one["embedding"] for one in json.loads(done.stdout)["texts"]]
        found = self.embedder.embed(texts)
        self.assertEqual((found.dtype, found.shape), (np.float32, (3, self.embedder.width)))
        np.testing.assert_array_equal(found, np.array(wanted, np.float32))
        np.testing.assert_array_equal(self.embedder.embed("hello"), found[1])
        np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, rtol=1e-6)

    def test_prefixes(self):
        found = self.embedder.embed("lo", prefix="hel")
        np.testing.assert_array_equal(found, self.embedder.embed("hello"))
        with self.assertRaisesRegex(ingot.CallerError, "no prompt 'query'"):
            self.embedder.embed("a", prompt="query")

    def test_a_text_that_is_too_long_is_refused_or_cut(self):
        self.assertEqual(self.embedder.context, CONTEXT)
        self.embedder.embed("abcdefg")
        with self.assertRaisesRegex(ingot.CallerError, "text 1 has 9 tokens.* room for 8"):
            self.embedder.embed(["a", "abcdefgh"])
        found = self.embedder.embed(["a", "abcdefgh"], truncate=True)[1]
        np.testing.assert_array_equal(found, self.embedder.embed("abcdefg"))

    def test_what_is_refused(self):
        embed = self.embedder.embed
        self.assertRaisesRegex(ValueError, "an empty list", embed, [])
        self.assertRaisesRegex(ValueError, "text 1 is empty", embed, ["a", ""])
        self.assertRaisesRegex(TypeError, "texts", embed, 7)
        self.assertRaisesRegex(TypeError, "texts", embed, [7])
        with self.assertRaisesRegex(ingot.CallerError, "no embedding model: .*'embedding'"):
            ingot.Embedder(small_models.chat_path())
        with self.assertRaisesRegex(ingot.CallerError, "no language model"):
            ingot.LanguageModel(self.path)
        self.assertRaisesRegex(TypeError, "there are: arena", ingot.Embedder, self.path, speed=1)
        self.assertRaisesRegex(TypeError, "pickle its model", pickle.dumps, self.embedder)
        with ingot.Embedder(self.embedder.model) as other:
            self.assertIn("ingot.Embedder of 32 numbers", repr(other))
        self.assertRaises(ingot.CallerError, other.embed, "a")
