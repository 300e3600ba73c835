"""Parts from outside: one line in a registry, or an entry point of another package, is enough."""

import sys

import numpy as np
import pytest
from support.cli import run
from support.datasets import annotation, dataset, document, two_annotators, write
from support.plugins import install
from support.validation import codes, findings, report_of

import bboxqa
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.diagnostics import DIAGNOSTICS
from bboxqa.examples import example_file
from bboxqa.formats import registry as formats
from bboxqa.formats.coco.reader import COCO
from bboxqa.geometry import registry as similarities
from bboxqa.matching.matchers import MATCHERS, Matcher
from bboxqa.model.table import Table
from bboxqa.report import AGREEMENT_VIEWS, FINDING_VIEWS, view
from bboxqa.rules.registry import RULES, known_rules, selected_codes

# Two annotators drew the same widths, at heights that hardly overlap.
DATA = dataset([(0, 0, 0, (1, 1, 10, 4)), (0, 1, 0, (1, 4, 10, 4))])
BITMAP = {"images": [{"file_name": "a.bmp"}]}

SIMILARITY = """
import numpy as np
from bboxqa.geometry.similarity import Comparison, Similarity


def width_iou(dataset, options):
    x, _, width, _ = dataset.annotations.bbox.T

    def compare(left, right):
        last = np.minimum(x[left] + width[left], x[right] + width[right])
        shared = np.maximum(last - np.maximum(x[left], x[right]), 0)
        return shared / (width[left] + width[right] - shared)

    return Comparison(compare, bounds=None)


WIDTH = Similarity(width_iou, needs="boxes")
"""

FORMAT = """
import csv

from bboxqa.formats.document import file_of_records
from bboxqa.formats.records import Category, Image
from bboxqa.formats.format import Format
from bboxqa.model.annotations import Source

HEADER = "photo,annotator,category,x,y,width,height"


def recognises(path):
    with path.open() as file:
        return file.readline().strip() == HEADER


def read(path, options):
    images, categories, records = {}, {}, []
    with path.open() as file:
        for number, row in enumerate(csv.DictReader(file), 1):
            records.append(
                {
                    "id": number,
                    "image_id": images.setdefault(row["photo"], len(images)),
                    "category_id": categories.setdefault(row["category"], len(categories)),
                    "bbox": [float(row[key]) for key in ("x", "y", "width", "height")],
                    "annotator": row["annotator"],
                }
            )
    return file_of_records(
        Source(str(path), path.stat().st_size, None),
        [Image(number, name) for name, number in images.items()],
        [Category(number, name) for name, number in categories.items()],
        records,
        options,
    )


BOXES = Format("acme-boxes", (".csv",), recognises, read)
"""
TABLE = """\
photo,annotator,category,x,y,width,height
a.jpg,ann,cat,10,10,20,20
a.jpg,bob,cat,10,12,20,20
"""

RULE = """
from bboxqa.model.findings import Severity
from bboxqa.rules.base import Rows, Rule
import numpy as np


def check(document, settings):
    names = [document.images.get(row, "file_name") for row in range(len(document.images))]
    wrong = np.array([str(name).endswith(".bmp") for name in names], bool)
    yield Rows(wrong, "image is {value}", "images/file_name", "a JPEG")


def rule(code):
    return Rule(
        code=code, title="image is a bitmap", severity=Severity.WARNING, scope="record",
        breaks="Bitmaps fill the disk.", explanation="Convert the image.",
        bad={"images": [{"file_name": "a.bmp"}]}, good={"images": [{"file_name": "a.jpg"}]},
        check=check,
    )
"""

