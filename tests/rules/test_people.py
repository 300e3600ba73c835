"""Pseudonyms in all texts of a finding."""

from msgspec.structs import fields

from bboxqa.model.findings import Edit, Finding, FoundReport, Severity
from bboxqa.rules.people import People

NAME = "ann@example.org"
TEXTS = {
    "message": f"by {NAME}",
    "file": f"in/{NAME}.json",
    "pointer": f"/by/{NAME}/0",
    "ids": {"annotator": NAME},
    "found": [{"by": NAME}],
    "expected": f"not {NAME}",
    "examples": (f"/by/{NAME}/1",),
    "key": f"box of {NAME}",
    "excerpt": f'{{"by": "{NAME}"}}',
    "edits": (Edit("/by", "replace", NAME),),
}
# Names of images, in `boxes`, are not changed.
NO_TEXTS = {"code", "severity", "fix", "count", "spot", "boxes"}


def test_no_field_of_a_finding_has_a_name(tmp_path):
    assert {each.name for each in fields(Finding)} == TEXTS.keys() | NO_TEXTS
    finding = Finding("B001", Severity.ERROR, fix="safe", **TEXTS)
    report = FoundReport((), (finding,), {}, {}, {}, "")
    (hidden,) = People(tmp_path / "key.json", {NAME: "a.json"}).hidden(report).findings
    assert NAME not in repr(hidden)
    assert hidden.ids == {"annotator": "person-01"}
    # Nothing proposes a fix whose changes are not known.
    assert (hidden.fix, hidden.edits) == (None, ())
