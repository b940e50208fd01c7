# SPDX-License-Identifier: Apache-2.0
"""Sessions: arrays in and out, addresses, bindings, lifetimes, bad input, state, other extents."""

import array
import gc
import os
import threading
import unittest
import weakref

import numpy as np
import small_models
from small_models import address, misaligned, rows

import ingot

LARGE = 4096  # rows of 16 bytes: more than run() copies


class RunTest(unittest.TestCase):
    def test_names_positions_and_bindings_give_one_answer(self):
        given, expected = small_models.linear_case()
        with small_models.linear().session() as session:
            answers = [session.run({"x": given}), session.run(given)]
            aligned = ingot.empty((1, 4))
            aligned[:] = given
            session.bind_input("x", aligned)
            answers.append(session.run())
            session.bind_input(0, None)
            session.input("x")[:] = given
            session.execute()
            answers.append({"y": session.output("y").copy()})
        for answer in answers:
            self.assertEqual(list(answer), ["y"])
            np.testing.assert_allclose(answer["y"], expected, atol=1e-5)
            self.assertEqual(answer["y"].tobytes(), answers[0]["y"].tobytes())

    def test_results_are_arrays_of_their_own(self):
        for count in (2, LARGE):
            with small_models.batch().session(bindings={"N": count}) as session:
                first = session.run(rows(count, 1))["y"]
                kept = first.copy()
                second = session.run(rows(count, 2))["y"]
            self.assertNotEqual(address(first), address(second))
            np.testing.assert_array_equal(first, kept)
            self.assertTrue(first.flags.writeable)

    def test_everything_that_holds_elements_is_read(self):
        given, expected = small_models.linear_case()
        with small_models.linear().session() as session:
            flat = array.array("f", given.ravel())
            shown = memoryview(flat).cast("B").cast("f", (1, 4))
            for source in (given, shown, given.astype("<f4"), np.repeat(given, 2, axis=0)[:1]):
                np.testing.assert_allclose(session.run(source)["y"], expected, atol=1e-5)

    def test_outputs_are_written_into_arrays_of_the_caller(self):
        for count in (2, LARGE):
            x = rows(count)
            with small_models.batch().session(bindings={"N": count}) as session:
                expected = session.run(x)["y"]
                for given in (ingot.empty((count, 3)), misaligned(ingot.empty((count, 3)))):
                    given[:] = 7
                    answer = session.run(x, outputs={"y": given})
                    self.assertIs(answer["y"], given)
                    np.testing.assert_array_equal(given, expected)

    def test_a_timeout_ends_the_run_by_its_own_exception(self):
        with small_models.linear().session() as session:
            with self.assertRaises(ingot.DeadlineExceeded) as raised:
                session.run(np.zeros((1, 4), np.float32), timeout=0)
            self.assertEqual(raised.exception.code, 10)
            self.assertIsInstance(raised.exception, TimeoutError)
            session.run(np.zeros((1, 4), np.float32), timeout=60)
            with self.assertRaises(ValueError):
                session.run(np.zeros((1, 4), np.float32), timeout=-1)

    def test_cancel_ends_the_next_run_alone(self):
        given, expected = small_models.linear_case()
        with small_models.linear().session() as session:
            session.cancel()
            with self.assertRaises(ingot.Cancelled):
                session.run(given)
            np.testing.assert_allclose(session.run(given)["y"], expected, atol=1e-5)


