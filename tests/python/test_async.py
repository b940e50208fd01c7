# SPDX-License-Identifier: Apache-2.0
"""run_async: several at once on one event loop, cancellation, what is refused meanwhile."""

import asyncio
import os
import unittest

import numpy as np
import small_models
from small_models import rows

import ingot

LARGE = 1 << 18


def large_session():
    return small_models.batch().session(threads=1, bindings={"N": LARGE}, asynchronous=True)


class AsyncTest(unittest.TestCase):
    def test_an_awaited_run_has_the_answer_of_run(self):
        given, expected = small_models.linear_case()

        async def main():
            with small_models.linear().session(asynchronous=True) as session:
                for _ in range(3):
                    answer = (await session.run_async({"x": given}))["y"]
                np.testing.assert_array_equal(session.run(given)["y"], answer)
                with self.assertRaises(ingot.CallerError):
                    await session.run_async(given.astype("f8"))
                with self.assertRaises(ingot.DeadlineExceeded):
                    await session.run_async(given, timeout=0)
                y = ingot.empty((1, 3))
                self.assertIs((await session.run_async(given, outputs={"y": y}))["y"], y)
                return answer

        np.testing.assert_allclose(asyncio.run(main()), expected, atol=1e-5)

    def test_sessions_compute_while_the_loop_goes_on(self):
        async def main():
            sessions = [large_session() for _ in range(2)]
            x = rows(LARGE)
            tasks = [asyncio.create_task(s.run_async(x)) for s in sessions]
            await asyncio.sleep(0)
            turns = 0
            while not all(task.done() for task in tasks):
                turns += 1
                await asyncio.sleep(0)
            answers = [task.result()["y"] for task in tasks]
            for session in sessions:
                session.close()
            return turns, answers

        turns, (first, second) = asyncio.run(main())
        self.assertGreater(turns, 1)
        np.testing.assert_array_equal(first, second)

    def test_a_session_that_runs_refuses_other_calls(self):
        async def main():
            with large_session() as session:
                x = rows(LARGE)
                task = asyncio.create_task(session.run_async(x))
                await asyncio.sleep(0)
                for call in (session.execute, lambda: session.output("y"), session.save_state):
                    with self.assertRaises(ingot.CallerError) as raised:
                        call()
                    self.assertEqual(raised.exception.code, 8)
                    self.assertIn("await", raised.exception.hint)
                with self.assertRaises(ingot.CallerError):
                    await session.run_async(x)
                await task
                session.run(x)

        asyncio.run(main())

    def test_a_cancelled_task_ends_the_run_and_leaves_the_session_usable(self):
        async def main():
            with large_session() as session:
                x = rows(LARGE)
                expected = session.run(x)["y"]
                for delay in (0, 0, 0.0005, 0.002, 0.05):
                    task = asyncio.create_task(session.run_async(x))
                    await asyncio.sleep(delay)
                    task.cancel()
                    try:
                        answer = (await task)["y"]
                    except asyncio.CancelledError:
                        pass
                    else:
                        np.testing.assert_array_equal(answer, expected)
                    np.testing.assert_array_equal((await session.run_async(x))["y"], expected)

        asyncio.run(main())

    def test_a_session_that_is_dropped_while_it_runs_ends_first(self):
        session = large_session()
        session._begin(rows(LARGE))
        fd = session._ended_fd
        del session
        with self.assertRaises(OSError):
            os.fstat(fd)

    def test_close_ends_a_started_run(self):
        session = large_session()
        session._begin(rows(LARGE))
        session.close()
        self.assertTrue(session.closed)

    def test_a_session_without_a_thread_says_how_to_get_one(self):
        async def main():
            with small_models.linear().session() as session:
                await session.run_async(np.zeros((1, 4), np.float32))

        with self.assertRaises(ingot.CallerError) as raised:
            asyncio.run(main())
        self.assertEqual(raised.exception.code, 8)
        self.assertIn("asynchronous=True", str(raised.exception))

    def test_a_forked_child_is_refused_a_thread(self):
        with small_models.linear().session(asynchronous=True) as session:
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    session._begin(np.zeros((1, 4), np.float32))
                except ingot.ResourceError as error:
                    status = 0 if error.code == 45 else 2
                finally:
                    os._exit(status)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
