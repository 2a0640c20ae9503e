"""Tables for a terminal and for a notebook."""

from __future__ import annotations

from html import escape

from ._tagq import escaped


def text_table(names: list[str], rows: list[list[str]]) -> str:
    """Returns a table without lines, aligned right."""
    rows = [[escaped(field) for field in row] for row in rows]
    widths = [max(len(line[at]) for line in [names, *rows]) for at in range(len(names))]
    lines = [
        "  ".join(field.rjust(width) for field, width in zip(line, widths, strict=True)).rstrip()
        for line in [names, *rows]
    ]
    return "\n".join(lines)


def html_table(header: str, names: list[str], rows: list[list[str]]) -> str:
    """Returns the table as HTML, with the header above it."""
    style = ' style="text-align: right"'
    head = "".join(f"<th{style}>{escape(name)}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td{style}>{escape(escaped(field))}</td>" for field in row) + "</tr>" for row in rows
    )
    return (
        f"<div><p>{escape(escaped(header))}</p><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )
