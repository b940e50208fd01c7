# SPDX-License-Identifier: Apache-2.0
"""Real networks converted and asked for their weights: what comes back has the source's bits; the
rest is named; with --keep-weights all of it comes back. Skipped, and counted, where the models are
absent.
  corpus_test.py INGOT SOURCE_DIR"""

import json
import os
import sys

ingot, source = sys.argv[1:3]
sys.path.insert(0, os.path.join(source, "tests/support"))
from shared import SHARED  # noqa: E402
from testing import Checks, run, work_folder  # noqa: E402

models = str(SHARED / "models")
checks = Checks("round_trips")
check = checks.check
given = named = without = 0
LARGEST = 16 << 20


def weights(path):
    return json.loads(run(ingot, "inspect", path, "--weights", "--json").stdout)


def differences(a, b):
    rows = json.loads(run(ingot, "diff", a, b, "--json").stdout)["rows"]
    return [r for r in rows if r["what"] != "fact"]


if not os.path.isdir(models):
    checks.skip("weights of published models: there is no shared material")
    sys.exit(checks.finish())
with work_folder() as folder:
    out = os.path.join(folder, "net.ingot")
    for where, _, names in sorted(os.walk(models)):
        for name in sorted(n for n in names if n.endswith(".onnx")):
            path = os.path.join(where, name)
            if os.path.getsize(path) > LARGEST or run(ingot, "convert", path, "-o", out).error:
                continue  # whether it can be converted is other tests' question
            if not weights(path)["tensor_count"]:  # an operator alone, or trees in attributes
                without += 1
                continue
            rows = differences(path, out)
            notes = weights(out)
            lost = [r for r in rows if r["what"] == "only in A"]
            said = [n for n in notes["notes"] if n.startswith(f"{len(lost)} of ")]
            check(
                len(lost) == len(rows) and bool(said) == bool(lost),
                f"{name}: {len(rows)} differences, {len(lost)} lost, {notes['notes']}",
            )
            given, named = given + notes["tensor_count"], named + len(lost)
            kept = run(ingot, "convert", path, "-o", out, "--keep-weights")
            checks.report(f"{name}: --keep-weights", kept.error or differences(path, out)[:2])
print(f"round trips: {given} weights extracted without --keep-weights, {named} named")
print(f"round trips: {without} networks without weights were left out")
sys.exit(checks.finish())
