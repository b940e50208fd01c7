# SPDX-License-Identifier: Apache-2.0
"""python3 -m ingot: the script `ingot`, where pip's folder of scripts is not on the PATH."""

from ._command import main

main()
