"""A result as lines of text."""

import numpy as np
import pytest
from msgspec.structs import replace

import bboxqa
from bboxqa.examples import example_file
from bboxqa.model.diagnosis import Line
from bboxqa.model.table import Table, text_column
from bboxqa.report.agreement_text import text_lines
from bboxqa.report.numbers import table_excerpt


@pytest.fixture(scope="module")
def data():
    return bboxqa.read_coco(example_file("fruits"))


def result_of(data, **settings):
    return bboxqa.agree(data, bootstrap=0, **settings)


@pytest.mark.parametrize(
    ("similarity", "threshold", "title"),
    [
        ("bbox", 0.5, "At IoU 0.5"), ("bbox", 0.625, "At IoU 0.625"),
        ("centroid", 0.7, "At centroid 0.7"), ("giou", 0.25, "At giou 0.25"),
    ],
)  # fmt: skip
def test_a_threshold_is_that_of_its_similarity(data, similarity, threshold, title):
    result = result_of(data, similarity=similarity, iou_threshold=threshold, matcher="recursive")
    text = "\n".join(text_lines(result, details=True))
    assert title in text.splitlines()
    shown = (text, repr(result.thresholds[0]), result._repr_html_())
    assert {"IoU" in each for each in shown} == {similarity == "bbox"}


def test_names_in_tables_are_whole(data):
    names = tuple(name * 30 for name in data.annotator_names)
    result = result_of(replace(data, annotator_names=names))
    lines = [*text_lines(result, story=result.diagnose(), details=True)]
    assert any(f"{line} ".startswith(f" {names[0]} ") for line in lines)


def test_tables_fit_where_names_have_room(data, monkeypatch):
    result = result_of(data)
    for width in (50, 60, 100):
        monkeypatch.setenv("COLUMNS", str(width))
        lines = [*text_lines(result, story=result.diagnose(), details=True)]
        start = next(place for place, line in enumerate(lines) if line.startswith("Images, worst"))
        rows = lines[start + 2 : lines.index("", start + 2)]
        assert max(map(len, rows)) <= width
        assert width == 100 or rows[-1].endswith("columns (in images.csv of --out DIR)")


@pytest.fixture(scope="module")
def told():
    """Three annotators: one places boxes to the right, one misses, one swaps two categories."""
    errors = {
        "*": {"jitter": 1}, "p01": {"offset": [6, 0]}, "p02": {"miss": 0.15},
        "p03": {"confuse": "cow/sheep:0.5"},
    }  # fmt: skip
    options = {"images": 60, "annotators": 3, "categories": ("cow", "sheep", "horse")}
    made = bboxqa.simulate(errors=errors, **options)
    return bboxqa.agree(bboxqa.read_coco(made.document()), bootstrap=200)


def test_the_answer_is_short_and_in_the_order_of_questions(told):
    lines = [*text_lines(told, story=told.tell())]
    assert len(lines) <= 20
    assert sum(len(line.split()) for line in lines) <= 150
    places = [
        next(number for number, line in enumerate(lines) if line.startswith(start))
        for start in ("60 images, ", "Agreement is ", " - ", "At IoU 0.5, 95 %", " Existence",
                      " Class", " Place", " Alpha of 3 annotators", "Look at: ", "Next: ")
    ]  # fmt: skip
    assert places == sorted(places)
    assert lines[0].endswith(": p01, p02, p03")
    # A complete diagnosis, as --out needs it, is told in the same words.
    assert [*text_lines(told, story=told.diagnose())] == lines


def test_details_have_at_most_100_lines_and_name_what_is_left_out(told):
    lines = [*text_lines(told, story=told.diagnose(), details=True)]
    assert len(lines) <= 100
    start = next(n for n, line in enumerate(lines) if line.startswith("Categories, worst first"))
    # The interval of alpha stands in its cell.
    assert not {"low", "high"} & {*lines[start + 2].split()}
    assert lines[start + 3].count("[") == 2
    assert any(line.startswith("Mean of the alphas of images") for line in lines)
    assert lines[-1].startswith("More tables, csv files of --details --out DIR: ")
    assert "review" in lines[-1].split(": ")[1].split(", ")
    start = next(n for n, line in enumerate(lines) if line.startswith("Annotators"))
    assert lines[start + 1].split()[1:5] == ["f1", "miss_rate", "extra_rate", "class_share"]


def test_the_largest_offsets_come_first(told):
    story = told.diagnose()
    only = replace(story, tables={name: story.tables[name] for name in ("offsets", "copies")})
    lines = [*text_lines(told, story=only, details=True)]
    # Annotators without an equal box are no copies.
    assert not any(line.startswith("Copies") for line in lines)
    table = story.tables["offsets"]
    at = np.lexsort((-np.abs(table["offset_percent"]), ~table["systematic"]))[:5]
    start = next(n for n, line in enumerate(lines) if line.startswith("Offsets")) + 2
    found = [tuple(line.split()[:2]) for line in lines[start : start + 5]]
    assert found == [(table["annotator"][each], table["edge"][each]) for each in at.tolist()]


def figures_with(result, **changes):
    part = replace(result.thresholds[0], **changes)
    return "\n".join(text_lines(replace(result, thresholds=(part,))))


