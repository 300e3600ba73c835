"""The page of an agreement: its numbers are those of the documents, and no text is markup."""

import json
import re
import shutil
from base64 import b64encode
from hashlib import blake2b, sha256
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from support.cli import run
from support.datasets import document_of
from support.pages import Page

import bboxqa
from bboxqa.core.errors import DatasetError
from bboxqa.examples import example_file
from bboxqa.geometry.registry import SIMILARITIES
from bboxqa.pipelines.pictures import write_saved
from bboxqa.pipelines.threshold_results import measure_name
from bboxqa.report.agreement_page import agreement_pages
from bboxqa.report.agreement_summary import headline, summary
from bboxqa.report.numbers import measure_of
from bboxqa.report.pages import PageTarget
from bboxqa.report.result_files import documents_of

HOSTILE = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "'; alert(1) //", "{{ 7 * 7 }}",
    "</title></style></svg><b>", "\u202egnp.exe", "x" * 300, "🐑 sheep", "two\nlines",
]  # fmt: skip


def documents(data, **settings):
    result = bboxqa.agree(data, bootstrap=50, **settings)
    return documents_of(result, summary(result), result.diagnose())


@pytest.fixture(scope="module")
def found():
    options = {"images": 12, "annotators": 3, "categories": ("cow", "sheep"), "seed": 1}
    errors = {"*": {"miss": 0.1, "confuse": 0.1, "jitter": 2}, "p03": {"offset": [5, 0]}}
    return documents(bboxqa.read_coco(bboxqa.simulate(errors=errors, **options).document()))


@pytest.fixture(scope="module")
def page(found):
    return next(agreement_pages(found))[1]


@pytest.fixture(scope="module")
def hostile():
    """A page of which every name is hostile."""
    names = iter(HOSTILE * 3)
    images, categories, people = ([next(names) for _ in range(n)] for n in (5, 9, 9))
    rows = [
        (place + 1, who, 1 + (number + place) % 9, (5 * number, 10, 20, 30))
        for place in range(5)
        for number, who in enumerate(people)
    ]
    data = bboxqa.read_coco(document_of(rows, images, categories))
    return next(agreement_pages(documents(data)))[1]


def texts(page):
    """Return the text of a page without elements."""
    # A span is a part of its line.
    return unescape(re.sub(r"<[^>]*>", " ", re.sub(r"</?span[^>]*>", "", page)))


def test_every_figure_is_that_of_the_summary(found, page):
    part = found["summary"]["thresholds"][0]
    existence, named, place = part["existence"], part["class"], part["place"]
    body = page.split('<table data-name="Figures">')[1].split("</table>")[0]
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL) for row in body.split("<tr>")[2:]]
    shown = {row[0].strip(): row[1].strip() for row in rows}
    assert shown == {
        name: f"{value:.2f} [{bounds[0]:.2f}, {bounds[1]:.2f}]"
        for name, value, bounds in (
            ("Existence", existence["f1"], existence["interval"]),
            ("Class", named["alpha"], named["interval"]),
            ("Place", place["mean_iou"], place["interval"]),
            ("Alpha of 3 annotators", part["alpha"], part["interval"]),
        )
    }


def test_each_sentence_stands_once_beside_its_annotators_or_below(found):
    said = {"p03 misses 20 %": ["p03"], "p01 and p02 copied": ["p01", "p02"], "cows are hard": []}
    subjects = [{"annotators": names, "see": ""} for names in said.values()]
    told = found["diagnosis"] | {"story": [*said], "subjects": subjects}
    page = next(agreement_pages(found | {"diagnosis": told}))[1]
    assert re.findall("<dt>(.*?)</dt><dd>(.*?)</dd>", page) == [
        ("p03", 'misses <span class="whole">20 %</span>'),
        ("p01 and p02", "p01 and p02 copied"),
    ]
    assert page.count("<li>cows are hard</li>") == 1
    n_objects = sum(row[2] for row in told["tables"]["review_images"]["rows"])
    assert f"{n_objects} objects in" not in page  # of a value in memory, which no command reads


