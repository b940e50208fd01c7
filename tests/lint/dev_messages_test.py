#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What ./dev says where something is wrong or missing: one line that says what to do.

  dev_messages_test.py ROOT TREE

A copy of the tree's build description is asked, with a PATH that has no compiler, no cmake.
"""

import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import Checks, run, work_folder  # noqa: E402

ROOT = pathlib.Path(sys.argv[1]).resolve()
TOOLS = """bash env cmake ninja python3 git sed grep awk dirname nproc cat mkdir sort tail
head tr uname date timeout sleep rm ls tee wc cut touch dpkg-query""".split()
checks = Checks("dev_messages")
check = checks.check
C_COMPILER = "gcc as ld ar ranlib nm objcopy objdump strip".split()


def ask(tree, words, without=(), also=(), scripts=()):
    """`scripts`: (name, lines of shell) that stand for programs."""
    folder = tree / ("bin-" + "-".join([*without, *also, *(name for name, _ in scripts)]))
    if not folder.exists():
        folder.mkdir()
        for name in [*TOOLS, *also]:
            found = shutil.which(name)
            if found and name not in without and name not in dict(scripts):
                (folder / name).symlink_to(found)
        for name, text in scripts:
            (folder / name).write_text(f"#!/usr/bin/env bash\n{text}\n")
            (folder / name).chmod(0o755)
    environment = {"PATH": str(folder), "HOME": str(tree), "INGOT_PACKAGES": "present"}
    done = subprocess.run(
        [tree / "dev", *words],
        cwd=tree,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.returncode, done.stdout.strip().splitlines()


def check_new_test(tree):
    """A test whose source came after the tree was configured, then one of a tree without logs."""
    gcc = tree / "build/gcc"
    gcc.mkdir(parents=True)
    (gcc / "CTestTestfile.cmake").touch()
    (gcc / "CMakeCache.txt").write_text("INGOT_TESTS:BOOL=ON\n")
    scripts = (
        ("cmake", '[ "$1" != -S ] || echo "add_test(new true)" >build/gcc/CTestTestfile.cmake'),
        ("ninja", "true"),
        ("ctest", "echo 1 passed, 0 failed"),
    )
    for what in ("a new test", "without logs"):
        code, lines = ask(tree, ["test", "new"], scripts=scripts)
        check(code == 0 and "1 passed, 0 failed, 0 skipped" in lines, what, lines)
        shutil.rmtree(tree / "build/logs", ignore_errors=True)
    code, lines = ask(tree, ["test", "nosuch"], scripts=scripts)
    check(code != 0 and "no stage or test 'nosuch'" in lines[-1], "no such test", lines)


def main():
    with work_folder() as tree:
        shutil.copy(ROOT / "dev", tree)
        for folder in ("cmake", "tools/lint"):
            shutil.copytree(ROOT / folder, tree / folder)
        shutil.copy(ROOT / "CMakeLists.txt", tree)
        cases = [
            (["nosuch"], (), ["dev: command 'nosuch' is unknown", "./dev --help"]),
            ([], (), None),
            (["test", "--nosuch"], (), ["no option '--nosuch'", "./dev --help"]),
            (["demo", "--nosuch"], (), ["'--nosuch' is unknown", "./dev demo --help"]),
            (["show", "nosuch"], (), ["no line 'nosuch'", "./dev show --list"]),
            (["build"], (), ["the compiler", "missing", "apt-get install g"]),
            (["test", "nosuch"], ("python3",), ["needs python3", "apt-get install python3"]),
            (["build"], ("cmake",), ["cmake and ninja are needed", "apt-get install cmake"]),
        ]
        # The one that is missing is named, not the one that is there.
        _, lines = ask(tree, ["build"], (), C_COMPILER)
        check(len(lines) == 1 and "the compiler g++ is missing" in lines[0], "no g++", lines)
        shutil.rmtree(tree / "build")
        # Help installs and builds nothing, and says how long the demo takes.
        code, lines = ask(tree, ["demo", "--help"], ("cmake",))
        check(code == 0 and "usage: ./dev demo" in lines, "./dev demo --help", lines)
        check(any(line.startswith("Takes ") for line in lines), "how long it takes", lines)
        check(not (tree / "build").exists(), "./dev demo --help makes nothing", lines)
        for words, without, said in cases:
            code, lines = ask(tree, words, without)
            what = " ".join(["./dev", *words])
            check(code != 0, f"{what}: fails", code)
            if said:
                check(len(lines) == 1, f"{what}: one line", lines)
                for part in said:
                    check(lines and part in lines[-1], f"{what}: says '{part}'", lines)
        shutil.rmtree(tree / "build")
        check_new_test(tree)
    # A name that is nearly a test's: of the tree that runs this.
    command = (sys.executable, ROOT / "cmake/dev/one_test.py", sys.argv[2], "sesion_run")
    found = run(*command, env={"INGOT_PACKAGES": "present"})
    check(found.returncode and "session_run" in found.stdout, "a name nearly right", found.stdout)
    sys.exit(checks.finish())


main()
