# SPDX-License-Identifier: Apache-2.0
"""A page of Markdown about the model files that shared material lists, its own and those of
packages: a row for each of them. model_files.py and tflite_files.py say which files, and what of
them."""

import pathlib

from sources import SHARED, listed_files
from testing import Checks, ingot_parser


def table_rows(rows):
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def make_page(description, is_wanted, row_of, page_of):
    """Reads the command line, walks the files, prints a row of each and writes page_of(rows).
    `row_of(ingot, work, name, path, golden, listed)`: cells, and whether the outcome is as it
    should be. @return the exit status"""
    parser = ingot_parser(__doc__)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--write", type=pathlib.Path, help="where the page is written")
    parser.add_argument("parts", nargs="*", help="only files whose path has all of them")
    a = parser.parse_args()
    if not SHARED.is_dir():
        print("[skip] no model file was tried: there is no shared material")
        return 0
    a.work.mkdir(parents=True, exist_ok=True)
    rows, checks, skipped = [], Checks("model_files"), 0
    for name, path, golden, listed in listed_files(a.work, is_wanted, a.parts):
        if path is None or not path.exists():
            skipped += 1
            continue
        cells, fits = row_of(a.ingot, a.work, name, path, golden, listed)
        rows.append([cell.replace("|", "/") for cell in cells])
        if checks.check(fits, " | ".join(rows[-1])):
            print(" | ".join(rows[-1]), flush=True)
    if skipped:
        checks.skip(f"{skipped} files of packages are not to be had here")
    if a.write:
        a.write.parent.mkdir(parents=True, exist_ok=True)
        a.write.write_text(page_of(rows))
    return checks.finish()
