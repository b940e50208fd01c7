"""The end of a process whose threads still compute."""

import subprocess
import sys
import unittest

import small_models

SECONDS = 60  # until a child counts as hung


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
