#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A page for each public header, out of what Doxygen reads in it.

  c_reference.py ROOT DOXYGEN_XML OUT

In the order of the header, under its own section titles: the declaration and the text above it.
Structs and enums are shown as the header has them, with the remarks beside their members. Members
of a C++ class are the public ones. A header of which Doxygen knows nothing is an error."""

import pathlib
import re
import sys
import textwrap
import xml.etree.ElementTree as tree

ROOT, XML, OUT = (pathlib.Path(argument) for argument in sys.argv[1:4])
HEADERS = "runtime/include/ingot"
SECTION = re.compile(r"^/\* -{10,} (.+) \*/$")
FIRST_COMMENT = re.compile(  # behind the license's line
    r"\A[^\n]* SPDX[^\n]*\n(?:/\*\n?(.*?)\*/|((?://[^\n]*\n)+))", re.DOTALL
)
PAGE_ORDER = ("ingot.h", "cpu.h", "custom.h", "pool.h", "report.h", "log.h", "quantization.h")
PAGE_ORDER += ("pipeline.h", "text.h", "micro.h")
PAGE_ORDER += ("ingot.hpp", "views.hpp", "pipeline.hpp", "text.hpp")
LEFT_OUT = ("file", "namespace")  # compounds that are no declarations
SKIPPED_NAMES = re.compile(r"INGOT_\w+_H_|INGOT_\w+_HPP_|INGOT_API$")


def comment_above(lines, line):
    """The text of the comment that ends right above a line, without its marks."""
    at = line - 2
    while at >= 0 and lines[at].lstrip().startswith("template"):
        at -= 1
    found = []
    if at >= 0 and lines[at].rstrip().endswith("*/") and ";" not in lines[at].split("/*")[0]:
        while at >= 0:
            found.insert(0, lines[at])
            if "/*" in lines[at]:
                break
            at -= 1
        if not found[0].lstrip().startswith("/**"):
            return []
    while at >= 0 and lines[at].lstrip().startswith("///"):
        found.insert(0, lines[at])
        at -= 1
    return [re.sub(r"^\s*(/\*\*|///|\*(?!/))? ?|\s*\*/$", "", line) for line in found]


def description(words, anchors):
    """Markdown of a comment: names of the interface are links, columns stay columns."""
    made = []
    for paragraph in "\n".join(words).strip().split("\n\n"):
        paragraph = textwrap.dedent(paragraph)
        if re.search(r"\S {3,}\S", paragraph) or "\n  " in paragraph:
            made.append(f"```text\n{paragraph}\n```")
            continue
        paragraph = re.sub(r"([*_<\[\]])", r"\\\1", paragraph)
        paragraph = paragraph.replace("@pre", "Before:").replace("@return", "Returns:")

        def link(match):
            name = match[0].replace("\\", "")
            place = anchors.get(name)
            return f"[`{name}`]({place})" if place else f"`{name}`"

        names = re.compile(r"\b(?:ingot|INGOT)(?:\\_\w+)+")
        parts = re.split(r"(`[^`]*`)", paragraph)
        parts = [p.replace("\\", "") if p.startswith("`") else names.sub(link, p) for p in parts]
        made.append("".join(parts))
    return "\n\n".join(made)


def slug(name):
    return re.sub(r"[^\w]+", "-", name.lower()).strip("-")


class Entry:
    """One declaration: where it begins, its title, its names, its code and description."""

    def __init__(self, line, title, code, words, names=()):
        self.line, self.title, self.names = line, title, [title, *names]
        self.blocks = [(code, words)]

    def join(self, other):
        self.names += other.names
        code, words = other.blocks[0]
        if words or self.blocks[-1][1]:
            self.blocks.append((code, words))
        else:
            self.blocks[-1] = (f"{self.blocks[-1][0]}\n{code}", [])


def lines_of(lines, start, end):
    return "\n".join(lines[start - 1 : max(start, end)])


def declaration(member):
    words = member.findtext("definition") or ""
    if member.get("kind") == "define":
        parameters = [p.findtext("defname") or "" for p in member.findall("param")]
        value = (member.findtext("initializer") or "").strip()
        call = f"({', '.join(parameters)})" if any(parameters) else ""
        return f"#define {member.findtext('name')}{call} {value}".rstrip()
    if member.get("kind") == "function":
        words += member.findtext("argsstring") or ""
        template = member.find("templateparamlist")
        if template is not None:
            names = ", ".join("".join(p.itertext()).strip() for p in template)
            words = f"template <{names}>\n{words}"
    words = re.sub(r" ([*&]+) ?", r"\1 ", words)
    words = re.sub(r"\bingot::(?:\w+(?:< [\w, ]+ >)?::(?!\w+$))?", "", words)
    words = words.replace("< ", "<").replace(" >", ">")
    words = words.replace("=default", "").replace("* )", "*)")
    return wrapped(words + ";")


def wrapped(words):
    """A declaration of more than 88 columns, an argument a line."""
    head, bracket, rest = words.partition("(")
    if len(words) <= 88 or not bracket or head.endswith("typedef"):
        return words
    arguments = rest.rpartition(")")
    pad = " " * (len(head.rsplit("\n", 1)[-1]) + 1)
    return f"{head}({f',{chr(10)}{pad}'.join(arguments[0].split(', '))}){arguments[2]}"


def compounds():
    for file in sorted(XML.glob("*.xml")):
        node = tree.parse(file).getroot().find("compounddef")
        if node is not None:
            yield node


def body(node, header):
    place = node.find("location")
    if place is None or place.get("file") != f"{HEADERS}/{header}" or not place.get("line"):
        return None
    return int(place.get("line")), int(place.get("bodystart") or 0), int(place.get("bodyend") or 0)


def class_entries(node, line, lines):
    name = node.findtext("compoundname").removeprefix("ingot::").replace(" ", "")
    members = [m for m in node.iter("memberdef") if m.get("prot") == "public"]
    yield Entry(line, name, f"class {name}" if members else "", comment_above(lines, line))
    for member in members:
        title = member.findtext("name")
        is_of_base = title == "Owner" != name or title.startswith(("~", "operator="))
        is_deleted = (member.findtext("argsstring") or "").endswith("=delete")
        if member.get("kind") != "friend" and not is_of_base and not is_deleted:
            place = int(member.find("location").get("line"))
            words = comment_above(lines, place)
            yield Entry(place, f"{name}::{title}", declaration(member), words)


def entries_of(header, lines):
    found, structs = [], set()
    everything = list(compounds())
    for node in everything:
        place = body(node, header)
        if node.get("kind") in LEFT_OUT or not place or "detail" in node.findtext("compoundname"):
            continue
        structs.add(node.findtext("compoundname"))
        if header.endswith(".h"):
            code = lines_of(lines, place[1], place[2])
            name = node.findtext("compoundname")
            found.append(Entry(place[0], name, code, comment_above(lines, place[0])))
        else:
            found += class_entries(node, place[0], lines)
    for node in everything:
        if node.get("kind") not in LEFT_OUT or "detail" in node.findtext("compoundname"):
            continue
        for member in node.iter("memberdef"):
            place, name = body(member, header), member.findtext("name")
            if not place or name in structs or SKIPPED_NAMES.match(name):
                continue
            code = declaration(member)
            if member.get("kind") == "enum":
                code = lines_of(lines, place[1], place[2])
            values = [value.findtext("name") for value in member.findall("enumvalue")]
            found.append(Entry(place[0], name, code, comment_above(lines, place[0]), values))
    unique = {(entry.line, entry.title): entry for entry in found}
    return merged(sorted(unique.values(), key=lambda entry: entry.line))


def merged(entries):
    """An enum without a name belongs to the type before it; overloads are one entry."""
    made = {}
    for entry in entries:
        if entry.title.startswith("@"):
            before = made[next(reversed(made))] if made else None
            is_of_type = before and before.blocks[0][0].startswith("typedef int32_t")
            entry.title = before.title if is_of_type else entry.names[1]
        if entry.title in made:
            made[entry.title].join(entry)
        else:
            made[entry.title] = entry
    return list(made.values())


def page(header, entries, anchors, lines):
    source = "\n".join(lines) + "\n"
    comment = FIRST_COMMENT.match(source)
    made = [f"# {header}"]
    if comment:
        words = (comment[1] or comment[2]).splitlines()
        words = [re.sub(r"^\s*(\*|//) ?", "", line) for line in words]
        made += ["```text", "\n".join(words).strip("\n "), "```"]
    sections = {n: SECTION.match(line)[1] for n, line in enumerate(lines, 1) if SECTION.match(line)}
    waiting = sorted(sections)
    made.append("" if sections else "## Declarations")
    for entry in entries:
        while waiting and waiting[0] < entry.line:
            title = sections[waiting.pop(0)]
            made.append(f"## {title[0].upper()}{title[1:]}")
        if entry is entries[0] and sections and not made[-1].startswith("## "):
            made.append("## Declarations")
        made.append(f"### {entry.title}")
        language = "cpp" if header.endswith("pp") else "c"
        for code, words in entry.blocks:
            made += [f"```{language}\n{code}\n```" if code else "", description(words, anchors)]
    return "\n\n".join(part for part in made if part) + "\n"


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    headers = sorted(p.name for p in (ROOT / HEADERS).iterdir() if p.suffix in (".h", ".hpp"))
    if sorted(PAGE_ORDER) != headers:
        pages = sorted(PAGE_ORDER)
        raise SystemExit(f"c_reference.py: the pages are {pages}, the headers {headers}")
    pages, anchors = {}, {}
    for header in PAGE_ORDER:
        lines = (ROOT / HEADERS / header).read_text().splitlines()
        pages[header] = entries_of(header, lines), lines
        if not pages[header][0]:
            raise SystemExit(f"c_reference.py: Doxygen found nothing in {HEADERS}/{header}")
        for entry in pages[header][0]:
            for name in entry.names:
                anchors[name] = f"{header.replace('.', '_')}.md#{slug(entry.title)}"
    for header, (entries, lines) in pages.items():
        (OUT / f"{header.replace('.', '_')}.md").write_text(page(header, entries, anchors, lines))
    count = sum(len(entries) for entries, _ in pages.values())
    print(f"{count} declarations of {len(pages)} headers")


if __name__ == "__main__":
    main()