class CopyTest(unittest.TestCase):
    """Where bytes lie: addresses show that nothing was copied."""

    def test_views_are_of_the_arena(self):
        arena = ingot.empty(1 << 20, "uint8")
        with small_models.linear().session("cpu", 1, arena=arena) as session:
            for view in (session.input("x"), session.output("y")):
                self.assertTrue(np.shares_memory(view, arena))
                self.assertTrue(view.flags.writeable)

    def test_bound_arrays_are_read_and_written_where_they_lie(self):
        x, y = rows(LARGE), ingot.empty((LARGE, 3))
        with small_models.batch().session(bindings={"N": LARGE}, bind_ports=True) as session:
            # The arena has no place for the ports: what is computed can only be in these arrays.
            need = session.requirements()
            self.assertLess(need.activations, x.nbytes)
            session.bind_input("x", x)
            session.bind_output("y", y)
            self.assertIs(session.input("x"), x)
            self.assertIs(session.run()["y"], y)
            self.assertEqual(session.copied_bytes, 0)
            before = y.copy()
            x *= -1
            session.execute()
            self.assertFalse(np.array_equal(before, y))

    def test_run_reads_and_writes_large_aligned_arrays_where_they_lie(self):
        x = rows(LARGE)
        with small_models.batch().session(bindings={"N": LARGE}) as session:
            # What lies in the arena is not touched by a run that uses other memory.
            session.input("x")[:] = 1
            answer = session.run(x)["y"]
            self.assertEqual(session.copied_bytes, 0)
            self.assertEqual(address(answer) % 64, 0)
            self.assertTrue((session.input("x") == 1).all())
            self.assertFalse(np.shares_memory(answer, session.output("y")))
            same = session.run(misaligned(x))["y"]
            self.assertEqual(session.copied_bytes, x.nbytes)
            np.testing.assert_array_equal(answer, same)

    def test_copy_false_refuses_what_would_be_copied(self):
        x = rows(LARGE)
        with small_models.batch().session(bindings={"N": LARGE}) as session:
            expected = session.run(x, copy=False)["y"]
            with self.assertRaises(ingot.CallerError) as raised:
                session.run(misaligned(x), copy=False)
            self.assertEqual((raised.exception.code, raised.exception.need), (7, 64))
            self.assertEqual(raised.exception.have, 16)
            self.assertEqual(raised.exception.name, "x")
            with self.assertRaises(ingot.CallerError) as raised:
                session.run(x, outputs={"y": misaligned(expected)}, copy=False)
            self.assertEqual(raised.exception.name, "y")
            np.testing.assert_array_equal(session.run(x)["y"], expected)
            with self.assertRaises(TypeError):
                session.run(x, copy=True)

    def test_rows_of_a_longer_array_are_copied(self):
        wide = ingot.empty((LARGE, 16))
        x = wide[:, :4]
        x[:] = rows(LARGE)
        with small_models.batch().session(bindings={"N": LARGE}) as session:
            expected = session.run(rows(LARGE))["y"]
            np.testing.assert_array_equal(session.run(x)["y"], expected)
            self.assertEqual(session.copied_bytes, x.nbytes)
            for call in (lambda: session.run(x, copy=False), lambda: session.bind_input("x", x)):
                with self.assertRaises(ingot.CallerError) as raised:
                    call()
                self.assertEqual((raised.exception.need, raised.exception.have), (4, 16))

    def test_empty_has_the_alignment_that_ports_need(self):
        for shape, dtype in (((3, 5), "float32"), (7, np.uint8), ((), "int64"), ((0, 2), bool)):
            made = ingot.empty(shape, dtype)
            self.assertEqual(address(made) % 64, 0)
            self.assertEqual(made.dtype, np.dtype(dtype))
            self.assertEqual(made.shape, (shape,) if isinstance(shape, int) else shape)
        for shape in ((2**40, 2**40), (-1,)):
            with self.assertRaises((ingot.ResourceError, ValueError)):
                ingot.empty(shape)
        with self.assertRaises(ingot.CallerError):
            ingot.empty(3, "complex64")