PARTS = {
    "similarities": ("width", "WIDTH", SIMILARITY), "formats": ("acme-boxes", "BOXES", FORMAT),
    "rules": ("acme", "RULES", f"{RULE}RULES = (rule('ACME001'), rule('ACME002'))\n"),
}  # fmt: skip
"""What packages offer: its name, and its attribute in a module of this text."""


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Yield a folder for packages; the rules found in it are forgotten afterwards."""
    (tmp_path / "site").mkdir()
    monkeypatch.syspath_prepend(tmp_path / "site")
    known_rules.cache_clear()
    yield tmp_path / "site"
    known_rules.cache_clear()


def add(site, part, module, text=None, name=None):
    """Install a package that offers a part; each name of a module is used once."""
    own, attribute, sound = PARTS[part]
    entry = {f"bboxqa.{part}": f"{name or own} = {module}:{attribute}"}
    install(site, f"acme-{part}", entry, {module: text or sound})


@pytest.fixture
def boxes(tmp_path):
    return write(tmp_path / "boxes.csv", TABLE)


@pytest.fixture
def export(tmp_path):
    return write(tmp_path / "export.json", two_annotators())


BROKEN = [
    ("similarities", "import nothing_of_that_name", "package acme-similarities: entry point width"),
    ("similarities", "WIDTH = 7", "similarity 'width' of another package has type int; expected"),
    ("formats", "import nothing_of_that_name", "package acme-formats: entry point acme-boxes"),
    ("formats", "BOXES = 'csv'", "format 'acme-boxes' of another package has type str"),
    *(("rules", text, f"package acme-rules: entry point acme.* {words}") for text, words in (
        ("1 / 0", "cannot be loaded: ZeroDivisionError: division by zero"),
        ("RULES = 7", "found int; expected rules with codes"),
        (f"{RULE}RULES = rule('acme1')", "found acme1; expected rules with codes"),
        (f"{RULE}RULES = rule('B001')", "found B001; expected rules with codes"),
        (f"{RULE}RULES = [rule('X1')] * 2", "found X1; expected rules with codes"),
    )),
]  # fmt: skip


@pytest.mark.parametrize(("part", "text", "message"), BROKEN)
def test_a_broken_package_is_named_in_one_line(site, boxes, export, part, text, message):
    add(site, part, f"acme_broken_{BROKEN.index((part, text, message))}", text)
    # What is built in is used as before.
    assert bboxqa.agree(DATA, similarity="bbox").thresholds[0].n_units == 2
    use, command = {
        "similarities": (lambda: bboxqa.agree(DATA, similarity="width"),
                         ("agree", export, "--similarity", "width")),
        "formats": (lambda: bboxqa.read_coco(boxes), ("agree", boxes)),
        "rules": (lambda: selected_codes([], []), ("validate", export)),
    }[part]  # fmt: skip
    with pytest.raises(ConfigError, match=message) as caught:
        use()
    assert "\n" not in str(caught.value)
    done = run(*command)
    assert done.returncode == 2
    assert str(caught.value) in " ".join(done.stderr.split())


def test_one_with_the_name_of_a_built_in_one_is_refused(site, boxes, export):
    add(site, "similarities", "acme_bbox", name="bbox")
    add(site, "formats", "acme_coco", name="coco")
    assert similarities.names().count("bbox") == 1
    assert bboxqa.agree(DATA, similarity="giou").thresholds[0].n_units == 2
    assert len(bboxqa.read_coco(export).annotator_names) == 2
    message = "'{}' is built in, and package acme-{} offers another of this name"
    with pytest.raises(ConfigError, match=message.format("bbox", "similarities")):
        bboxqa.agree(DATA, similarity="bbox")
    with pytest.raises(ConfigError, match=message.format("coco", "formats")):
        bboxqa.read_coco(boxes)
    assert "acme_bbox" not in sys.modules


# Similarities.


def test_a_similarity_of_another_package(site):
    add(site, "similarities", "acme_width")
    assert similarities.names()[-1] == "width"
    assert bboxqa.agree(DATA, similarity="bbox").thresholds[0].n_units == 2
    assert "acme_width" not in sys.modules
    result = bboxqa.agree(DATA, similarity="width", iou_threshold=1.0)
    assert result.thresholds[0].n_units == 1


def test_a_similarity_on_the_command_line_and_in_a_file(site, tmp_path):
    add(site, "similarities", "acme_again")
    drawn = [annotation(n, annotator=who, bbox=[1, y, 10, 4])
             for n, who, y in ((1, "ann", 1), (2, "bob", 4))]  # fmt: skip
    export = write(tmp_path / "export.json", document(drawn))
    config = write(tmp_path / "width.toml", 'similarity = "width"')
    for options in (["--similarity", "width"], ["--config", config]):
        outcome = run("agree", export, *options, "--format", "json")
        assert outcome.returncode == 0, outcome.stderr
        assert '"n_units": 1' in outcome.stdout
    outcome = run("agree", export, "--similarity", "widht")
    assert outcome.returncode == 2
    assert ", width; did you mean 'width'?" in outcome.stderr


# Formats: found through entry points, and asked where COCO is not found.


def test_a_file_is_read_by_the_format_that_recognises_it(site, boxes):
    add(site, "formats", "acme_boxes")
    assert formats.names()[-1] == "acme-boxes"
    data = bboxqa.read_coco(boxes)
    assert data.annotator_names == ("ann", "bob")
    assert data.annotations.bbox.tolist() == [[10, 10, 20, 20], [10, 12, 20, 20]]
    assert data.category_names == ("cat",)
    outcome = run("agree", boxes, "--format", "json")
    assert outcome.returncode == 0, outcome.stderr
    assert '"n_units": 1' in outcome.stdout


def test_a_folder_with_files_of_several_formats(site, tmp_path):
    folder = tmp_path / "boxes"
    write(folder / "a.json", two_annotators())
    write(folder / "b.csv", TABLE)
    write(folder / "people.csv", "name,age\nann,7\n")
    add(site, "formats", "acme_mixed")
    alone = len(bboxqa.read_coco(folder / "a.json").annotations)
    with pytest.raises(DatasetError, match=r"several formats: coco .*, acme-boxes \(b\.csv\)"):
        bboxqa.read_coco(folder)
    with bboxqa.reading(from_format="acme-boxes"):
        assert len(bboxqa.read_coco(folder).annotations) == 2
    assert len(bboxqa.read_coco(folder, pattern="*.json").annotations) == alone


@pytest.mark.parametrize("coordinates", ["nan,1,2,2", "1,1,2,NaN"])
def test_a_coordinate_that_is_not_a_number_is_refused(coordinates, site, tmp_path):
    add(site, "formats", "acme_not_numbers")
    path = write(tmp_path / "boxes.csv", f"{TABLE}a.jpg,ann,cat,{coordinates}\n")
    with pytest.raises(DatasetError, match=r"annotations\[2\] \(id 3\): bbox is missing or"):
        bboxqa.read_coco(path)


def test_a_file_that_nobody_recognises_is_taken_for_coco(site, tmp_path):
    add(site, "formats", "acme_other")
    path = write(tmp_path / "other.txt", "a,b\n1,2\n")
    assert formats.format_of(path) is COCO
    with pytest.raises(DatasetError, match="F001 error"):
        bboxqa.read_coco(path)


# Rules: found through entry points, applied, selected and explained.


def test_rules_of_a_package_are_applied_and_selected(site):
    add(site, "rules", "acme_two")
    assert list(known_rules()) == [*RULES, "ACME001", "ACME002"]
    assert codes(BITMAP) >= {"ACME001", "ACME002"}
    assert codes(BITMAP, select=("ACME002",)) == {"ACME002"}
    assert "ACME001" not in codes(BITMAP, ignore=("ACME001",))
    (finding,) = findings(BITMAP, code="ACME001")
    assert finding.pointer == "/images/0/file_name"
    assert finding.spot is not None
    assert report_of(BITMAP).rules["ACME001"].explanation == "Convert the image."
    assert selected_codes(["ACME"], ["ACME001"]) == ("ACME002",)


def test_a_single_rule_is_explained_and_listed(site):
    add(site, "rules", "acme_one", f"{RULE}RULES = rule('X1')")
    page = run("explain", "X1")
    assert page.returncode == 0
    assert "X1 image is a bitmap" in page.stdout
    listed = run("explain").stdout
    assert "X: rules of other packages" in listed
    assert "  X1  warning" in listed


def test_nothing_is_imported_before_rules_are_asked_for(site):
    add(site, "rules", "acme_late", "1 / 0")
    assert run("--help").returncode == 0
    assert run("validate", "--help").returncode == 0


# Registries.


def test_matcher(monkeypatch):
    def alone(annotations, pairs, weight):
        """Join nothing."""
        return np.arange(len(annotations))

    data = dataset([(0, drawer, 0, (1, 1, 10, 4)) for drawer in range(2)])
    assert bboxqa.agree(data).thresholds[0].n_units == 1
    monkeypatch.setitem(MATCHERS, "alone", Matcher(alone))
    assert bboxqa.agree(data, matcher="alone").thresholds[0].n_units == 2


def test_diagnostic(monkeypatch):
    def n_drawers(matched):
        """Return the number of annotators who drew each unit."""
        return Table({"n_drawers": np.bincount(matched.units.unit)})

    monkeypatch.setitem(DIAGNOSTICS, "n_drawers", n_drawers)
    tables = bboxqa.agree(DATA, iou_threshold=0.1, bootstrap=0).diagnose().tables
    assert {"decomposition", "n_drawers"} <= set(tables)
    assert tables["n_drawers"]["n_drawers"].tolist() == [2]


VIEWS = """
def codes(report):
    yield from sorted({finding.code for finding in report.findings})


def alphas(result):
    for part in result.thresholds:
        yield f"{part.iou_threshold:g},{part.alpha:.4f}"
"""


class TestView:
    @pytest.fixture(autouse=True)
    def module(self, site):
        (site / "acme_views.py").write_text(VIEWS)

    def test_of_findings(self, monkeypatch):
        monkeypatch.setitem(FINDING_VIEWS, "codes", "acme_views:codes")
        report = bboxqa.validate({"images": [{}], "annotations": [], "categories": []})
        assert [*FINDING_VIEWS][-1] == "codes"
        assert report.render("codes").split() == sorted({each.code for each in report.findings})

    def test_of_agreement(self, monkeypatch):
        monkeypatch.setitem(AGREEMENT_VIEWS, "alphas", "acme_views:alphas")
        result = bboxqa.agree(bboxqa.read_coco(example_file("fruits")), bootstrap=0)
        assert list(view(AGREEMENT_VIEWS, "alphas")(result)) == ["0.5,0.0222"]
