# SPDX-License-Identifier: Apache-2.0
"""What ingot refuses rightly: what its documents name, by the words of the refusal."""

import re

# (words of the refusal, what docs/operators.md says)
EXPLAINED = [
    (
        r"Pool\.ceil_mode: the output's extent follows no padding",
        "pools: ceil_mode over dynamic extents",
    ),
]


def explanation(text):
    """The reason, or None where a refusal is a finding."""
    for pattern, reason in EXPLAINED:
        if re.search(pattern, text):
            return reason
    return None
