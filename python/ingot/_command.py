# SPDX-License-Identifier: Apache-2.0
"""The command line that lies in the package: what converts, and the script `ingot`."""

from __future__ import annotations

import os
import pathlib
import sys

PROGRAM = pathlib.Path(__file__).parent / "bin" / "ingot"


def main() -> None:
    """The script `ingot`: the program in place of this process."""
    os.execv(PROGRAM, ["ingot", *sys.argv[1:]])
