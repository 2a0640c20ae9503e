"""A preprocessor of mdbook, which `cargo xtask book` starts: `pages.py FOLDER`.

It describes an object of the Python package in place of each line `{{api NAME}}` or `{{api NAME DEFINITION}}`, from
signatures and docstrings. A public name without docstring, or on no page, is an error. It writes llms.txt and
llms-full.txt, the list of pages and their text for language models, to FOLDER.
"""

from __future__ import annotations

import builtins
import json
import posixpath
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import griffe

ROOT = Path(__file__).parents[2]
DIRECTIVE = re.compile(r"^\{\{api (\S+)(?: (\S+))?\}\}$", re.MULTILINE)
#: Longer signatures have a line for each parameter.
LINE = 90

Chapter = dict[str, Any]


class Reference:
    """The descriptions of the package."""

    def __init__(self, chapters: list[Chapter]) -> None:
        self.package = griffe.load("tagq", search_paths=[ROOT / "crates/python/python"])
        self.pages = {chapter["path"] for chapter in chapters}
        #: Where each object is described. A class links to members that another entry describes.
        self.links: dict[str, str] = {}
        self.problems: list[str] = []
        for chapter in chapters:
            for name, _ in DIRECTIVE.findall(chapter["content"]):
                self.links[self.package[name].canonical_path] = f"{chapter['path']}#{public(name)}"

    def describe(self, chapter: Chapter) -> None:
        """Replaces the directives of a page."""
        self.page = chapter["path"]

        def described(found: re.Match[str]) -> str:
            return "\n\n".join(self.entry(public(found[1]), self.package[found[1]], 2, found[2]))

        chapter["content"] = DIRECTIVE.sub(described, chapter["content"])

    def check(self) -> None:
        """Exits with the names that are not described."""
        names = {*map(str, self.package.exports or ()), *self.package.modules}
        shown = sorted(name for name in names if not name.startswith("_"))
        absent = [name for name in shown if self.package[name].canonical_path not in self.links]
        self.problems += [f"tagq.{name} is on no page of docs/book/src/reference/python" for name in absent]
        if self.problems:
            sys.exit("\n".join(self.problems))

    def entry(self, name: str, found: Any, level: int, definition: str | None = None) -> Iterator[str]:
        """Describes an object, then its members."""
        yield f"{'#' * level} {name} {{#{name}}}"
        if lines := signature(name, found):
            yield f"```python\n{lines}\n```"
        if definition:
            yield f"[Definition]({definition})"
        if found.docstring is None:
            self.problems.append(f"tagq.{name} has no docstring")
        else:
            yield self.linked(markdown(found.docstring.value))
        elsewhere = []
        for short, member in members(found):
            own = f"{name}.{short}"
            link = self.links.setdefault(member.canonical_path, f"{self.page}#{own}")
            if link == f"{self.page}#{own}":
                yield from self.entry(own, member, level + 1)
            else:
                elsewhere.append(f"[{short}]({self.relative(link)})")
        if elsewhere:
            yield f"Also: {', '.join(elsewhere)}"

    def linked(self, text: str) -> str:
        """Makes links of names of documents."""

        def link(found: re.Match[str]) -> str:
            page = f"reference/{found[1]}.md"
            anchor = "#" + "-".join(found[2].lower().split()) if found[2] else ""
            return f"[{found[0]}]({self.relative(page)}{anchor})" if page in self.pages else found[0]

        return re.sub(r'docs/(\w+)\.md(?:,\s+section\s+"([^"]+)")?', link, text)

    def relative(self, link: str) -> str:
        return posixpath.relpath(link, posixpath.dirname(self.page))


def public(name: str) -> str:
    """Returns a name without a private module."""
    return re.sub(r"^_\w+\.", "", name)


def members(found: Any) -> list[tuple[str, Any]]:
    """Returns the public members: of a class also inherited ones, and special methods that have a docstring."""
    if found.is_module:
        return [(str(name), found[str(name)]) for name in found.exports or ()]
    if not found.is_class:
        return []
    every = [*found.members.items(), *found.inherited_members.items()]
    return [(name, member) for name, member in every if is_shown(name, member)]


def is_shown(name: str, member: Any) -> bool:
    """Whether a member of a class is described. Attributes that are no properties are in the docstring of the class."""
    if member.is_attribute and "property" not in member.labels:
        return False
    is_special = name.startswith("__") and name != "__reduce__" and member.docstring is not None
    return is_special or not name.startswith("_")


