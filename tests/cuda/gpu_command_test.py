#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What ./dev gpu asks for, with programs that only say how they were called: architectures of a
prepared tree, replays of branches, what the vendor's checks watch.

  gpu_command_test.py ROOT
"""

import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import Checks, run, work_folder  # noqa: E402

ROOT = pathlib.Path(sys.argv[1]).resolve()
SAYS = '#!/bin/sh\necho "$(basename "$0") $*"\n'
checks = Checks("gpu_command", verbose=True)
check = checks.check


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def ask(tree, lines, **variables):
    """(exit status, output) of these lines of bash behind the files of ./dev."""
    script = f'for f in {ROOT}/cmake/dev/*.sh; do . "$f"; done\n{lines}'
    path = {"PATH": f"{tree}/bin:{os.environ['PATH']}"}
    given = {"INGOT_CUDA_ARCHITECTURES": "", **path, **variables}
    done = run("bash", "-eu", "-o", "pipefail", "-c", script, cwd=tree, env=given)
    return done.returncode, done.stdout + done.stderr


def architectures(tree):
    # in place of those of ./dev: say what would be built, and name no GPU
    functions = (
        'configure_and_build() { printf "%s\\n" "${@: -1}"; }; cuda_architectures_here() { :; }\n'
    )
    build = 'gpu_build "$(gpu_architectures "{}")"'
    for prepare, variable, want in (("1", "", ""), ("1", "90", "90"), ("", "", "87")):
        given = {"INGOT_CUDA_ARCHITECTURES": variable} if variable else {}
        _, said = ask(tree, functions + build.format(prepare), **given)
        check(
            said.strip() == f"-DINGOT_CUDA_ARCHITECTURES={want}",
            f"{'--prepare' if prepare else 'a build here'} {variable or 'without a variable'}: "
            f"architectures '{want}'",
            said,
        )


def compilers(tree):
    """Which of several compilers makes the code of an architecture (cmake/IngotCuda.cmake)."""
    (tree / "ask.cmake").write_text(f"""cmake_minimum_required(VERSION 3.16)
include({ROOT}/cmake/IngotCuda.cmake)
set(versions ${{HAVE}})
foreach(version ${{versions}})
  list(LENGTH ingot_nvccs i)
  list(APPEND ingot_nvccs nvcc-${{version}})
  set(ingot_nvcc_version_${{i}} ${{version}})
  set(ingot_nvcc_targets_${{i}} 75 80 86 89 90)
  if(version VERSION_LESS 13)
    list(APPEND ingot_nvcc_targets_${{i}} 72 87)
  else()
    list(APPEND ingot_nvcc_targets_${{i}} 100 120)
  endif()
endforeach()
foreach(architecture 72 75 87 90 100)
  ingot_nvcc_for(${{architecture}} i products)
  if(NOT "${{i}}" STREQUAL "")
    message("${{architecture}}@${{ingot_nvcc_version_${{i}}}}")
  endif()
endforeach()
""")
    for have, want in (
        ("11.8;12.4;13.0", "72@11.8 75@12.4 87@11.8 90@12.4 100@13.0"),
        ("13.2;12.4", "72@12.4 75@12.4 87@12.4 90@12.4 100@13.2"),
        ("11.8;13.0", "72@11.8 75@13.0 87@11.8 90@13.0 100@13.0"),
        ("12.4", "72@12.4 75@12.4 87@12.4 90@12.4"),
    ):
        _, said = ask(tree, f"cmake '-DHAVE={have}' -P ask.cmake")
        check(" ".join(said.split()) == want, f"of compilers {have}: {want}", said)


def factors(tree):
    """What a report says of predictions goes into the cost model by one command."""
    figure = {"network": "n", "batch": 1, "precision": "fp16", "p50_ms": 2.0, "predicted_ms": 1.0}
    other = {**figure, "batch": 8, "p50_ms": 0.5}
    report = {"gpu": "NVIDIA H200", "figures": [figure, other, {**figure, "precision": "fast"}]}
    (tree / "results.json").write_text(json.dumps(report))
    table = tree / "measured.inl"
    table.write_text('// head\n{"h200", "fp16", 9, 1},\n{"t4", "fp16", 3, 2},\n')
    script = f"{ROOT}/tests/figures/gpu_factors.py"
    status, said = ask(tree, f"python3 {script} results.json --write {table}")
    rows = [line for line in table.read_text().splitlines() if line.startswith("{")]
    want = ['{"h200", "fast", 2, 1},', '{"h200", "fp16", 1, 2},', '{"t4", "fp16", 3, 2},']
    check(status == 0 and rows == want, "factors of a report; other GPUs' stay", said)
    (tree / "results.json").write_text(json.dumps({"gpu": "NVIDIA H200", "figures": []}))
    status, said = ask(tree, f"python3 {script} results.json --write {table}")
    check(status != 0 and "no figure" in said, "a report without figures changes nothing", said)


def replays(tree):
    write(tree / "build/gcc/tests/cuda/test_cuda_branches_gpu", SAYS)
    for fake, want in (("", 1000), ("1", 20)):
        # exported and empty, as dev_gpu() has it: the machine's own driver
        _, said = ask(tree, f"gpu_fake='{fake}'; gpu_part_branches", INGOT_CUDA_DRIVER="")
        check(
            f"--replays {want}" in said,
            f"branches {'over the fake driver' if fake else 'on a GPU'}: {want} replays",
            said,
        )


def sanitizers(tree):
    write(tree / "build/gcc/tests/conformance/test_conformance_driver", SAYS)
    part = "gpu_fake= gpu_dir=out gpu_commit=c; mkdir -p out; gpu_part_sanitizers; cat out/*.log"
    write(tree / "bin/compute-sanitizer", SAYS)
    status, said = ask(tree, part)
    calls = [line for line in said.splitlines() if "--tool" in line]
    for tool in ("memcheck", "racecheck", "synccheck"):
        for program in ("test_conformance_driver", "test_cuda_branches_gpu --replays 3"):
            check(
                any(f"--tool {tool}" in c and c.endswith(program) for c in calls),
                f"{tool} watches all of {program}",
                said,
            )
    check(status == 0 and "sanitizers: 6 passed, 0 failed" in said, "six passed", said)
    _, said = ask(tree, part)
    check("earlier call" in said, "what passed is not done again", said)
    write(tree / "bin/compute-sanitizer", "#!/bin/sh\necho '========= ERROR SUMMARY: 1'\nexit 9\n")
    status, said = ask(tree, "rm -rf out; " + part)
    check(status != 0 and "0 passed, 6 failed" in said, "what a check finds is a failure", said)


with work_folder() as name:
    architectures(name)
    compilers(name)
    factors(name)
    replays(name)
    sanitizers(name)
sys.exit(checks.finish())
