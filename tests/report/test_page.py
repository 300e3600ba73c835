"""What every page of html shares."""

import re

from support.reports import HOSTILE

from bboxqa.report.page import escaped, page_lines, table_lines


def test_text_is_one_line_without_markup():
    assert escaped('<b title="x">&\n\x1b\u2028') == (
        "&lt;b title=&quot;x&quot;&gt;&amp;\\n\\x1b\\u2028"
    )


def test_a_page_loads_nothing_and_runs_nothing():
    text = "\n".join(page_lines(HOSTILE, ["<p>body</p>"], HOSTILE))
    assert text.startswith("<!DOCTYPE html>")
    assert "default-src 'none'" in text
    assert text.count("<p>body</p>") == 1
    assert not re.search(r"<script|<link|<img|@import|url\(|https?:", text)
    for media in ("prefers-color-scheme: dark", "@media print", "max-width: 40rem"):
        assert media in text


def test_cells_have_the_kind_and_the_title_of_their_column():
    lines = table_lines(
        ("Name", "n <1>", "Fix"),
        [("a", "1,200", "safe"), ("b", "", "")],
        kinds={"n <1>": "number", "Fix": "word"},
        marked=[1],
    )
    assert list(lines) == [
        (
            '<table><thead><tr><th>Name</th><th class="number">n &lt;1&gt;</th>'
            '<th class="word">Fix</th></tr></thead>\n<tbody>'
        ),
        (
            '<tr><td>a</td><td class="number" data-label="n &lt;1&gt;">1,200</td>'
            '<td class="word" data-label="Fix">safe</td></tr>'
        ),
        (
            '<tr class="marked"><td>b</td><td class="number" data-label="n &lt;1&gt;"></td>'
            '<td class="word" data-label="Fix"></td></tr>'
        ),
        "</tbody></table>",
    ]
