# SPDX-License-Identifier: Apache-2.0
"""Where shared material lies: models, checkpoints and reference outputs that are not part of the
repository. The tests use it where it is present.

INGOT_SHARED names its folder; `none` means that there is none. Unset or empty: the folder `shared`
beside the checkout. tests/support/shared.h and cmake/dev/shared.sh follow the same rule, and no
other file may (tests/lint/shared_material_test.py)."""

import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]


def shared_folder(value=None):
    """The folder, which need not exist. `value`: in place of the environment variable."""
    value = os.environ.get("INGOT_SHARED", "") if value is None else value
    if value == "none":
        return pathlib.Path(os.devnull) / "none"  # no file can be below it
    return pathlib.Path(value) if value else ROOT.parent / "shared"


SHARED = shared_folder()