def test_objects_fewer_than_five_are_no_evidence():
    data = bboxqa.read_coco(example_file("fruits"))
    few = next(agreement_pages(documents(data)))[1]
    assert "<svg xmlns" not in few
    assert {*re.findall('<table data-name="([^"]*)"', few)} == {
        "Figures", "Offsets", "Settings and versions", "Files",
    }  # fmt: skip


def test_every_annotation_is_drawn_where_it_is(found, page):
    paths = re.findall(r'<path class="stroke-[^"]*" d="M(\S+) (\S+)h(\S+)v(\S+)H', page)
    drawn = sorted(tuple(map(float, path)) for path in paths)
    boxes = [
        shape["bbox"] for image in found["worst_images"]["images"] for shape in image["shapes"]
    ]
    np.testing.assert_allclose(drawn, sorted(map(tuple, boxes)), rtol=1e-6)


def test_objects_are_numbered_at_their_corner_and_in_the_list(found, page):
    """Those that all drew alike have no number on the picture."""
    articles = re.findall(r'<article class="image".*?</article>', page, re.DOTALL)
    images = found["worst_images"]["images"]
    n_numbers = 0
    for article, image in zip(articles, images, strict=True):
        differing = {each["object"] for each in image["objects"] if each["kind"] != "all agree"}
        shown = re.findall(r'<text x="(\S+)" y="(\S+)" data-object="(\d+)">(\d+)</text>', article)
        assert {int(place) for _, _, place, _ in shown} == differing
        for x, y, place, text in shown:
            boxes = [s["bbox"] for s in image["shapes"] if s["object"] == int(place)]
            assert text == place
            assert float(x) == pytest.approx(max(min(box[0] for box in boxes), 0), abs=0.06)
            letter = max(image["width"], image["height"]) / 44
            top = min(box[1] for box in boxes) - letter / 6
            assert float(y) == pytest.approx(max(top, letter), abs=0.06)
        listed = re.findall(r'<li value="(\d+)" data-object="(\d+)">', article)
        assert sorted(int(place) for place, _ in listed) == sorted(
            each["object"] for each in image["objects"]
        )
        n_numbers += len(shown)
    assert n_numbers > 5