class BadInputTest(unittest.TestCase):
    def setUp(self):
        self.session = small_models.linear().session()
        self.given, self.expected = small_models.linear_case()

    def tearDown(self):
        # Whatever was refused, the session goes on.
        np.testing.assert_allclose(self.session.run(self.given)["y"], self.expected, atol=1e-5)
        self.session.close()

    def refused(self, code, *inputs, **more):
        for call in (self.session.run, lambda a, **_: self.session.bind_input("x", a)):
            with self.assertRaises(ingot.CallerError) as raised:
                call(*inputs, **more)
            self.assertEqual(raised.exception.code, code, raised.exception)
            self.assertEqual(raised.exception.name, "x")
            self.assertNotIn("\n", str(raised.exception))
        return raised.exception

    def test_wrong_element_types(self):
        error = self.refused(4, self.given.astype(np.float64))
        self.assertEqual((error.need, error.have), (1, 4))
        self.assertIn("expected f32, found f64", str(error))
        self.refused(4, self.given.astype(">f4"))
        self.refused(4, self.given.astype(np.complex64))
        self.refused(4, np.array([["a", "b", "c", "d"]]))

    def test_wrong_shapes(self):
        error = self.refused(3, np.zeros((1, 5), np.float32))
        self.assertEqual((error.need, error.have), (4, 5))
        self.assertIn("dims[1]", error.field)
        self.refused(3, np.zeros((1, 4, 1), np.float32))
        self.refused(3, np.zeros((), np.float32))
        self.refused(3, np.zeros((1,) * 9, np.float32))

    def test_wrong_order(self):
        with small_models.batch().session(bindings={"N": 4}) as session:
            for wrong in (np.asfortranarray(rows(4)), rows(8)[::2, ::-1], rows(4)[::-1]):
                with self.assertRaises(ingot.CallerError) as raised:
                    session.run(wrong)
                self.assertEqual(raised.exception.code, 3)
                self.assertIn("ascontiguousarray", raised.exception.hint)
            broadcast = np.broadcast_to(rows(1), (4, 4))
            with self.assertRaises(ingot.CallerError):
                session.run(broadcast)

    def test_what_is_no_array(self):
        for wrong in ([[1.0, 2.0, 3.0, 4.0]], 3.0, "x", object()):
            with self.assertRaisesRegex(TypeError, "'x': expected an array"):
                self.session.run(wrong)

    def test_wrong_names_and_counts(self):
        with self.assertRaises(ingot.CallerError) as raised:
            self.session.run({"X": self.given})
        self.assertEqual(raised.exception.code, 2)
        self.assertIn("there are: 'x'", str(raised.exception))
        with self.assertRaisesRegex(ingot.CallerError, "no state named 'q'; there are none"):
            self.session.state("q")
        for wrong in ((), (self.given, self.given)):
            with self.assertRaises(ingot.CallerError) as raised:
                self.session.run(*wrong)
            self.assertEqual(raised.exception.code, 2)
        with self.assertRaises(ingot.CallerError):
            self.session.run(self.given, outputs={"z": self.given})
        with self.assertRaises(TypeError):
            self.session.run(self.given, outputs=[self.given])
        for which in ("z", 5):
            with self.assertRaises(ingot.CallerError):
                self.session.input(which)
        with self.assertRaises(TypeError):
            self.session.output(1.5)

    def test_what_may_not_be_written_is_no_output(self):
        frozen = ingot.empty((1, 3))
        frozen.flags.writeable = False
        for call in (
            lambda: self.session.run(self.given, outputs={"y": frozen}),
            lambda: self.session.bind_output("y", frozen),
        ):
            with self.assertRaises(ingot.CallerError) as raised:
                call()
            self.assertEqual(raised.exception.code, 1)
            self.assertIn("read-only", str(raised.exception))

    def test_a_bound_port_is_not_given_as_well(self):
        aligned = ingot.empty((1, 4))
        aligned[:] = self.given
        self.session.bind_input("x", aligned)
        with self.assertRaises(ingot.CallerError) as raised:
            self.session.run({"x": self.given})
        self.assertEqual(raised.exception.code, 8)
        self.session.bind_input("x", None)

    def test_ports_that_only_the_caller_has_must_be_bound(self):
        with small_models.linear().session(bind_ports=True) as session:
            with self.assertRaises(ingot.CallerError) as raised:
                session.execute()
            self.assertEqual(raised.exception.code, 8)
            with self.assertRaises(ingot.CallerError):
                session.output("y")
            with self.assertRaises(ingot.CallerError):
                session.run(misaligned(self.given))
            aligned = ingot.empty((1, 4))
            aligned[:] = self.given
            np.testing.assert_allclose(session.run(aligned)["y"], self.expected, atol=1e-5)


