# SPDX-License-Identifier: Apache-2.0
"""Where shared material lies is decided in one place a language, by one rule: a folder, `none`, or
the folder `shared` beside the checkout; and no other file looks for it.
  shared_material_test.py SOURCE_DIR"""

import os
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(root / "tests/support"))
from shared import shared_folder  # noqa: E402
from testing import Checks, run, work_folder  # noqa: E402

DECIDE = {
    "tests/support/shared.py",
    "tests/support/shared.h",
    "cmake/dev/shared.sh",
    ".ci/run",  # gives the folder to its last part
    "tests/lint/shared_material_test.py",
    "tests/lint/ci_test.py",
    "tests/import/onnx/models_test.cpp",  # sets the variable for the rule in C++
}
LOOKS = re.compile(
    r"""\.\./shared\b|/ "shared"|["']\.\.["'], ["']shared["']|env\w*[.(\[].{0,6}INGOT_SHARED"""
    r"""|\$\{INGOT_SHARED"""
)
checks = Checks("shared_material")
check = checks.check


def of_shell(folder, value):
    """(exit code, the variable as ./dev gives it on) in `folder`."""
    environment = {k: v for k, v in os.environ.items() if k != "INGOT_SHARED"}
    if value is not None:
        environment["INGOT_SHARED"] = value
    script = f'. "{root}/cmake/dev/shared.sh"; env | sed -n "s/^INGOT_SHARED=//p"'
    done = subprocess.run(
        ["bash", "-euc", script], cwd=folder, env=environment, capture_output=True, text=True
    )
    return done.returncode, done.stdout.strip()


check(not shared_folder("none").exists(), "python: none is no folder")
check(not (shared_folder("none") / "models").exists(), "python: nothing is below none")
check(shared_folder("") == root.parent / "shared", "python: an empty value is the folder beside")
check(shared_folder("/there") == pathlib.Path("/there"), "python: a folder")
with work_folder() as name:
    work = name.resolve()
    (work / "alone/checkout").mkdir(parents=True)
    (work / "with space/checkout").mkdir(parents=True)
    (work / "with space/shared").mkdir()
    beside = str(work / "with space/shared")
    for folder, value, wanted in (
        ("alone/checkout", None, (0, "none")),
        ("alone/checkout", "", (0, "none")),
        ("alone/checkout", "none", (0, "none")),
        ("alone/checkout", "../../with space/shared", (0, beside)),
        ("with space/checkout", None, (0, beside)),
        ("with space/checkout", "", (0, beside)),
        ("with space/checkout", "none", (0, "none")),
        ("alone/checkout", "../shared", (1, "")),
    ):
        got = of_shell(work / folder, value)
        check(got == wanted, f"shell: {folder}, {value!r}: {got} is not {wanted}")
files = run("git", "-C", root, "ls-files", "-z").succeeded().stdout.split("\0")
for file in files:
    if not file or file in DECIDE or file.endswith(".md") or not (root / file).is_file():
        continue
    try:
        text = (root / file).read_text()
    except UnicodeDecodeError:
        continue
    for number, line in enumerate(text.splitlines(), 1):
        if LOOKS.search(line):
            check(False, f"{file}:{number}: looks for shared material; use tests/support/shared.py")
sys.exit(checks.finish())
