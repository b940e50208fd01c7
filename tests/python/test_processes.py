# SPDX-License-Identifier: Apache-2.0
"""Forks and the end of a process: what a child may not touch, and threads that still compute."""

import os
import signal
import subprocess
import sys
import threading
import time
import unittest

import numpy as np
import small_models
from small_models import rows

import ingot
import ingot.compat

SECONDS = 60  # until a child counts as hung


class ForkTest(unittest.TestCase):
    def test_a_child_that_exits_leaves_the_temporary_model(self):
        # A process of its own: sys.exit() in the child of a test runner would end the runner twice.
        program = (
            "import ingot, os, pickle, sys\n"
            f"m = ingot.convert({str(small_models.DATA / 'linear.onnx')!r})\n"
            "child = os.fork()\n"
            "if child == 0: sys.exit(0)\n"
            "assert os.waitpid(child, 0)[1] == 0\n"
            "assert os.path.exists(m.path), 'the child deleted it'\n"
            "pickle.loads(pickle.dumps(m)).session().close()\n"
            "print(os.path.dirname(m.path))\n"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertFalse(os.path.exists(done.stdout.strip()))  # with its own process it goes

    def test_compat_goes_on_in_a_child_forked_while_a_thread_runs(self):
        session = ingot.compat.InferenceSession(str(small_models.DATA / "batch.onnx"))
        x, count = rows(1 << 16), 4
        (expected,) = session.run(None, {"x": x})
        stop = threading.Event()

        def work():
            while not stop.is_set():
                session.run(None, {"x": x})

        thread = threading.Thread(target=work)
        thread.start()
        try:
            for _ in range(count):
                time.sleep(0.01)
                child = os.fork()
                if child == 0:
                    signal.alarm(SECONDS)
                    same = np.array_equal(session.run(None, {"x": x})[0], expected)
                    os._exit(0 if same else 1)
                ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                self.assertEqual(ended, 0, "SIGALRM: it hung")
        finally:
            stop.set()
            thread.join()
        np.testing.assert_array_equal(session.run(None, {"x": x})[0], expected)

    def test_a_session_in_use_at_the_fork_says_so_in_the_child(self):
        given, _ = small_models.linear_case()
        session = small_models.linear().session()
        seen = []

        class Forks:
            def __dlpack__(self, **_):
                child = os.fork()
                if child == 0:
                    try:
                        session.run(given)
                    except ingot.CallerError as error:
                        os._exit(0 if "forked" in str(error) else 1)
                    os._exit(2)
                seen.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
                return given.__dlpack__()

        session.run(Forks())
        self.assertEqual(seen, [0])


class ExitTest(unittest.TestCase):
    """The interpreter ends while daemon threads are inside the package."""

    def ends(self, work, quietly=True):
        program = (
            "import ingot, numpy as np, threading, time\n"
            f"path = {str(small_models.path_of('batch'))!r}\n"
            f"source = {str(small_models.DATA / 'linear.onnx')!r}\n"
            "model, count = ingot.Model(path), 1 << 18\n"
            "x = {'x': np.zeros((count, 4), np.float32)}\n"
            f"{work}\n"
            "threads = [threading.Thread(target=work, daemon=True) for _ in range(3)]\n"
            "[thread.start() for thread in threads]\n"
            "time.sleep(0.3)\n"
        )
        for _ in range(3):
            done = subprocess.run(
                [sys.executable, "-c", program], capture_output=True, text=True, timeout=SECONDS
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            if quietly:
                self.assertEqual(done.stderr, "")

    def test_in_a_run(self):
        self.ends(
            "def work():\n"
            " s = model.session('cpu', 1, bindings={'N': count})\n"
            " while True: s.run(x)"
        )

    def test_in_a_pipeline(self):
        self.ends(
            "def work():\n"
            " p = model.pipeline(2, 'cpu', 1, bindings={'N': count})\n"
            " for _ in p.map(x for _ in range(10**9)): pass"
        )

    def test_while_files_are_opened_and_sessions_made(self):
        self.ends(
            "def work():\n"
            " while True: ingot.Model(path).session('cpu', 2, bindings={'N': 64}).close()"
        )

    def test_in_a_conversion(self):
        # Its temporary folder goes before the thread does, which may say so.
        self.ends("def work():\n while True: ingot.convert(source)", quietly=False)
