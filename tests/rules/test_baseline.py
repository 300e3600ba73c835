"""Baselines: what is known does not fail again."""

import pytest
from msgspec.structs import replace
from support.reports import HOSTILE, finding, report
from support.validation import report_of

from bboxqa.core.errors import ConfigError
from bboxqa.model.findings import Severity
from bboxqa.rules.fixes import Baseline, identity, new_findings, read_baseline, write_baseline

BROKEN = [{"id": 7, "bbox": [10, 10, 0, 20]}, {"id": 8, "bbox": [5, 5, -1, 2]}]
SOUND = {"id": 9}


def names(found):
    return sorted(identity(each) for each in found.findings if each.code == "B001")


def of(*records, text=None):
    return report_of(text or {"annotations": list(records)}, select=("B001",))


def baseline_of(tmp_path, found):
    write_baseline(tmp_path / "known.json", found)
    return read_baseline(tmp_path / "known.json")


def test_identity_survives_reordered_and_added_records():
    assert names(of(*BROKEN)) == names(of(SOUND, *reversed(BROKEN)))
    assert len(set(names(of(*BROKEN)))) == 2


@pytest.mark.parametrize(
    "changed",
    [
        {"code": "B004"},
        {"file": "other.json"},
        {"ids": {"annotation": 2, "image": 5}},
        {"pointer": "/annotations/0/area"},
        {"pointer": "/images/0/bbox"},
        {"found": [10, 10, 0, 21]},
    ],
)
def test_identity_tells_findings_apart(changed):
    assert identity(finding()) != identity(replace(finding(), **changed))


@pytest.mark.parametrize(
    "changed",
    [
        {"pointer": "/annotations/99/bbox"},
        {"spot": None},
        {"message": "other words"},
        {"file": "./export.json"},
        {"found": (10, 10, 0, 20)},
        {"severity": Severity.INFO},
    ],
)
def test_identity_does_not_change_with_what_moves(changed):
    assert identity(finding()) == identity(replace(finding(), **changed))


def test_what_is_known_is_not_new(tmp_path):
    known = baseline_of(tmp_path, of(*BROKEN))
    rest = new_findings(of(SOUND, *reversed(BROKEN)), known)
    assert rest.findings == ()
    assert rest.counts == {}
    assert rest.at_least(Severity.INFO) == 0


def test_only_what_is_new_is_kept(tmp_path):
    known = baseline_of(tmp_path, of(BROKEN[0]))
    rest = new_findings(of(*BROKEN), known)
    assert [each.ids["annotation"] for each in rest.findings] == [8]
    assert rest.counts == {"B001": 1}
    assert rest.severities[Severity.ERROR] == 1


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


def test_a_report_that_does_not_list_all_is_refused(tmp_path):
    cut = report(finding(), unlisted={"B001": 3})
    with pytest.raises(ValueError, match="lists all"):
        new_findings(cut, Baseline(tmp_path, {}))
    with pytest.raises(ValueError, match="lists all"):
        write_baseline(tmp_path / "known.json", cut)
    assert not list(tmp_path.iterdir())


def test_the_file_does_not_depend_on_the_order(tmp_path):
    found = [finding(row=row) for row in range(9)] + [finding("C002", file=HOSTILE)]
    write_baseline(tmp_path / "one.json", report(*found))
    write_baseline(tmp_path / "two.json", report(*reversed(found)))
    text = (tmp_path / "one.json").read_bytes()
    assert text == (tmp_path / "two.json").read_bytes()
    assert len(text.decode().splitlines()) == 12


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "nonsense",
        '{"bboxqa_baseline": 1}',
        '{"bboxqa_baseline": 1, "findings": [3]}',
        '{"bboxqa_baseline": 1, "findings": 3}',
        "\xff",
    ],
)
def test_what_is_no_baseline_is_said(tmp_path, text):
    path = tmp_path / "known.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError, match=r"known\.json: not a baseline"):
        read_baseline(path)


def test_a_baseline_of_another_version_or_none_is_said(tmp_path):
    path = tmp_path / "known.json"
    with pytest.raises(ConfigError, match="cannot be read"):
        read_baseline(path)
    path.write_text('{"bboxqa_baseline": 2, "findings": []}')
    with pytest.raises(ConfigError, match="version 2; expected 1"):
        read_baseline(path)
