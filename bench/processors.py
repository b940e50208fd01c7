# SPDX-License-Identifier: Apache-2.0
"""The processors that a comparison runs on."""

import os
import pathlib


def pin(threads):
    """Called in the child: the first `threads` of our processors."""
    processors = sorted(os.sched_getaffinity(0))[:threads]
    return lambda: os.sched_setaffinity(0, processors)


def processor_name():
    """As /proc/cpuinfo says, with what of its vector instructions matters."""
    text = pathlib.Path("/proc/cpuinfo").read_text()
    fields = dict(
        reversed(
            [
                [part.strip() for part in line.split(":", 1)]
                for line in text.splitlines()
                if ":" in line
            ]
        )
    )
    has = (fields.get("flags", "") + fields.get("Features", "")).split()
    flags = [f for f in ("avx2", "avx512f", "avx512_bf16", "asimd", "asimddp") if f in has]
    return (
        f"{fields.get('model name', fields.get('CPU part', 'unknown'))} "
        f"(family {fields.get('cpu family', '?')}, "
        f"model {fields.get('model', '?')}; {' '.join(flags)}), {os.cpu_count()} processors"
    )
