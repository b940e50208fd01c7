#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the documents name exists: links, and paths of this repository in backticks or in a README's
four facts. Every document and public header is in the contents of the site (docs/site/index.md).
Records of docs/decisions.md that documents and sources cite are there.

  documents_test.py ROOT        the last line counts

A path is named by its first folder; {a,b} stands for both, NAME, <family> and * for any."""

import itertools
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import Checks, run  # noqa: E402

ROOT = pathlib.Path(sys.argv[1])
TOPS = "runtime|kernels|schema|tools|tests|bench|examples|docs|packaging|cmake"
PATH = re.compile(rf"(?<![\w./-])((?:{TOPS})/[\w./{{}},*<>-]*[\w}}>*/])")
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[\w-]*)?\)")
MADE = ("bench/results/gpu/",)  # by a machine that has one
FACTS = ["Checks", "Needs", "Run", "Start at"]
DATA = re.compile(r"/(documented|consumer|in_c|inside|threads)/")  # programs that tests compile
RECORD = re.compile(r"\bD\d{1,3}\b")
SELF = "tests/lint/documents_test.py"  # plants a citation
CITING = (".md", ".h", ".hpp", ".cpp", ".c", ".inl", ".cu", ".cuh", ".def", ".fbs", ".py", ".sh")


def expanded(path):
    """runtime/{base,op} -> runtime/base, runtime/op"""
    parts = re.split(r"\{([^{}]*)\}", path)
    choices = [part.split(",") if i % 2 else [part] for i, part in enumerate(parts)]
    return ["".join(words) for words in itertools.product(*choices)]


def exists(path, tree):
    if path.startswith(MADE):
        return True
    if re.search(r"[*<>]|\b[A-Z]{3,}\b", path):
        pattern = re.sub(r"<\w+>|\b[A-Z]{3,}\b", "*", path).rstrip("/")
        return any(True for _ in ROOT.glob(pattern))
    return (ROOT / path).exists() or any(file.startswith(path) for file in tree)


def findings(name, text, tree):
    for number, line in enumerate(text.splitlines(), 1):
        for found in LINK.findall(line):
            if not (ROOT / name).parent.joinpath(found).exists():
                yield f"{name}:{number}: links to {found}, which does not exist"
        for found in PATH.findall(line):
            for path in expanded(found):
                if not exists(path, tree):
                    yield f"{name}:{number}: names {path}, which does not exist"


def records_of(text):
    headings = [line for line in text.splitlines() if line.startswith("### D")]
    return [record for line in headings for record in RECORD.findall(line)]


def lost_records(name, text, kept):
    """A citation names decisions: in a sentence that has that word, or as D and two or more digits
    in a comment or a document."""
    for number, line in enumerate(text.splitlines(), 1):
        for found in RECORD.findall(line):
            is_cited = name.endswith(".md") or "ecision" in line or "(" + found in line
            if is_cited and len(found) > 2 and found not in kept:
                yield f"{name}:{number}: cites {found}, which docs/decisions.md does not have"


def without_facts(tree, text_of):
    """Each folder of tests has a README of four facts in at most 60 words: the folders of tests/,
    and of those the ones that declare tests or have scripts of their own."""
    folders = set()
    for name in tree:
        parts = pathlib.PurePosixPath(name).parts
        if parts[0] == "tests" and len(parts) > 2:
            folders.add("/".join(parts[:2]))
            is_declared = parts[-1] == "CMakeLists.txt" or name.endswith((".py", "_test.cpp"))
            if len(parts) == 4 and is_declared and not DATA.search(name):
                folders.add("/".join(parts[:3]))
    for folder in sorted(folders):
        text = text_of(f"{folder}/README.md")
        facts = re.findall(r"^- \*\*(.*?)\*\* (.*(?:\n  .*)*)", text, re.M)
        words = sum(len(fact.split()) for _, fact in facts)
        if [name for name, _ in facts] != FACTS or words > 60 or len(text.split()) > words + 12:
            yield f"{folder}/README.md: expected {', '.join(FACTS)} in at most 60 words"


def left_out_of_site(index, tree):
    """A page that no table of contents has is a warning of Sphinx, and ends ./dev pages."""
    wanted = [name[: -len(".md")] for name in tree if re.fullmatch(r"docs/(?!site/).*\.md", name)]
    for name in tree:
        if header := re.fullmatch(r"runtime/include/ingot/(.*\.(?:h|hpp))", name):
            wanted.append("reference/" + header[1].replace(".", "_"))
    listed = set(index.split())
    return [
        f"docs/site/index.md: {name} is in no table of contents"
        for name in wanted
        if name not in listed
    ]


def main():
    listed = ("--cached", "--others", "--exclude-standard")
    tree = run("git", "ls-files", listed, cwd=ROOT).succeeded().stdout.split("\n")
    documents = [name for name in tree if name.endswith(".md") and (ROOT / name).exists()]
    planted = list(
        findings("README.md", "[x](nothing.md) `runtime/nothing` tools/{graph,nothing}", tree)
    )
    wrong = [line for name in documents for line in findings(name, (ROOT / name).read_text(), tree)]
    if len(planted) != 3:
        wrong.append(f"of three planted mistakes {len(planted)} were found")
    tracked = [name for name in tree if (ROOT / name).is_file()]
    read = lambda name: (ROOT / name).read_text() if (ROOT / name).exists() else ""
    wrong += without_facts(tracked, read)
    long = "- **Checks** x.\n- **Needs** x.\n- **Run** x.\n- **Start at** x" + " x" * 60
    if [len(list(without_facts(["tests/a/x.py"], lambda _: text))) for text in ("", long)] != [
        1,
        1,
    ]:
        wrong.append("a folder of tests without its four facts was not found")
    kept = records_of((ROOT / "docs/decisions.md").read_text())
    if len(kept) != len(set(kept)) or len(kept) < 40:
        wrong.append("docs/decisions.md has a record twice, or hardly any")
    for name in tree:
        if name.endswith(CITING) and (ROOT / name).exists() and name != SELF:
            wrong += lost_records(name, (ROOT / name).read_text(errors="replace"), kept)
    if len(list(lost_records("docs/x.md", "as decision D999 says", kept))) != 1:
        wrong.append("a citation of a record that does not exist was not found")
    index = (ROOT / "docs/site/index.md").read_text()
    wrong += left_out_of_site(index, [name for name in tree if (ROOT / name).exists()])
    if len(left_out_of_site(index.replace("reference/pool_h", ""), tree)) != 1:
        wrong.append("a header that is in no table of contents was not found")
    checks = Checks("documents_lint")
    for line in wrong:
        checks.check(False, line)
    checks.passed = len(documents)
    sys.exit(checks.finish())


main()
