"""The public functions have the settings as typed keywords."""

import inspect
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import asdict
from support.cli import run
from support.datasets import dataset, two_annotators

import bboxqa
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.model.settings import AgreeKeywords, ValidateKeywords
from bboxqa.model.table import Table

SIMULATED = Path(__file__).parent / "data/simulated.json"
OF_READING = {
    "annotator_key", "attribution", "filter", "join", "asked", "category_map", "session_key",
    "time_key", "tracks",
}  # fmt: skip
OF_VALIDATE = {"images", "ground_truth", "max_findings", "progress"}


def keywords(function) -> dict[str, Any]:
    """Return the keywords that a function names, with their defaults."""
    return {
        name: parameter.default
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }


def test_agree_has_the_settings_of_agree():
    expected = set(bboxqa.AgreeSettings.__struct_fields__) - OF_READING
    assert set(AgreeKeywords.__annotations__) == expected
    assert keywords(bboxqa.agree) == {"reference": None, "progress": None}


def test_validate_has_the_settings_of_validate():
    expected = set(bboxqa.ValidateSettings.__struct_fields__)
    assert set(ValidateKeywords.__annotations__) == expected
    assert keywords(bboxqa.validate).keys() == OF_VALIDATE


def test_settings_of_reading_may_be_none():
    result = bboxqa.agree(DATA, annotator_key=None, attribution=None, filter=None, bootstrap=0)
    assert result.settings == bboxqa.AgreeSettings(bootstrap=0)


