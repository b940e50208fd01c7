#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pages of the site, laid out as in the repository, so that their links stay as they are.

  stage.py ROOT OUT [TABLES]

Pages are the documents and every file that they link to: Markdown as it is, sources as a page that
shows them, folders as their README or a list of their files. A link to nothing ends with exit code
1. TABLES is a folder of generated tables, which become pages of docs/tables; one that is not there
is left out, with a line that names the command that makes it."""

import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(sys.argv[1]).resolve()
OUT = pathlib.Path(sys.argv[2]).resolve()
TABLES = pathlib.Path(sys.argv[3]).resolve() if len(sys.argv) > 3 else None
# name, and the command that makes it
GENERATED = (
        ("zoo", "python3 docs/site/zoo.py . --page FILE"),
    ("torch-operators", "ingot operators --torch"),
    ("convert-options", "tools/cli/options/convert_options.py page"),

        ("operator-types", "./dev show operator-types (minutes)"),
    ("onnx-backend", "./dev show onnx-backend (minutes)"),

    ("models", "./dev show model-files (minutes)"),
    ("tflite-files", "./dev show tflite-files (minutes)"),
    ("opset-sweep", "./dev show opset-sweep (minutes)"),
    ("planted-onnx", "./dev show planted-onnx (some 5 minutes)"),
    ("keras-layers", "./dev show keras-layers (minutes)"),
    ("torch-list", "./dev show torch-list (an hour or two)"),
)
FIRST = ("README.md", "CHANGELOG.md", "ARCHITECTURE.md", "CONTRIBUTING.md")
PROJECT = ("SECURITY.md", "CODE_OF_CONDUCT.md")
ORPHAN = "---\norphan: true\n---\n"  # Sphinx: in no table of contents
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
FENCE = re.compile(r"^\s*(`{3,})")
IMAGES = (".png", ".svg", ".jpg")
LANGUAGES = {".c": "c", ".h": "c", ".cpp": "cpp", ".hpp": "cpp", ".py": "python", ".sh": "bash"}
LANGUAGES |= {".json": "json", ".cmake": "cmake", ".cu": "cpp", ".cuh": "cpp", ".inl": "cpp"}


def tracked_files():
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(listing.stdout.splitlines())


def write(name, text):
    place = OUT / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)


def is_document(name):
    return name in FIRST + PROJECT or re.fullmatch(r"docs/(?!site/).*\.md", name)


class Site:
    def __init__(self, tracked):
        self.tracked = tracked
        self.waiting = []
        self.seen = set()
        self.faults = []

    def want(self, name):
        if name not in self.seen:
            self.seen.add(name)
            self.waiting.append(name)

    def folder(self, name):
        """The page that stands for a folder, or nothing."""
        inside = sorted(file for file in self.tracked if file.startswith(name + "/"))
        if not inside:
            return None
        if f"{name}/README.md" in self.tracked:
            self.want(f"{name}/README.md")
            return f"{name}/README.md"
        rows = "\n".join(f"- `{file[len(name) + 1:]}`" for file in inside)
        text = f"# {name}\nFiles of this folder.\n\n{rows}\n"
        write(f"{name}/files.md", ORPHAN + text)
        return f"{name}/files.md"

    def source(self, name):
        """The page that shows a source."""
        text = (ROOT / name).read_text()
        language = LANGUAGES.get(pathlib.Path(name).suffix, "text")
        fence = "`" * 6
        write(f"{name}.md", f"{ORPHAN}# {name}\n{fence}{language}\n{text}{fence}\n")
        return f"{name}.md"

    def target(self, page, link):
        """What a link is in the site; None where it leads nowhere."""
        path, hash_sign, anchor = link.partition("#")
        if not path or re.match(r"[a-z]+:", path):
            return link
        name = (ROOT / page).parent.joinpath(path).resolve()
        if not name.is_relative_to(ROOT):
            return None
        name = name.relative_to(ROOT).as_posix()
        if name in self.tracked:
            if name.endswith((".md", *IMAGES)):
                self.want(name)
                return link
            found = self.source(name)
        else:
            found = self.folder(name.rstrip("/"))
        if found is None:
            return None
        up = "../" * page.count("/")
        return f"{up}{found}{hash_sign}{anchor}"

    def page(self, name):
        lines, fence = [], None
        for number, line in enumerate((ROOT / name).read_text().splitlines(), 1):
            mark = FENCE.match(line)
            if mark and (fence is None or mark[1] == fence):
                fence = mark[1] if fence is None else None

            def link_of_site(match):
                found = self.target(name, match[2])
                if found is None:
                    self.faults.append(f"{name}:{number}: {match[2]} is not in the repository")
                return f"{match[1]}{found}{match[3]}"

            if fence is None:
                line = LINK.sub(link_of_site, line)
            lines.append(line)
        orphan = "" if name in FIRST + PROJECT or name.startswith("docs/") else ORPHAN
        write(name, orphan + "\n".join(lines) + "\n")

    def lay_out(self):
        while self.waiting:
            name = self.waiting.pop()
            if name.endswith(".md"):
                self.page(name)
            else:
                (OUT / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, OUT / name)


def tables():
    """Writes docs/tables/NAME.md of each table that was made. @return their names"""
    made = []
    for name, command in GENERATED:
        table = TABLES / f"{name}.md" if TABLES else None
        if table and table.is_file():
            write(f"docs/tables/{name}.md", table.read_text())
            made.append(f"docs/tables/{name}")
        else:
            print(f"[left out] the table {name}: {command} makes it")
    return made


def front_page(tracked, generated):
    """index.md, with a list of the documents that it does not name, and of generated tables."""
    front = (ROOT / "docs/site/index.md").read_text().replace("](../", "](docs/")
    pages = sorted(name[:-3] for name in tracked if is_document(name))
    others = [page for page in pages if not re.search(rf"\b{re.escape(page)}(>|$)", front, re.M)]
    if others:
        rows = "\n".join(others)
        front += f"\n```{{toctree}}\n:hidden:\n:caption: More\n{rows}\n```\n"
    if generated:
        rows = "\n".join(generated)
        front += f"\n```{{toctree}}\n:hidden:\n:caption: Generated tables\n{rows}\n```\n"
    return front


def main():
    site = Site(tracked_files())
    shutil.rmtree(OUT, ignore_errors=True)
    for name in sorted(site.tracked):
        if is_document(name):
            site.want(name)
    site.lay_out()
    write("index.md", front_page(site.tracked, tables()))
    for fault in site.faults:
        print(f"FAILED {fault}")
    print(f"{len(site.seen)} files of the repository are pages or images of the site")
    return 1 if site.faults else 0


if __name__ == "__main__":
    sys.exit(main())
