"""What every page of html shares: head, style, escaping and tables."""

from base64 import b64encode
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files

from bboxqa.core.text import one_line

# Nothing is loaded, and nothing runs but a script of our own, whatever the names in a file say.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = """
:root {
  color-scheme: light dark;
  --back: #fff; --raised: #f6f7f9; --text: #1c2024; --dim: #5b6470; --line: #dfe3e8;
  --link: #0b5cad; --error: #b3261e; --warning: #8a5a00; --info: #0b5f87; --marked: #fdeeec;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #14171a; --raised: #1d2125; --text: #e6e8ea; --dim: #a0a8b1; --line: #353b42;
    --link: #7db7f0; --error: #ff8a80; --warning: #f2b84b; --info: #7cc4ea; --marked: #3a2220;
  }
}
* { box-sizing: border-box; }
body {
  background: var(--back); color: var(--text); font: 15px/1.5 system-ui, sans-serif;
  margin: 0 auto; max-width: 80rem; overflow-wrap: anywhere; padding: 2rem 1.5rem 3rem;
}
h1 { font-size: 1.6rem; letter-spacing: -0.01em; line-height: 1.2; margin: 0 0 0.5rem; }
h2 { font-size: 1.15rem; line-height: 1.3; margin: 2.5rem 0 0.25rem; }
p { margin: 0.25rem 0 0.75rem; max-width: 70ch; }
.lead { font-size: 1.05rem; margin-bottom: 1.5rem; }
a { color: var(--link); text-decoration-thickness: 1px; text-underline-offset: 0.15em; }
code { font: 0.9em ui-monospace, monospace; }
.dim, small { color: var(--dim); }
.error, .warning, .info { font-weight: 600; }
.error { color: var(--error); } .warning { color: var(--warning); } .info { color: var(--info); }
table { border-collapse: collapse; margin: 0.75rem 0 1rem; width: 100%; }
th button { all: unset; cursor: pointer; }
th button:focus-visible { outline: 2px solid var(--link); }
th[aria-sort="ascending"] button::after { content: " ▲"; }
th[aria-sort="descending"] button::after { content: " ▼"; }
th {
  background: var(--raised); border-bottom: 1px solid var(--line); color: var(--dim);
  font-size: 0.85rem; font-weight: 600; padding: 0.45rem 0.75rem; position: sticky;
  text-align: left; top: 0; white-space: nowrap;
}
td { border-bottom: 1px solid var(--line); padding: 0.45rem 0.75rem; vertical-align: top; }
.word, .number, small { white-space: nowrap; }
.number { font-variant-numeric: tabular-nums; text-align: right; }
tr.marked td { background: var(--marked); }
tbody tr:hover td { background: var(--raised); }
footer { border-top: 1px solid var(--line); margin-top: 3rem; padding-top: 0.75rem; }
@media (max-width: 40rem) {
  body { padding: 1rem; }
  thead { display: none; }
  tr { border-bottom: 1px solid var(--line); display: block; padding: 0.5rem 0; }
  td, td.number { border: 0; display: block; padding: 0.1rem 0.5rem; text-align: left; }
  td:empty { display: none; }
  td[data-label]::before { color: var(--dim); content: attr(data-label) ": "; }
}
@media print {
  :root {
    color-scheme: light;
    --back: #fff; --raised: #fff; --text: #000; --dim: #444; --line: #bbb; --link: #000;
    --error: #8c1d18; --warning: #6b4600; --info: #08496a; --marked: #fff;
  }
  @page { margin: 15mm; }
  body { font-size: 10pt; max-width: none; padding: 0; }
  th { position: static; }
  tr { break-inside: avoid; }
  h2 { break-after: avoid; }
}
"""


def escaped(text: str) -> str:
    """Return text on one line, in which nothing is markup."""
    return escape(one_line(text))


def page_lines(
    title: str, body: Iterable[str], footer: str, *, sortable: bool = False
) -> Iterator[str]:
    """Yield a whole page; `title` and `footer` are plain text, `body` is lines of html.

    If it is `sortable`, a script sorts tables by the column whose title is clicked.
    """
    script = files("bboxqa.report").joinpath("sort_tables.js").read_text("utf-8")
    policy = _POLICY
    if sortable:
        digest = b64encode(sha256(script.encode()).digest()).decode()
        policy += f"; script-src 'sha256-{digest}'"
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield f"<title>{escaped(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>"
    yield f"<h1>{escaped(title)}</h1>"
    yield from body
    script_lines = f"<script>{script}</script>\n" if sortable else ""
    yield f'</main>\n<footer class="dim">{escaped(footer)}</footer>\n{script_lines}</body>\n</html>'


def table_lines(
    titles: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    kinds: Mapping[str, str],
    marked: Collection[int] = (),
) -> Iterator[str]:
    """Yield a table; on a narrow screen each cell stands below its title.

    Parameters
    ----------
    titles : sequence of str
        Plain text, one per column.
    rows : iterable of sequence of str
        Cells as html, as many as titles.
    kinds : mapping of str to {"number", "word"}
        Title to what its cells hold: numbers are aligned right, words are not broken. Other
        columns hold text of any length.
    marked : collection of int
        Rows, counted from 0, that stand out.
    """
    classes = [f' class="{kinds[title]}"' if title in kinds else "" for title in titles]
    labels = ["", *(f' data-label="{escaped(title)}"' for title in titles[1:])]
    heads = "".join(
        f"<th{kind}>{escaped(title)}</th>" for kind, title in zip(classes, titles, strict=True)
    )
    yield f"<table><thead><tr>{heads}</tr></thead>\n<tbody>"
    for place, row in enumerate(rows):
        cells = "".join(
            f"<td{kind}{label}>{cell}</td>"
            for kind, label, cell in zip(classes, labels, row, strict=True)
        )
        start = '<tr class="marked">' if place in marked else "<tr>"
        yield f"{start}{cells}</tr>"
    yield "</tbody></table>"