def test_a_plan_is_that_of_the_command(tmp_path):
    data = bboxqa.read_coco(SIMULATED)
    result = run("plan", SIMULATED, "--target-width", "0.1", "--seed", 7, "--format", "json")
    planned = json.loads(json.dumps(asdict(bboxqa.plan(data, 0.1, seed=7))))
    shown = json.loads(result.stdout)
    assert {name: shown[name] for name in planned} == planned
    assert planned["n_more"] > 0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: bboxqa.agree(DATA, matchers="greedy"), ConfigError, "did you mean 'matcher'?"),
        (lambda: bboxqa.agree(DATA, iou=0.5), ConfigError, "unknown setting 'iou'"),
        (lambda: bboxqa.validate({}, selekt=["B"]), ConfigError, "did you mean 'select'?"),
        (lambda: bboxqa.agree(DATA, filter="*"), ConfigError, "filter is for `bboxqa.read`"),
        (
            lambda: bboxqa.read_coco({}),
            bboxqa.BboxqaError,
            "the dictionary is empty; expected a COCO",
        ),
        (lambda: bboxqa.plan("a.json", 0.1), TypeError, "expected what `bboxqa.read` returns"),
        (lambda: bboxqa.plan(DATA, 0), ConfigError, "expected"),
        (lambda: bboxqa.plan(DATA, 0.1, iou_threshold=[0.5, 0.7]), ConfigError, "one threshold"),
        (lambda: bboxqa.plan(DATA, 0.1, matchers="greedy"), ConfigError, "did you mean 'matcher'?"),
    ],
)
def test_what_cannot_be_says_why(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call()


def test_arrays_in_a_document_are_numbers():
    document = two_annotators()
    for each in document["annotations"]:
        each["bbox"] = np.array(each["bbox"])
    assert len(bboxqa.read_coco(document).annotations) == len(document["annotations"])


def test_a_document_that_cannot_be_read_says_what_is_wrong_with_it():
    document = two_annotators()
    document["annotations"][0]["bbox"] = [1, 2]
    with pytest.raises(DatasetError) as caught:
        bboxqa.read_coco(document)
    (problem,) = caught.value.problems
    assert problem.startswith("document:1:")
    assert "S006 error" in problem
    assert caught.value.advice == "For all findings: bboxqa.validate(document)"
    with pytest.raises(DatasetError, match="cannot be written as JSON"):
        bboxqa.read_coco({"annotations": [object()]})


def test_a_document_that_nests_deep_is_refused():
    document = deep = {"images": [], "annotations": [], "categories": []}
    for _ in range(5_000):
        deep["info"] = deep = {}
    for function in (bboxqa.read, bboxqa.validate):
        with pytest.raises(DatasetError, match="document: lists nested more than 500 deep"):
            function(document)


def test_python_can_suggest_the_name_that_was_meant():
    with pytest.raises(AttributeError, match="'bboxqa' has no attribute 'agreee'") as caught:
        bboxqa.agreee  # noqa: B018
    assert (caught.value.name, caught.value.obj) == ("agreee", bboxqa)


def test_findings_are_rows_of_a_data_frame():
    pytest.importorskip("pandas")
    document = {"images": [], "annotations": [{"id": 3, "bbox": [1, 2]}], "categories": []}
    report = bboxqa.validate(document, select=["S002", "S006"])
    frame = report.to_pandas()
    assert frame["code"].tolist() == [finding.code for finding in report.findings]
    assert frame["annotation"].tolist() == [3, 3, 3]
    assert frame["line"].tolist() == [1, 1, 1]
    none = bboxqa.validate(document, select=["C"]).to_pandas()
    assert (len(none), list(none.columns)) == (0, list(frame.columns))


@pytest.mark.parametrize(("n", "length"), [(1, 1), (5, 2), (0, 0), (-3, 0)])
def test_the_head_of_a_table(n, length):
    table = Table({"alpha": np.array([0.5, 0.25])})
    assert list(table.head(n)["alpha"]) == [0.5, 0.25][:length]
    assert len(table.head()) == 2


BOXES = (1, 1, 4, 4), (1, 1, 4, 5)
DATA = dataset([(image, drawer, 0, BOXES[drawer]) for image in range(4) for drawer in range(2)])


@pytest.mark.parametrize("call", [bboxqa.read_coco, bboxqa.validate])
@pytest.mark.parametrize("source", [None, 3, [None]])
def test_what_is_no_path_is_named(call, source):
    with pytest.raises(TypeError, match=r"source is of type (NoneType|int); expected one"):
        call(source)


@pytest.mark.parametrize("name", ["images", "categories"])
def test_a_document_without_annotations_is_no_dictionary_of_files(name):
    with pytest.raises(bboxqa.BboxqaError, match="document:1:1: S001 error"):
        bboxqa.read_coco({name: []})


def test_tables_where_files_are_expected_are_told_by_type(tmp_path):
    pandas = pytest.importorskip("pandas")
    row = {"image": "a", "annotator": "ann", "category": "c", "x": 1.0, "y": 1.0}
    row |= {"width": 5.0, "height": 5.0}
    frame = pandas.DataFrame([row, row | {"annotator": "bob"}])
    told = r"source is of type {}; expected one or several paths\. bboxqa\.read also takes one"
    for call in (bboxqa.validate, lambda source: bboxqa.convert(source, tmp_path / "a", to="coco")):
        with pytest.raises(TypeError, match=told.format("DataFrame")):
            call(frame)
        with pytest.raises(TypeError, match=told.format("dict")):
            call([row])
    for several in ([frame, frame], {"ann": frame, "bob": frame}):
        with pytest.raises(TypeError, match=told.format("DataFrame")):
            bboxqa.read_coco(several)
    with pytest.raises(ConfigError, match=r"category_map is \['c'\]; expected such as"):
        bboxqa.read_coco(frame, category_map=["c"])
    for infinite in (float("inf"), float("-inf")):
        with pytest.raises(DatasetError, match=r"x is '-?inf'; expected a number"):
            bboxqa.read_coco(frame.assign(x=infinite))
    with pytest.raises(DatasetError, match=r"with bboxqa\.reading\(columns=") as error:
        bboxqa.read_coco(frame.drop(columns="x"))
    assert "--columns" not in str(error.value)
    with pytest.raises(ConfigError, match=r"^iou_threshold is True; expected a number or numbers$"):
        bboxqa.agree(bboxqa.read_coco(frame), iou_threshold=True)
