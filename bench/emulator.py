# SPDX-License-Identifier: Apache-2.0
"""Programs of 64-bit Arm under qemu-user, their instructions counted."""

import os
import pathlib
import re
import subprocess

from rows import Unavailable, call

PLUGIN = pathlib.Path(__file__).resolve().parent / "emulated/count_instructions.c"
LIBRARIES = "/usr/aarch64-linux-gnu"  # of the cross compiler


class Emulator:
    """One processor that qemu emulates; what its programs see of the environment besides."""

    def __init__(self, work, processor, environment):
        self.work, self.processor, self.environment = work, processor, environment
        self.plugin = work / "count_instructions.so"
        call(["cc", "-shared", "-fPIC", "-O2", PLUGIN, "-o", self.plugin])

    def run(self, root, command, given=None):
        """(instructions, what was printed); refuses what did not end well. `given`: on standard
        input."""
        line = ["qemu-aarch64", "-plugin", self.plugin, "-L", root, *command]
        environment = {**os.environ, "QEMU_CPU": self.processor, **self.environment}
        done = subprocess.run(
            [str(w) for w in line],
            capture_output=True,
            text=True,
            env=environment,
            timeout=3000,
            input=given,
        )
        said = done.stdout + done.stderr
        found = re.findall(r"^instructions (\d+)$", said, re.M)
        if done.returncode or not found:
            last = " ".join(said.split()[-12:]) or "nothing"
            raise Unavailable(f"exit {done.returncode}: {last}")
        return int(found[-1]), said
