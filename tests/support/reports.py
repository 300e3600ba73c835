"""Reports made by hand, with all that is hard to write down."""

from bboxqa.model.findings import FileReport, Finding, FoundReport, RuleText, Severity, Spot

__all__ = ["HOSTILE", "RULES", "finding", "report"]

HOSTILE = 'evil\x1b[31m\n<b>"&\u2028\ud800,:%name\x00.json'

RULES = {
    "B001": RuleText(
        "B001", "box without area", Severity.ERROR, "Losses become NaN.", "unsafe", "Sides are 0."
    ),
    "B004": RuleText("B004", "box over the edge", Severity.INFO, "Crops shrink.", "safe"),
    "C002": RuleText("C002", "equal names", Severity.WARNING, "Classes are mixed up.", None),
    "D001": RuleText("D001", "same twice", Severity.WARNING, "Objects count twice.", "safe"),
}


def finding(code="B001", row=0, **more):
    """Return a finding on an annotation of a small file."""
    values = {
        "severity": RULES[code].severity,
        "message": "bbox width is 0; expected more than 0",
        "file": "export.json",
        "pointer": f"/annotations/{row}/bbox",
        "ids": {"annotation": row + 1, "image": 5, "category": 1},
        "found": [10.0, 10.0, 0.0, 20.0],
        "expected": "a width and a height above 0 px",
        "spot": Spot(row + 1, 7, 100 * row),
        "excerpt": '{"id": 1, "bbox": [10, 10, 0, 20]}',
    }
    return Finding(code, **{**values, **more})


def report(*findings, files=("export.json",), unlisted=None, exporter="CVAT"):
    """Return a report of findings, and of more that are not listed."""
    counts = dict(unlisted or {})
    severities = dict.fromkeys(Severity, 0)
    for code, number in counts.items():
        severities[RULES[code].severity] += number
    for each in findings:
        counts[each.code] = counts.get(each.code, 0) + 1
        severities[each.severity] += 1
    return FoundReport(
        files=tuple(FileReport(name, exporter, 1500, 4784, 60) for name in files),
        findings=findings,
        counts=counts,
        severities=severities,
        rules=RULES,
        version="1.2.3",
    )
