#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A source of each kind without the license's line is found, and is right once the line is added.

licenses_test.py ROOT        the last line counts"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import Checks, run  # noqa: E402

ROOT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "tools/lint"))
import licenses  # noqa: E402

SOURCES = {
    "runtime/base/x.h": "// x.h - what it is.\n#pragma once\n",
    "runtime/include/ingot/x.h": "/* x.h - a header of C. */\n",
    "examples/c/x.c": "int main(void) { return 0; }\n",
    "kernels/cuda/x.cuh": "#pragma once\n",
    "runtime/op/x.def": "ROW(a)\n",
    "schema/x.fbs": "table X {}\n",
    "tools/x.py": '#!/usr/bin/env python3\n"""What it does."""\n',
    "tests/x/__init__.py": "",
    "cmake/dev/x.sh": "# What it does.\n",
    "tests/x/CMakeLists.txt": "add_test()\n",
    "dev": "#!/usr/bin/env bash\n",
}


def main():
    checks = Checks("licenses_lint")
    for name, text in SOURCES.items():
        checks.check(not licenses.is_licensed(name, text), f"{name} without the line passed")
        added = licenses.with_line(name, text)
        checks.check(licenses.is_licensed(name, added), f"{name}: {added!r} was refused")
        where = 1 if text.startswith("#!") else 0
        checks.check(licenses.LINE in added.split("\n")[where], f"{name}: the line stands elsewhere")
        moved = text + "\n" + licenses.line_of(name, text)
        checks.check(not licenses.is_licensed(name, moved + "\n"), f"{name}: a late line passed")
    for name in ("docs/x.md", "tests/golden/x.py", "tests/fuzz/seeds/x.py"):
        checks.check(licenses.is_licensed(name, "x = 1\n"), f"{name} needs no line and was refused")
    checks.report("the tree itself", run(sys.executable, ROOT / "tools/lint/licenses.py").error)
    sys.exit(checks.finish())


main()