def test_the_policy_allows_the_style_and_script_of_the_page_only(page):
    policy = unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1])
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for name in ("style", "script"):
        (text,) = re.findall(f"<{name}>(.*?)</{name}>", page, re.DOTALL)
        digest = b64encode(sha256(text.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy


@pytest.mark.parametrize("name", ["page", "hostile"])
def test_nothing_is_inline_and_nothing_comes_from_elsewhere(name, request):
    for tag, attributes in Page(request.getfixturevalue(name)).elements:
        assert "style" not in attributes, tag
        assert not [key for key in attributes if key.startswith("on")], tag
        for key in ("href", "src", "xlink:href"):
            assert re.match(r"#|data:image/", attributes.get(key, "#")), attributes


def test_hostile_names_are_text(hostile):
    tags = Page(hostile).tags
    assert tags.count("script") == tags.count("style") == tags.count("title") - 45 == 1
    assert not {"b", "img"} & {*tags}
    shown = texts(hostile)
    for name in HOSTILE[:5]:
        assert name in shown
    assert r"\u202egnp.exe" in shown
    assert r"two\nlines" in shown
    assert "49" not in re.findall(r"\b49\b", texts(hostile.split("</style>")[1].split("<nav")[0]))


@pytest.mark.parametrize("name", SIMILARITIES)
def test_a_page_calls_values_of_similarities_what_results_call_them(name):
    assert measure_of(name) == measure_name(name)


def part(**changes):
    return {
        "alpha": 0.9, "alpha_reason": None, "interval": [0.85, 0.95], "n_units": 9,
        "n_complete_units": 8, "observed_disagreement": 0.1,
        "existence": EXISTENCE, "class": {"share": 0.95, "alpha": 0.9},
        "place": {"mean_iou": 0.8}, "categories": [],
        "largest_category": {"name": "cat", "share": 0.9},
    } | changes  # fmt: skip


EXISTENCE = {"f1": 0.9, "reason": None, "alpha": None, "alpha_interval": None}
WEAK = [
    # Drawn by one only, named otherwise, too few, not for sure, and without an interval.
    {"category": name, "n_annotations": n, "f1": f1, "f1_high": high, "found": found,
     "class_share": share}
    for name, n, f1, high, found, share in (
        ("dog", 50, 0.0, 0.0, 0.0, None), ("cat", 60, 0.55, 0.6, 0.93, 0.6),
        ("few", 49, 0.0, 0.0, 0.0, None), ("car", 900, 0.85, 0.92, 0.88, 0.97),
        ("old", 900, 0.7, None, 0.8, 0.7), ("cow", 90, 0.8, 0.85, 0.8, 1.0),
    )
]  # fmt: skip
GATES = {"min_alpha": None, "min_f1": None, "similarity": "bbox"}


CHANCE = EXISTENCE | {"chance": 0.89, "alpha": 0.1, "alpha_interval": [-0.1, 0.2]}
MISNAMED = {"class": {"share": 0.6, "alpha": 0.6669}, "place": {"mean_iou": 0.7}}
MISPLACED = {"class": {"share": 1.0, "alpha": None}, "place": {"mean_iou": 0.7}}
ALL_AGREE = {"alpha": None, "n_complete_units": 9, "observed_disagreement": 0.0}


@pytest.mark.parametrize(
    ("changes", "gates", "status", "title"),
    [
        ({}, {}, "open",
         ("Agreement is good, because annotators draw the same objects, name them alike and place "
          "them alike (good from existence 0.90, class 0.80 and place 0.80)")),
        ({"categories": WEAK}, {}, "open",
         ("Agreement is good, but not of dog (existence 0.00, good from 0.90), cat (named alike "
          "0.60, good from 0.80) and 1 more")),
        ({"categories": WEAK} | MISNAMED, {}, "open",
         ("Agreement is poor, because annotators often name an object differently (class 0.6669, "
          "moderate from 0.67)")),
        (MISPLACED, {}, "open",
         ("Agreement is moderate, because annotators place an object a little differently (place "
          "0.70, good from 0.80)")),
        ({"existence": CHANCE}, {}, "open",
         ("Agreement cannot be told from chance: existence (F1) is 0.90, and 0.89 with the "
          "annotations of other images")),
        ({"categories": WEAK}, {"min_f1": 0.8}, "passed", "Accepted: F1 is at least 0.8"),
        ({}, {"min_alpha": 0.8}, "passed", "Accepted: alpha is at least 0.8"),
        ({}, {"min_alpha": 0.8, "min_f1": 0.5}, "passed",
         "Accepted: alpha is at least 0.8 and F1 is at least 0.5"),
        ({"alpha": 0.7}, {"min_alpha": 0.8}, "failed",
         "Not accepted: alpha is 0.70, and 0.8 was asked for"),
        ({"alpha": None, "alpha_reason": "one category"}, {"min_alpha": 0.8}, "failed",
         "Not accepted: there is no alpha to compare with 0.8: one category"),
        (ALL_AGREE, {"min_alpha": 0.8}, "passed", "Accepted: alpha is at least 0.8"),
    ],
)  # fmt: skip
def test_verdicts(changes, gates, status, title):
    assert headline([part(**changes)], GATES | gates)[:2] == (status, title)


def test_no_figure_is_rounded_to_what_it_does_not_reach():
    told = [
        headline([part(alpha=alpha)], GATES | {"min_alpha": 0.8})[1]
        for alpha in (0.797, 0.79996, 1 - 1e-9)
    ]
    assert [text.partition(",")[0] for text in told] == [
        "Not accepted: alpha is 0.797",
        "Not accepted: alpha is nearly 0.80",
        "Accepted: alpha is at least 0.8",
    ]


def test_report_of_a_saved_run_is_the_page_of_agree(saved, tmp_path):
    folder = Path(shutil.copytree(saved, tmp_path / "run"))
    assert run("report", folder).returncode == 0
    page = saved.parent / "one.html"
    assert (folder / "report.html").read_bytes() == page.read_bytes()
    assert "To look at again:" in texts(page.read_text("utf-8"))
    # A page is replaced, and shows pixels now.
    assert run("report", folder, "--images", saved.parent).returncode == 0
    assert b"data:image/webp" in (folder / "report.html").read_bytes()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (None, None, "no such folder"),
        ("other.txt", "", "summary.json: is not what `bboxqa agree --out` writes"),
        ("summary.json", "", "summary.json: is not what `bboxqa agree --out` writes"),
        ("summary.json", "[]", "is not what `bboxqa agree --out` writes"),
        ("summary.json", '{"thresholds": []}', "manifest.json: is not what "),
    ],
)
def test_report_of_what_is_no_result(name, text, message, tmp_path):
    folder = tmp_path / "run"
    if name is not None:
        folder.mkdir()
        (folder / name).write_text(text)
    done = run("report", folder, "--out", tmp_path / "page.html")
    assert done.returncode == 2
    assert message in done.stderr
    assert message in run("report", folder).stderr
    assert not (tmp_path / "page.html").exists()


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A saved result with a diagnosis; its page and data are beside it."""
    folder = tmp_path_factory.mktemp("saved")
    assert run("example", "fruits", "--out", folder).returncode == 0
    page = folder / "one.html"
    done = run("agree", folder / "fruits.json", "--out", folder / "run", "--report", page)
    assert done.returncode == 0
    assert f"Written: {page}" in done.stdout
    return folder / "run"


def test_the_manifest_has_the_digest_of_every_other_file(saved):
    outputs = json.loads((saved / "manifest.json").read_text())["outputs"]
    names = sorted(path.name for path in saved.iterdir() if path.suffix in (".csv", ".json"))
    assert [each["name"] for each in outputs] == [name for name in names if name != "manifest.json"]
    for each in outputs:
        content = (saved / each["name"]).read_bytes()
        assert (each["size"], each["blake2b"]) == (len(content), blake2b(content).hexdigest())


def other_figure(path):
    path.write_text(path.read_text().replace('"alpha": 0.0', '"alpha": 0.9', 1))


def without_outputs(path):
    manifest = json.loads(path.read_text())
    del manifest["outputs"]
    path.write_text(json.dumps(manifest))


def without_summary_listed(path):
    manifest = json.loads(path.read_text())
    manifest["outputs"] = [each for each in manifest["outputs"] if each["name"] != "summary.json"]
    path.write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("summary.json", other_figure, "summary.json: is not the file that manifest.json lists"),
        ("details.json", lambda path: path.write_text('{"tables": {}}'), "details.json: is not"),
        ("manifest.json", without_outputs, "summary.json: is not the file"),
        ("manifest.json", without_summary_listed, "summary.json: is not the file"),
    ],
)  # fmt: skip
def test_report_of_an_edited_result(name, change, message, saved, tmp_path):
    folder = Path(shutil.copytree(saved, tmp_path / "run"))
    change(folder / name)
    with pytest.raises(DatasetError) as raised:
        write_saved(folder, PageTarget(tmp_path / "page.html"))
    assert re.search(message, str(raised.value))
    assert "make the result again with `bboxqa agree … --out FOLDER`" in str(raised.value)


def test_a_result_of_an_earlier_version_is_refused_by_name(saved, tmp_path):
    folder = Path(shutil.copytree(saved, tmp_path / "run"))
    (folder / "details.json").rename(folder / "diagnosis.json")
    done = run("report", folder)
    assert done.returncode == 2
    assert "details.json: is not what `bboxqa agree --out` writes, or is of an" in done.stderr


def test_a_long_table_is_cut_and_says_so(found):
    documents = {name: json.loads(json.dumps(found[name])) for name in ("summary", "manifest")}
    diagnosis = json.loads(json.dumps(found["diagnosis"]))
    rows = diagnosis["tables"]["confusions"]["rows"]
    diagnosis["tables"]["confusions"]["rows"] = (rows * 3000)[:2500]
    page = next(agreement_pages({**documents, "diagnosis": diagnosis}))[1]
    table = re.search(r'<table data-name="Confused pairs">(.*?)</table>', page, re.DOTALL)[1]
    assert table.count("<tr>") == 1 + 2000
    assert page.count("The first 2,000 of 2,500 rows") == 1
