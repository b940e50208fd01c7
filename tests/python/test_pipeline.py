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
        with small_models.linear().session() as session:
            self.expected = [session.run(item)["y"] for item in items(20)]

    def test_map_keeps_the_order(self):
        for depth in (1, 2, 5):
            with small_models.linear().pipeline(depth) as pipeline:
                answers = [outputs["y"] for outputs in pipeline.map(items(20))]
            self.assertEqual(len(answers), 20)
            for answer, expected in zip(answers, self.expected):
                np.testing.assert_array_equal(answer, expected)

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