class LifetimeTest(unittest.TestCase):
    def test_a_bound_array_lives_as_long_as_it_is_bound(self):
        class Watched(np.ndarray):
            pass

        x = rows(LARGE).view(Watched)
        seen = weakref.ref(x)
        with small_models.batch().session(bindings={"N": LARGE}) as session:
            expected = session.run(x)["y"]
            gc.collect()
            session.bind_input("x", x)
            del x
            gc.collect()
            self.assertIsNotNone(seen())
            np.testing.assert_array_equal(session.run()["y"], expected)
            session.bind_input("x", None)
            gc.collect()
            self.assertIsNone(seen())

    def test_bound_memory_cannot_be_given_back_meanwhile(self):
        room = bytearray(4096)
        at = -np.frombuffer(room, np.uint8).__array_interface__["data"][0] % 64
        session = small_models.linear().session()
        session.bind_input("x", memoryview(room)[at : at + 16].cast("f", (1, 4)))
        with self.assertRaises(BufferError):
            room.extend(b"more")
        session.close()
        room.extend(b"more")

    def test_run_lets_go_of_its_arrays(self):
        x, y = rows(LARGE).view(type("Watched", (np.ndarray,), {})), ingot.empty((LARGE, 3))
        seen = weakref.ref(x)
        with small_models.batch().session(bindings={"N": LARGE}) as session:
            session.run(x, outputs={"y": y})
            del x
            gc.collect()
            self.assertIsNone(seen())
            session.execute()  # in the arena, not in what was bound for that run

    def test_arrays_of_the_arena_outlive_their_session_and_model(self):
        model = small_models.batch()
        session = model.session(bindings={"N": LARGE})
        expected = session.run(rows(LARGE))["y"]
        session.input("x")[:] = rows(LARGE)
        session.execute()
        view = session.output("y")
        session.close()
        del session, model
        gc.collect()
        np.testing.assert_array_equal(view, expected)

    def test_a_closed_session_refuses_everything(self):
        session = small_models.stream().session()
        session.close()
        session.close()
        session.cancel()
        self.assertTrue(session.closed)
        x = np.zeros((1, 2), np.float32)
        for call in (
            lambda: session.run(x),
            lambda: session.execute(),
            lambda: session.input("x"),
            lambda: session.output("y"),
            lambda: session.bind_input("x", x),
            lambda: session.rebind(N=2),
            lambda: session.state("s"),
            lambda: session.save_state(),
            lambda: session.restore_state(b""),
            lambda: session.reset_state(),
            lambda: session.requirements(),
            lambda: session.placement(),
            lambda: session.park(),
        ):
            with self.assertRaises(ingot.CallerError) as raised:
                call()
            self.assertEqual(raised.exception.code, 8)
            self.assertIn("closed", str(raised.exception))


class ThreadTest(unittest.TestCase):
    def test_a_second_thread_in_a_session_is_refused(self):
        given, expected = small_models.linear_case()
        session = small_models.linear().session()
        refused = []

        def enter():
            for call in (session.execute, session.close, lambda: session.input("x")):
                try:
                    call()
                except ingot.CallerError as error:
                    refused.append((error.code, "another thread" in str(error)))

        class Meeting:
            """An array that is asked for while the session is in use."""

            def __dlpack__(self, **_):
                thread = threading.Thread(target=enter)
                thread.start()
                thread.join()
                return given.__dlpack__()

        np.testing.assert_allclose(session.run(Meeting())["y"], expected, atol=1e-5)
        self.assertEqual(refused, [(8, True)] * 3)
        np.testing.assert_allclose(session.run(given)["y"], expected, atol=1e-5)

    def test_other_threads_run_while_a_session_computes(self):
        count = 1 << 20
        x, y = rows(count), ingot.empty((count, 3))
        session = small_models.batch().session(threads=1, bindings={"N": count}, bind_ports=True)
        session.bind_input("x", x)
        session.bind_output("y", y)
        seen, runs = [0], 20
        done = threading.Event()

        def compute():
            for _ in range(runs):
                session.execute()
            done.set()

        thread = threading.Thread(target=compute)
        thread.start()
        while not done.is_set():
            seen[0] += 1
        thread.join()
        # With the interpreter held, this loop would go on between the runs alone.
        self.assertGreater(seen[0], 10 * runs)

    def test_a_forked_child_runs_and_gives_the_same(self):
        given, expected = small_models.linear_case()
        for threads in (1, 2):
            session = small_models.linear().session(threads=threads)
            session.run(given)
            reader, writer = os.pipe()
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    os.write(writer, session.run(given)["y"].tobytes())
                    status = 0
                finally:
                    os._exit(status)
            os.close(writer)
            answer = np.frombuffer(os.read(reader, 1000), np.float32).reshape(1, 3)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
            os.close(reader)
            np.testing.assert_allclose(answer, expected, atol=1e-5)
            np.testing.assert_array_equal(session.run(given)["y"], answer)


