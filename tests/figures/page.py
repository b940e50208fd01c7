# SPDX-License-Identifier: Apache-2.0
"""Figures in pages of docs/: the text between two markers is what a command measured."""

import pathlib


def replace_figures(page, line, text):
    """Puts `text` where `page` keeps the figures of `./dev show LINE`."""
    begin, end = f"<!-- made by ./dev show {line} -->\n", f"<!-- end of {line} -->"
    path = pathlib.Path(page)
    before, _, rest = path.read_text().partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise SystemExit(
            f"{page}: has no place for the figures of {line}: {begin.strip()} ... {end}"
        )
    path.write_text(before + begin + text.rstrip() + "\n" + end + after)