def test_chance_is_told_where_it_exceeds_five_percent(told):
    existence = told.existence
    assert "above chance" not in figures_with(told)
    some = replace(existence, chance=0.2, alpha=0.6, alpha_interval=(0.5, 0.7))
    text = figures_with(told, existence=some)
    assert (
        "above chance         0.60 [0.50, 0.70]  F1 with annotations of other images: 0.20" in text
    )
    assert "most of existence is chance" not in text
    much = replace(existence, chance=0.8, alpha=0.2, alpha_interval=(0.1, 0.3))
    assert "Warning: most of existence is chance" in figures_with(told, existence=much)
    none = replace(existence, alpha=0.1, alpha_interval=(-0.1, 0.2))
    assert "\nAgreement cannot be told from chance: " in figures_with(told, existence=none)


def test_the_share_of_one_category_stands_beside_alpha_from_three_quarters_on(told):
    assert "lower as 80 % of annotations are cow" in figures_with(
        told, largest_category=("cow", 0.8)
    )
    assert "lower as" not in figures_with(told, largest_category=("cow", 0.7))


def test_pairs_below_the_threshold_are_one_warning(told):
    assert "pairs behind" not in figures_with(told)
    place = replace(told.place, below_threshold=0.06)
    warned = "Warning: 6 % of the pairs behind class and place are below IoU 0.5"
    assert warned in figures_with(told, place=place)


def test_a_gate_that_is_reached_by_chance_says_so(told):
    part = told.thresholds[0]
    by_chance = replace(part.existence, chance=0.8, alpha=-0.01, alpha_interval=(-0.1, 0.1))
    settings = replace(told.settings, min_f1=0.5)
    result = replace(told, settings=settings, thresholds=(replace(part, existence=by_chance),))
    lines = [*text_lines(result)]
    place = lines.index("Accepted: F1 is at least 0.5")
    assert lines[place + 1].startswith("But agreement cannot be told from chance: existence (F1)")
    # A minus is that of tables.
    result = replace(result, settings=replace(told.settings, min_alpha=0.5))
    below = replace(result, thresholds=(replace(part, alpha=-0.2),))
    assert "Not accepted: alpha is -0.20, and 0.5 was asked for" in [*text_lines(below)]


def test_a_category_that_somebody_never_draws_is_not_good():
    data = bboxqa.read_coco(
        bboxqa.simulate(
            images=60, annotators=3, categories=("a", "b", "c"), errors={"*": "jitter=1"}
        ).document()
    )
    of = data.annotations
    kept = np.flatnonzero((of.annotator != 1) | (of.category != 2))
    lines = text_lines(bboxqa.agree(replace(data, annotations=of.take(kept)), bootstrap=200))
    assert any(line.startswith("Agreement is good, but not of c (existence 0.50") for line in lines)


def test_a_figure_and_its_interval_are_one_cell():
    table = Table(
        {
            "name": text_column(["one", "other", "third"]),
            "f1": np.array([0.256, 0.5, np.nan]),
            "f1_low": np.array([0.1, np.nan, np.nan]),
            "f1_high": np.array([0.3, np.nan, np.nan]),
            "unknown": np.full(3, np.nan),
            "n": np.arange(3),
        }
    )
    columns, every = ("name", "f1"), np.arange(3)
    lines = table_excerpt(table, every, "Title", "rates", columns=columns)
    assert [*lines] == [
        "",
        "Title",
        " name                  f1",
        " one    0.26 [0.10, 0.30]",
        " other  0.50",
        " third                  –",
        " –: undefined or without meaning",
        " … and 1 more column (in rates.csv of --out DIR)",
    ]
    (*_, last) = table_excerpt(table, every, "Title", "rates", n_rows=1)
    assert last == " … and 2 more rows (in rates.csv of --out DIR)"


def test_below_a_title_stands_what_columns_are_and_below_a_table_what_a_dash_means():
    table = Table({"cost": np.array([0.25, 0.125]), "alpha": np.array([0.5, np.nan])})
    found = [*table_excerpt(table, np.arange(2), "Title\n cost: without it", "images")]
    assert found[2] == " cost: without it"
    assert found[6:] == [" –: undefined or without meaning"]
    first = [*table_excerpt(table, np.arange(1), "Title", "images")]
    assert not any("–" in line for line in first)


def test_several_thresholds_are_one_table_and_each_has_to_reach_the_gate(data):
    result = result_of(data, iou_threshold=(0.25, 0.5), min_alpha=0.2)
    lines = [*text_lines(result)]
    assert "alpha at threshold 0.5 is 0.02, and 0.2 was asked for" in lines
    place = lines.index("By threshold")
    assert [line.split()[0] for line in lines[place + 1 : place + 4]] == ["IoU", "0.25", "0.5"]


@pytest.mark.parametrize(("n_annotators", "n_told"), [(3, 3), (4, 4), (40, 4)])
def test_of_many_annotators_the_answer_is_hardly_longer(told, n_annotators, n_told):
    story = replace(told.tell(), lines=(Line("word " * 31),) * 9)
    names = tuple(map(str, range(n_annotators)))
    lines = [*text_lines(replace(told, annotator_names=names), story=story)]
    assert sum(line.startswith(" - word") for line in lines) == n_told
    assert " - more: --details" in lines
    assert n_annotators == 3 or sum(len(line.split()) for line in lines) <= 220
