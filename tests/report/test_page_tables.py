"""Each value of a page is that of its own row and column in the files of the result."""

import json
import re
from html import unescape

import pytest
from support.cli import run
from support.datasets import document_of, write

import bboxqa
from bboxqa.report.agreement_page import agreement_pages
from bboxqa.report.agreement_summary import summary
from bboxqa.report.result_files import documents_of

# Tables of a page that are those of the diagnosis, and of csv files of the same names.
OF_DIAGNOSIS = {
    "Kinds of disagreement": "decomposition", "Thresholds": "sensitivity",
    "Time": "work", "Sessions": "work_sessions",
    "Offsets": "offsets",
}  # fmt: skip
OF_SUMMARY = {"Pairs": "pairs", "Categories": "categories"}
OF_REFERENCE = "Reference"
FURTHER = {"reference", "repeats", "time"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A result with times, a reference and a model, and its page, as a user makes them."""
    place = tmp_path_factory.mktemp("tables")
    errors = {"*": {"miss": 0.1, "confuse": 0.15, "jitter": 2}, "p03": {"offset": [5, 0]}}
    options = {"images": 6, "annotators": 3, "objects": 5, "categories": ("cow", "sheep")}
    simulated = bboxqa.simulate(errors=errors, seed=1, **options)
    truth = simulated.truth()
    results = [
        {"score": 0.8} | {key: each[key] for key in ("image_id", "category_id", "bbox")}
        for each in truth["annotations"][::2]
    ]
    of_files = {"net": results, "truth": truth, "export": simulated.document()}
    for name, value in of_files.items():
        write(place / f"{name}.json", value)
    done = run(
        "agree", "export.json", "--reference", "truth.json", "--predictions", "net.json",
        "--score", "0.4", "--time-key", "created_at", "--bootstrap", "40", "--diagnose",
        "--out", "run", "--report", "page.html", cwd=place,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return place


@pytest.fixture(scope="module")
def page(folder):
    return (folder / "page.html").read_text("utf-8")


@pytest.fixture(scope="module")
def tables(page):
    """The tables of the page: columns, and for each cell what is copied and what is shown."""
    return tables_of(page)


@pytest.fixture(scope="module")
def documents(folder):
    names = ("summary", "details", "manifest")
    found = {name: json.loads((folder / f"run/{name}.json").read_text()) for name in names}
    return found | found.pop("details")


def plain(html):
    return unescape(re.sub(r"<[^>]*>", "", html)).strip()


def tables_of(page):
    found = {}
    for name, table in re.findall(
        r'<table[^>]* ?data-name="([^"]*)">(.*?)</table>', page, re.DOTALL
    ):
        head, *rows = [
            [
                (unescape(raw[1]) if raw else plain(html), plain(html))
                for raw, html in (
                    (re.search(r' data-value="([^"]*)"', start), html)
                    for start, html in re.findall(r"<t[hd]([^>]*)>(.*?)</t[hd]>", row, re.DOTALL)
                )
            ]
            for row in re.findall(r"<tr[^>]*>(.*?)</tr>", table, re.DOTALL)
        ]
        found[unescape(name)] = [raw for raw, _ in head], rows
    return found


def raw(value):
    """Return what the copy of a cell has: the value with all its digits."""
    return "" if value is None else str(value)


def shown(value):
    """Return a value as a cell shows it: rounded, with a minus sign, and a dash for none."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    text = f"{value:,}" if isinstance(value, int) else f"{round(value, 4) + 0.0:,.4f}"
    return text.replace("-", "−")


def assert_is(table, columns, rows):
    """Compare a table of the page, cell by cell, with columns and rows of values."""
    assert table[0] == [*columns]
    assert table[1] == [[(raw(value), shown(value)) for value in row] for row in rows]
    assert rows


def test_all_tables_of_the_page_are_compared(tables):
    others = {"Figures", "Annotators", "Files"}
    others |= {"Confused pairs"}
    others |= {OF_REFERENCE, "Settings and versions"}
    assert {*tables} == {*OF_DIAGNOSIS, *OF_SUMMARY} | others


@pytest.mark.parametrize(("name", "key"), OF_DIAGNOSIS.items())
def test_tables_of_the_diagnosis(name, key, tables, documents):
    found = documents["diagnosis"]["tables"][key]
    assert_is(tables[name], found["columns"], found["rows"])


@pytest.mark.parametrize(("name", "key"), OF_SUMMARY.items())
def test_tables_of_the_summary(name, key, tables, documents):
    records = documents["summary"]["thresholds"][0][key]
    assert_is(tables[name], records[0], [[*each.values()] for each in records])


def test_files_settings_and_versions(tables, documents):
    manifest = documents["manifest"]
    columns, rows = tables["Files"]
    for row, source in zip(rows, manifest["inputs"], strict=True):
        assert [cell for cell, _ in row] == [raw(source[column]) for column in columns]
    pairs = manifest["settings"] | manifest["versions"] | {"platform": manifest["platform"]}
    assert {name: cell for (name, _), (cell, _) in tables["Settings and versions"][1]} == {
        name: raw(value) for name, value in pairs.items()
    }


@pytest.fixture(scope="module")
def again():
    """A result in which two annotators annotated the same images in two sessions."""
    rows = [
        (place, who, 1, (10 + 3 * session * (who == "ann"), 10, 30, 30), {"session": session})
        for session in (1, 2)
        for place in (1, 2, 3)
        for who in ("ann", "bob")
    ]
    document = document_of(rows, 3)
    result = bboxqa.agree(bboxqa.read_coco(document, session_key="session"), bootstrap=40)
    return documents_of(result, summary(result), result.diagnose())


def texts_of(page, section):
    """Return the text of a section of a page."""
    (found,) = re.findall(f'<section id="{section}"[^>]*>(.*?)</section>', page, re.DOTALL)
    return unescape(re.sub(r"<[^>]*>", " ", found))


def assert_figures(figures, shown):
    for figure in figures:
        for value in (figure["value"], *(figure["interval"] or ())):
            assert value is None or f"{value:.4f}".removeprefix("-") in shown


def test_sections_are_there_where_the_documents_have_something(again, page):
    for found, names in (
        (page, FURTHER - {"repeats"}), (next(agreement_pages(again))[1], {"repeats"}),
    ):  # fmt: skip
        assert {*re.findall(r'<section id="(\w+)"', found)} & FURTHER == names
        assert {*re.findall(r'<a href="#(\w+)">', found)} & FURTHER == names


def test_the_reference_section_shows_each_annotator(documents, page):
    found = documents["summary"]["thresholds"][0]["reference"]
    shown = texts_of(page, "reference")
    assert "truth.json: 6 of its 6 images were annotated" in shown
    for row in found["annotators"]:
        assert row["name"] in shown
        assert_figures([row[name] for name in ("precision", "recall", "f1")], shown)


def test_a_model_is_named_beside_the_figures(page):
    assert "net is a model: its results with a score of 0.4 or more" in texts_of(page, "figures")


def test_work_is_seen_without_a_click(page):
    shown, _, closed = page.partition('id="time"')[2].partition("<details")
    assert "<table" in shown
    assert "Sessions" in closed.partition("</section>")[0]


def test_the_section_of_repeats_has_agreement_with_oneself(again):
    everyone, ann, bob = again["summary"]["thresholds"][0]["repeats"]
    # Ann moved boxes of 30 x 30 px by 3 px: 27 / 33 of them overlap. Bob's are the same.
    assert ann["mean_iou"]["value"] == pytest.approx(27 / 33)
    shown = texts_of(next(agreement_pages(again))[1], "repeats")
    for row in (everyone, ann, bob):
        assert_figures([row["f1"], row["mean_iou"]], shown)
    assert "all annotators" in shown
