#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pages of the Python packages ingot and ingot.compat, read out of their sources without
running them.

  python_reference.py ROOT OUT          (griffe)

Every name of __all__: signature, docstring, public members. A class without a docstring is an
error."""

import pathlib
import re
import sys
import textwrap

import griffe

ROOT, OUT = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])


def words_of(node):
    """A docstring as Markdown: columns stay columns."""
    if not node.docstring:
        return ""
    made = []
    for paragraph in node.docstring.value.strip().split("\n\n"):
        is_columns = re.search(r"\S {3,}\S", paragraph) or paragraph.startswith("    ")
        text = textwrap.dedent(paragraph)
        made.append(f"```text\n{text}\n```" if is_columns else re.sub(r"([*_<\[])", r"\\\1", text))
    return "\n\n".join(made)


def signature(node, name):
    parts, kind_before = [], None
    for parameter in node.parameters:
        kind = parameter.kind.name if parameter.kind else ""
        if parameter.name == "self":
            continue
        if kind == "keyword_only" and kind_before not in ("keyword_only", "var_positional"):
            parts.append("*")
        star = {"var_positional": "*", "var_keyword": "**"}.get(kind, "")
        text = star + parameter.name
        text += f": {parameter.annotation}" if parameter.annotation else ""
        if parameter.default is not None and not star:
            text += f" = {parameter.default}"
        parts.append(text)
        kind_before = kind
    returns = f" -> {node.returns}" if getattr(node, "returns", None) else ""
    line = f"{name}({', '.join(parts)}){returns}"
    if len(line) > 88:
        rows = "".join(f"    {part},\n" for part in parts)
        line = f"{name}(\n{rows}){returns}"
    return line


def code(text):
    return f"```python\n{text}\n```"


def function(node, title, call):
    return f"### {title}\n\n{code(signature(node, call))}\n\n{words_of(node)}\n"


def a_class(name, node):
    bases = ", ".join(str(base) for base in node.bases)
    made = [f"## {name}", code(f"class {name}({bases})" if bases else f"class {name}")]
    made.append(words_of(node))
    fields = []
    for member in node.members.values():
        title = f"{name}.{member.name}"
        if member.is_attribute and not member.name.startswith("_"):
            if "property" in member.labels:
                text = f"{member.name}: {member.annotation}" if member.annotation else member.name
                made.append(f"### {title}\n\n{code(text)}\n\n{words_of(member)}")
            elif member.annotation:
                fields.append(f"{member.name}: {member.annotation}")
        elif member.is_function and member.name == "__init__":
            made.append(code(signature(member, name)) + "\n\n" + words_of(member))
        elif member.is_function and not member.name.startswith("_"):
            made.append(function(member, title, member.name))
    if fields:
        made.insert(3, code("\n".join(fields)))
    return "\n\n".join(part for part in made if part.strip()) + "\n"


def resolved(node):
    return node.final_target if node.is_alias else node


def names_of(package):
    return [str(name).strip("'\"") for name in package["__all__"].value.elements]


def a_package(package, title):
    """The page of a package, and what is missing in its sources."""
    names = names_of(package)
    functions = [name for name in names if resolved(package[name]).is_function]
    made, silent = [f"# {title}", words_of(package), "## Functions"], []
    for name in functions + [name for name in names if name not in functions]:
        node = resolved(package[name])
        if not node.docstring and name not in functions:
            silent.append(f"{package.path}.{name} has no docstring")
        if name in functions:
            made.append(function(node, name, f"{package.path}.{name}"))
        else:
            made.append(a_class(name, node))
    return "\n\n".join(made) + "\n", silent


def main():
    package = griffe.load("ingot", search_paths=[str(ROOT / "python")], try_relative_path=False)
    OUT.mkdir(parents=True, exist_ok=True)
    faults = []
    titles = {package: "Python", package["compat"]: "Python, in place of onnxruntime"}
    for part, title in titles.items():
        text, silent = a_package(part, title)
        (OUT / f"{part.path.replace('.', '_')}.md").write_text(text)
        faults += silent
        print(f"{len(names_of(part))} names of {part.path}")
    for line in faults:
        print(f"FAILED {line}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
