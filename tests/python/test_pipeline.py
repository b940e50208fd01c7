# SPDX-License-Identifier: Apache-2.0
"""Pipelines: order, two threads, bad items, the end."""

import threading
import unittest

import numpy as np
import small_models

import ingot


def items(count):
    return [{"x": np.full((1, 4), i, np.float32)} for i in range(count)]


class PipelineTest(unittest.TestCase):
    def setUp(self):
        self.items = items(20)
        with small_models.linear().session() as session:
            self.expected = [session.run(item)["y"] for item in self.items]

    def test_map_keeps_the_order(self):
        for depth in (1, 2, 5):
            with small_models.linear().pipeline(depth) as pipeline:
                answers = [outputs["y"] for outputs in pipeline.map(items(20))]
            self.assertEqual(len(answers), 20)
            for answer, expected in zip(answers, self.expected):
                np.testing.assert_array_equal(answer, expected)

    def answers_of(self, pipeline, numbers):
        """Which of the expected outputs came for these items."""
        outputs = [o["y"] for o in pipeline.map([self.items[n] for n in numbers])]
        return [[n for n in range(20) if np.array_equal(y, self.expected[n])] for y in outputs]

    def test_one_map_after_another(self):
        for two_threads in (False, True):
            with small_models.linear().pipeline(2, two_threads=two_threads) as pipeline:
                for first in range(3):
                    numbers = [first, first + 1, first + 2]
                    self.assertEqual(self.answers_of(pipeline, numbers), [[n] for n in numbers])
                self.assertEqual(self.answers_of(pipeline, []), [])

    def test_a_map_that_ends_early_leaves_nothing_to_the_next(self):
        def unplugged():
            yield self.items[0]
            raise KeyError("camera")

        wrong = [self.items[0], {"x": np.zeros((1, 5), np.float32)}, self.items[1]]
        for depth in (1, 2, 3):
            with small_models.linear().pipeline(depth) as pipeline:
                with self.assertRaisesRegex(KeyError, "camera"):
                    list(pipeline.map(unplugged()))
                self.assertEqual(self.answers_of(pipeline, [5, 6]), [[5], [6]])
                with self.assertRaises(ingot.CallerError):
                    list(pipeline.map(wrong))
                self.assertEqual(self.answers_of(pipeline, [7, 8]), [[7], [8]])
                for _ in pipeline.map(self.items):
                    break
                self.assertEqual(self.answers_of(pipeline, [9, 10]), [[9], [10]])

    def test_a_later_map_ends_the_one_before_it(self):
        with small_models.linear().pipeline(3) as pipeline:
            first = pipeline.map(self.items)
            np.testing.assert_array_equal(next(first)["y"], self.expected[0])
            second = pipeline.map(self.items[5:])
            np.testing.assert_array_equal(next(second)["y"], self.expected[5])
            with self.assertRaisesRegex(ingot.CallerError, "a later map"):
                next(first)
            np.testing.assert_array_equal(next(second)["y"], self.expected[6])
            second.close()
            pipeline.put(self.items[1])
            with self.assertRaisesRegex(ingot.CallerError, "get.. them first") as raised:
                pipeline.map(self.items)
            self.assertEqual(raised.exception.code, 8)
            np.testing.assert_array_equal(pipeline.get()["y"], self.expected[1])
            with self.assertRaisesRegex(ingot.CallerError, "from outside"):
                for _ in pipeline.map(self.items):
                    pipeline.put(self.items[1])

    def test_a_map_of_what_was_closed_or_cancelled_says_so(self):
        for end, words in (("close", "it is closed"), ("cancel", "cancelled")):
            pipeline = small_models.linear().pipeline(2)
            running = pipeline.map(self.items)
            next(running)
            getattr(pipeline, end)()
            with self.assertRaisesRegex(ingot.CallerError, words):
                next(running)
            with self.assertRaisesRegex(ingot.CallerError, words):
                next(pipeline.map(self.items))

    def test_slots_are_filled_and_read_where_they_lie(self):
        with small_models.linear().pipeline(2) as pipeline:
            for number, item in enumerate(items(6)):
                pipeline.acquire()
                pipeline.input("x")[:] = item["x"]
                pipeline.push()
                self.assertEqual(pipeline.pop(), number)
                np.testing.assert_array_equal(pipeline.output("y"), self.expected[number])
                pipeline.release()

    def test_one_thread_fills_and_one_reads(self):
        with small_models.linear().pipeline(2, two_threads=True) as pipeline:

            def fill():
                for item in items(20):
                    pipeline.put(item)
                pipeline.finish()

            thread = threading.Thread(target=fill)
            thread.start()
            answers = []
            while (outputs := pipeline.get()) is not None:
                answers.append(outputs["y"])
            thread.join()
        np.testing.assert_array_equal(np.stack(answers), np.stack(self.expected))

    def test_state_goes_from_item_to_item(self):
        one = np.ones((1, 2), np.float32)
        with small_models.stream().pipeline() as pipeline:
            for step, outputs in enumerate(pipeline.map([{"x": one}] * 5), 1):
                np.testing.assert_array_equal(outputs["y"], 2 * step * one)

    def test_what_cannot_be_is_one_exception(self):
        pipeline = small_models.linear().pipeline()
        with self.assertRaises(ingot.CallerError):
            pipeline.pop()
        with self.assertRaises(ingot.DeadlineExceeded):
            with small_models.linear().pipeline(two_threads=True) as waiting:
                waiting.pop(timeout=0.01)
        with self.assertRaises(ingot.CallerError):
            pipeline.input("x")
        with self.assertRaises(ValueError):
            pipeline.put({})
        for wrong, code in ((np.zeros((1, 5), np.float32), 3), (np.zeros((1, 4)), 4)):
            with self.assertRaises(ingot.CallerError) as raised:
                pipeline.put({"x": wrong})
            self.assertEqual((raised.exception.code, raised.exception.name), (code, "x"))
        with self.assertRaises(ingot.CallerError):
            small_models.linear().pipeline(depth=100)
        view = (pipeline.acquire(), pipeline.input("x"))[1]
        pipeline.cancel()
        with self.assertRaises(ingot.Cancelled):
            pipeline.pop()
        pipeline.close()
        view[:] = 1  # the slot lives as long as an array over it
        with self.assertRaises(ingot.CallerError) as raised:
            pipeline.push()
        self.assertIn("closed", str(raised.exception))
