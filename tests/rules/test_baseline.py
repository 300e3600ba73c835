"""Baselines: what is known does not fail again, wherever its record stands."""

import json

import numpy as np
import pytest
from msgspec.structs import replace
from support.mutants import MUTATIONS, mutant
from support.reference import data_file
from support.reports import HOSTILE, finding, report
from support.validation import report_of

from bboxqa.core.errors import ConfigError
from bboxqa.model.findings import Severity, identities
from bboxqa.rules.fixes import Baseline, identity, new_findings, read_baseline, write_baseline

BROKEN = [{"id": 7, "bbox": [10, 10, 0, 20]}, {"id": 8, "bbox": [5, 5, -1, 2]}]
SOUND = {"id": 9}


def of(*records, text=None):
    return report_of(text or {"annotations": list(records)}, select=("B001",))


def baseline_of(tmp_path, found):
    write_baseline(tmp_path / "known.json", found)
    return read_baseline(tmp_path / "known.json")


@pytest.mark.parametrize(
    ("changed", "is_same"),
    [
        ({"code": "B004"}, False), ({"file": "other.json"}, False),
        ({"ids": {"annotation": 2, "image": 5}}, False), ({"found": [10, 10, 0, 21]}, False),
        ({"pointer": "/annotations/0/area"}, False), ({"pointer": "/images/0/bbox"}, False),
        ({"pointer": "/annotations/99/bbox"}, True), ({"spot": None}, True),
        ({"message": "other words"}, True), ({"file": "./export.json"}, True),
        ({"found": (10, 10, 0, 20)}, True), ({"severity": Severity.INFO}, True),
    ],
)  # fmt: skip
def test_identity_is_what_was_found_and_not_where_it_stands(changed, is_same):
    assert (identity(finding()) == identity(replace(finding(), **changed))) == is_same


def test_only_what_is_new_is_kept(tmp_path):
    known = baseline_of(tmp_path, of(*BROKEN))
    rest = new_findings(of(SOUND, *reversed(BROKEN)), known)
    assert (rest.findings, rest.counts, rest.at_least(Severity.INFO)) == ((), {}, 0)
    assert rest.notes == ("2 known findings of the baseline hidden, of them 2 errors",)
    rest = new_findings(of(*BROKEN), baseline_of(tmp_path, of(BROKEN[0])))
    assert [each.ids["annotation"] for each in rest.findings] == [8]
    assert (rest.counts, rest.severities[Severity.ERROR]) == ({"B001": 1}, 1)


def test_of_equal_findings_as_many_as_are_known_are_dropped(tmp_path):
    twin = finding(ids={})
    known = baseline_of(tmp_path, report(twin, twin))
    assert len(new_findings(report(twin, twin, twin), known).findings) == 1
    assert len(new_findings(report(twin), known).findings) == 0


def test_the_list_can_be_cut_and_the_counts_are_not(tmp_path):
    rest = new_findings(
        report(*(finding(row=row) for row in range(5)), finding("B004")),
        Baseline(tmp_path, {}),
        limit=2,
    )
    assert [each.code for each in rest.findings] == ["B001", "B001", "B004"]
    assert rest.counts == {"B001": 5, "B004": 1}


def test_the_file_does_not_depend_on_the_order(tmp_path):
    found = [finding(row=row) for row in range(9)] + [finding("C002", file=HOSTILE)]
    write_baseline(tmp_path / "one.json", report(*found))
    write_baseline(tmp_path / "two.json", report(*reversed(found)))
    text = (tmp_path / "one.json").read_bytes()
    assert text == (tmp_path / "two.json").read_bytes()
    assert len(text.decode().splitlines()) == 12


@pytest.mark.parametrize(
    ("text", "said"),
    [
        *((text, r"known\.json: not a baseline") for text in (
            "", "[]", "{}", "nonsense", '{"bboxqa_baseline": 1}', "\xff",
            '{"bboxqa_baseline": 1, "findings": [3]}', '{"bboxqa_baseline": 1, "findings": 3}',
        )),
        ('{"bboxqa_baseline": 2, "findings": []}', "not a baseline"),
    ],
)  # fmt: skip
def test_what_is_no_baseline_is_said(tmp_path, text, said):
    path = tmp_path / "known.json"
    with pytest.raises(ConfigError, match="no such file"):
        read_baseline(path)
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError, match=said):
        read_baseline(path)


def shuffled(text, seed, indent=None):
    document = json.loads(text)
    rng = np.random.default_rng(seed)
    for name in ("images", "annotations", "categories"):
        if isinstance(document.get(name), list):
            order = rng.permutation(len(document[name]))
            document[name] = [document[name][place] for place in order]
    return json.dumps(document, indent=indent)


def known(text):
    return sorted(identities(report_of(text).findings))


# What is not JSON cannot be shuffled; repeated keys are lost on the way.
@pytest.mark.parametrize("code", sorted(set(MUTATIONS) - {"F001", "F002", "F003", "F005", "F006"}))
def test_reordered_records_are_the_same_findings(code):
    text = mutant(code, 3).decode()
    assert known(shuffled(text, 1, indent=1)) == known(shuffled(text, 2))


@pytest.mark.parametrize("name", ["roboflow", "simulated", "exports/cvat_boxes"])
def test_reordered_exports_are_the_same_findings(name):
    text = data_file(f"{name}.json").read_text("utf-8")
    assert known(shuffled(text, 1)) == known(text)
