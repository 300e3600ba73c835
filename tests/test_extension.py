"""Parts from outside: one line in a registry, or an entry point of another package, is enough.

Rules and formats through entry points are in tests/rules/test_plugins.py and
tests/formats/test_registry.py.
"""

import sys

import numpy as np
import pytest
from support.cli import run
from support.datasets import annotation, dataset, document, write
from support.plugins import install

import bboxqa
from bboxqa.core.errors import ConfigError
from bboxqa.diagnostics import DIAGNOSTICS
from bboxqa.examples import example_file
from bboxqa.geometry import registry as similarities
from bboxqa.matching.matchers import MATCHERS, Matcher
from bboxqa.model.table import Table
from bboxqa.report import AGREEMENT_VIEWS, FINDING_VIEWS, view

# Two annotators drew the same widths, at heights that hardly overlap.
DATA = dataset([(0, 0, 0, (1, 1, 10, 4)), (0, 1, 0, (1, 4, 10, 4))])

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


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


class TestSimilarity:
    def install(self, site, module, text=SIMILARITY, attribute="WIDTH"):
        entry = f"width = {module}:{attribute}"
        install(site, "acme-width", {"bboxqa.similarities": entry}, {module: text})

    def test_one_of_another_package(self, site):
        self.install(site, "acme_width")
        assert similarities.names()[-1] == "width"
        assert bboxqa.agree(DATA, similarity="bbox").thresholds[0].n_units == 2
        assert "acme_width" not in sys.modules
        result = bboxqa.agree(DATA, similarity="width", iou_threshold=1.0)
        assert result.thresholds[0].n_units == 1

    def test_on_the_command_line_and_in_a_file(self, site, tmp_path):
        self.install(site, "acme_again")
        boxes = [
            annotation(1, annotator="ann", bbox=[1, 1, 10, 4]),
            annotation(2, annotator="bob", bbox=[1, 4, 10, 4]),
        ]
        export = write(tmp_path / "export.json", document(boxes))
        config = tmp_path / "width.toml"
        config.write_text('similarity = "width"')
        for options in (["--similarity", "width"], ["--config", config]):
            outcome = run("agree", export, *options, "--format", "json")
            assert outcome.returncode == 0, outcome.stderr
            assert '"n_units": 1' in outcome.stdout
        outcome = run("agree", export, "--similarity", "widht")
        assert outcome.returncode == 2
        assert ", width; did you mean 'width'?" in outcome.stderr

    @pytest.mark.parametrize(
        ("module", "text", "message"),
        [
            ("acme_bad", "import nothing_of_that_name", "package acme-width: entry point width"),
            (
                "acme_seven",
                "WIDTH = 7",
                "similarity 'width' of another package has type int; expected",
            ),
        ],
    )
    def test_a_broken_one_is_named(self, site, module, text, message):
        self.install(site, module, text)
        assert bboxqa.agree(DATA, similarity="bbox").thresholds[0].n_units == 2
        with pytest.raises(ConfigError, match=message):
            bboxqa.agree(DATA, similarity="width")

    def test_one_with_the_name_of_a_built_in_one_is_refused(self, site):
        entry = {"bboxqa.similarities": "bbox = acme_box:WIDTH"}
        install(site, "acme-box", entry, {"acme_box": SIMILARITY})
        assert similarities.names().count("bbox") == 1
        assert bboxqa.agree(DATA, similarity="giou").thresholds[0].n_units == 2
        message = "'bbox' is built in, and package acme-box offers another of this name"
        with pytest.raises(ConfigError, match=message):
            bboxqa.agree(DATA, similarity="bbox")
        assert "acme_box" not in sys.modules


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
    assert {"pair_similarity", "n_drawers"} <= set(tables)
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
