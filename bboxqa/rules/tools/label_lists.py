"""Rules about the lists of labels in projects of annotation tools."""

from bboxqa.model.findings import Severity
from bboxqa.rules.base.found_defects import found_defects
from bboxqa.rules.base.rule import Rule


def _item(label: str) -> str:
    """Return a Datumaro file with two labels."""
    return (
        '{"categories": {"label": {"labels": [{"name": "cat"}, {"name": "dog"}]}},\n'
        ' "items": [{"id": "a", "image": {"path": "a.jpg", "size": [80, 100]},\n'
        '   "annotations": [{"type": "bbox", "label_id": '
        f'{label}, "bbox": [10, 10, 20, 30]}}]}}]}}'
    )


RULES = (
    Rule(
        code="T050",
        title="label is not in the list of the project",
        severity=Severity.ERROR,
        breaks="Tools refuse to import the file, or drop the shape.",
        explanation="""The project lists its labels, in Supervisely as classes of meta.json and in
            Datumaro under categories, but a shape has a label that is not listed. Most often a
            label was renamed or deleted after shapes had it, or the list belongs to another export.
            Correct the list, or export the project again.""",
        bad=_item("2"),
        good=_item("1"),
        check=found_defects("T050"),
    ),
)