class StateTest(unittest.TestCase):
    def test_state_goes_from_run_to_run_and_is_saved(self):
        one = np.ones((1, 2), np.float32)
        with small_models.stream().session() as session:
            for step in range(1, 4):
                np.testing.assert_array_equal(session.run(one)["y"], 2 * step * one)
            saved = session.save_state()
            np.testing.assert_array_equal(session.state("s"), 3 * one)
            session.state(0)[:] = 10
            np.testing.assert_array_equal(session.run(one)["y"], 22 * one)
            session.reset_state()
            np.testing.assert_array_equal(session.run(one)["y"], 2 * one)
        with small_models.stream().session() as session:
            session.restore_state(saved)
            np.testing.assert_array_equal(session.run(one)["y"], 8 * one)
            session.park()
            np.testing.assert_array_equal(session.run(one)["y"], 10 * one)

    def test_a_state_that_does_not_belong_is_refused(self):
        with small_models.stream().session() as session:
            saved = bytearray(session.save_state())
            saved[40] ^= 1
            with self.assertRaises(ingot.Error) as raised:
                session.restore_state(bytes(saved))
            self.assertIn(raised.exception.code, (13, 23))
            with self.assertRaises(TypeError):
                session.restore_state(np.zeros(3, np.float32))
            session.state("s")[:] = np.nan
            with self.assertRaises(ingot.CallerError) as raised:
                session.check_state()
            self.assertEqual(raised.exception.code, 12)


class RebindTest(unittest.TestCase):
    def test_other_extents_in_one_arena(self):
        model = small_models.batch()
        options = {"bindings": {"N": 1}, "rebindable": True, "upper_bounds": {"N": 64}}
        with model.session("cpu", 1, **options) as session:
            need = session.requirements().arena_bytes
            self.assertEqual(need, model.requirements("cpu", 1, **options).arena_bytes)
            for count in (3, 64, 1):
                session.rebind(N=count)
                with model.session(bindings={"N": count}) as alone:
                    np.testing.assert_array_equal(
                        session.run(rows(count))["y"], alone.run(rows(count))["y"]
                    )
                self.assertEqual(session.input("x").shape, (count, 4))
            with self.assertRaises(ingot.CallerError) as raised:
                session.rebind({"N": 65})
            self.assertEqual(
                (raised.exception.code, raised.exception.need, raised.exception.have), (6, 64, 65)
            )
            np.testing.assert_array_equal(session.run(rows(1))["y"].shape, (1, 3))
            with self.assertRaises(TypeError):
                session.rebind(N="many")

    def test_a_bound_array_is_let_go_when_extents_change(self):
        options = {"bindings": {"N": 2}, "rebindable": True, "upper_bounds": {"N": 8}}
        with small_models.batch().session(**options) as session:
            session.bind_input("x", rows(2))
            session.rebind(N=4)
            with self.assertRaises(ingot.CallerError):
                session.run()
            self.assertEqual(session.run(rows(4))["y"].shape, (4, 3))

    def test_open_dimensions_must_be_bound(self):
        with self.assertRaises(ingot.CallerError) as raised:
            small_models.batch().session()
        self.assertEqual((raised.exception.code, raised.exception.name), (5, "N"))
        self.assertEqual(small_models.batch().bindings_of({"x": rows(5)}), {"N": 5})
        for wrong in ({"N": 2.5}, {3: 3}, 5):
            with self.assertRaises((TypeError, ValueError)):
                small_models.batch().session(bindings=wrong)