def signature(name: str, found: Any) -> str:
    """Returns the call of a function or class, the bases of a class, or the type of a property."""
    if found.is_module:
        return ""
    if found.is_attribute:
        return f"{name}: {found.annotation}"
    if not name[0].isupper():
        name = f"tagq.{name}"
    kinds = griffe.ParameterKind
    shown: list[str] = []
    for each in found.parameters:
        if each.name in ("self", "unknown"):
            continue
        stars = {kinds.var_positional: "*", kinds.var_keyword: "**"}.get(each.kind, "")
        if each.kind is kinds.keyword_only and not any(text.startswith("*") for text in shown):
            shown.append("*")
        default = "" if stars or each.default is None else f" = {each.default}"
        shown.append(f"{stars}{each.name}: {each.annotation}{default}")
    if found.is_class:
        known = [*dir(builtins), *(found.module.exports or ())]
        if bases := [base for base in map(str, found.bases) if base in known]:
            return f"class tagq.{name}({', '.join(bases)})"
        # Classes with private arguments are made by functions.
        return "" if not shown or re.search(r"\b_", str(shown)) else call(f"tagq.{name}", shown)
    return f"{call(name, shown)} -> {found.returns}"


def call(name: str, parameters: list[str]) -> str:
    """Returns a call on one line, or with a line for each parameter."""
    line = f"{name}({', '.join(parameters)})"
    return line if len(line) <= LINE else f"{name}(\n" + "".join(f"    {each},\n" for each in parameters) + ")"


def markdown(docstring: str) -> str:
    """Returns a docstring as Markdown: an indented block is code after `::` or `Example`, else it describes the line
    before it."""
    made: list[str] = []
    for block in re.split(r"((?:^(?: {4}.*)?\n)*^ {4}.*\n?)", docstring, flags=re.MULTILINE):
        if not block.startswith((" ", "\n    ")) or not made:
            made.append(block)
            continue
        body = dedent(block).strip()
        before, _, term = made.pop().rstrip().rpartition("\n")
        if term.endswith("::") or term == "Example":
            made.append(f"{before}\n{term.removesuffix(':')}\n\n```python\n{body}\n```\n\n")
        else:
            if term not in ("Returns", "Raises"):
                term = ", ".join(f"`{name}`" for name in term.split(", "))
            # The values of an option.
            body = re.sub(r'^("[\w-]+"): ', r"- `\1`: ", body, flags=re.MULTILINE)
            made.append(f"{before}\n\n{term}\n: {indent(body, '  ').strip()}\n\n")
    return re.sub(r"\n{3,}", "\n\n", "".join(made)).strip()


def chapters_of(items: list[Any]) -> Iterator[Chapter | str]:
    """Returns the pages in order, and the titles of parts."""
    for item in items:
        if "PartTitle" in item:
            yield item["PartTitle"]
        elif "Chapter" in item:
            yield item["Chapter"]
            yield from chapters_of(item["Chapter"]["sub_items"])


def first_sentence(content: str) -> str:
    """Returns the first sentence of a page, without its links."""
    blocks = re.sub(r"^```.*?^```$", "", content, flags=re.MULTILINE | re.DOTALL).split("\n\n")
    prose = next((" ".join(block.split()) for block in blocks if re.match(r"[\w`*\[]", block.strip())), "")
    return re.split(r"(?<=[.?]) ", re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", prose))[0].removesuffix(":")


def main() -> None:
    if "supports" in sys.argv:
        return
    context, book = json.load(sys.stdin.buffer)
    items = list(chapters_of(book["items"]))
    chapters = [item for item in items if isinstance(item, dict)]
    reference = Reference(chapters)
    for chapter in chapters:
        reference.describe(chapter)
    reference.check()
    about = context["config"]["book"]
    lines = [f"# {about['title']}", "", f"> {about['description']}", "", "## Start", ""]
    for item in items:
        if isinstance(item, str):
            lines += ["", f"## {item}", ""]
        else:
            page = re.sub(r"README\.md$", "index.md", item["path"]).removesuffix("md") + "html"
            lines.append(f"- [{item['name']}]({page}): {first_sentence(item['content'])}")
    lines += ["", "## Optional", "", "- [llms-full.txt](llms-full.txt): The text of all pages."]
    folder = Path(sys.argv[1])
    (folder / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    text = "\n\n".join(chapter["content"].strip() for chapter in chapters)
    (folder / "llms-full.txt").write_text(text + "\n", encoding="utf-8")
    json.dump(book, sys.stdout)


main()
