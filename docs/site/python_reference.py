#!/usr/bin/env python3
"""The page of the Python package, read out of its sources without running them.

  python_reference.py ROOT OUT          (griffe)

Every name of ingot.__all__: signature, docstring, public members. A name without a docstring is an
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


def main():
    package = griffe.load("ingot", search_paths=[str(ROOT / "python")], try_relative_path=False)
    names = [str(name).strip("'\"") for name in package["__all__"].value.elements]
    made, silent = ["# Python", words_of(package)], []
    functions = [name for name in names if resolved(package[name]).is_function]
    made.append("## Functions")
    for name in functions + [name for name in names if name not in functions]:
        node = resolved(package[name])
        if not node.docstring:
            silent.append(f"{name} has no docstring")
        if name in functions:
            made.append(function(node, name, f"ingot.{name}"))
        else:
            made.append(a_class(name, node))
    for line in silent:
        print(f"FAILED python/ingot: {line}")
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "python.md").write_text("\n\n".join(made) + "\n")
    print(f"{len(names)} names of the Python package")
    return 1 if silent else 0


if __name__ == "__main__":
    sys.exit(main())
