#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Search by meaning on one device: paragraphs of files and their vectors in a database of SQLite.

  search.py MODEL.ingot NOTES.db add FILE...
  search.py MODEL.ingot NOTES.db find QUESTION [--count N]

MODEL.ingot is an embedding model: ingot convert all-MiniLM-L6-v2/ -o MODEL.ingot. Needs NumPy, and
the command line `ingot` (or the path in $INGOT)."""

import argparse
import os
import pathlib
import re
import sqlite3
import subprocess
import tempfile

import numpy as np


def vectors_of(model, texts):
    """A row of length 1 for each text."""
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "vectors.npy")
        command = [os.environ.get("INGOT", "ingot"), "embed", model, "-o", output]
        lines = "\n".join(texts)
        subprocess.run(command, input=lines, text=True, stdout=subprocess.DEVNULL, check=True)
        return np.load(output)


def add(database, model, files):
    """The paragraphs of files. A file that was there before is replaced."""
    for file in files:
        blocks = re.split(r"\n\s*\n", pathlib.Path(file).read_text(encoding="utf-8"))
        texts = [" ".join(block.split()) for block in blocks if block.strip()]
        database.execute("DELETE FROM paragraphs WHERE file = ?", (file,))
        if texts:
            rows = zip(texts, vectors_of(model, texts))
            database.executemany(
                "INSERT INTO paragraphs VALUES (?, ?, ?)",
                [(file, text, vector.tobytes()) for text, vector in rows],
            )


def find(database, model, question, count):
    """The nearest paragraphs: (how near, file, text), the nearest first."""
    rows = database.execute("SELECT file, text, vector FROM paragraphs").fetchall()
    if not rows:
        raise SystemExit("the database has no paragraph; begin with: add FILE")
    all_vectors = np.frombuffer(b"".join(row[2] for row in rows), np.float32).reshape(len(rows), -1)
    near = all_vectors @ vectors_of(model, [question])[0]
    return [(float(near[i]), *rows[i][:2]) for i in np.argsort(-near)[:count]]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("database")
    parser.add_argument("what", choices=["add", "find"])
    parser.add_argument("words", nargs="+")
    parser.add_argument("--count", type=int, default=3)
    args = parser.parse_args()
    with sqlite3.connect(args.database) as database:
        database.execute(
            "CREATE TABLE IF NOT EXISTS paragraphs (file TEXT, text TEXT, vector BLOB)"
        )
        if args.what == "add":
            return add(database, args.model, args.words)
        for near, file, text in find(database, args.model, " ".join(args.words), args.count):
            print(f"{near:.3f}  {file}: {text}")


if __name__ == "__main__":
    main()
