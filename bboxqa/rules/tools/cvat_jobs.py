"""Rules about CVAT tasks and jobs."""

from bboxqa.model.findings import Severity
from bboxqa.rules.base.found_defects import found_defects
from bboxqa.rules.base.rule import Rule


def _task(assignee: str = "<username>ann</username>", label: str = "cat") -> str:
    """Return a CVAT task with one box."""
    return (
        "<annotations>\n<version>1.1</version>\n<meta><task><id>7</id>\n"
        "  <owner><username>admin</username></owner>\n"
        f"  <assignee>{assignee}</assignee>\n"
        "  <labels><label><name>cat</name></label></labels>\n"
        "</task></meta>\n"
        '<image id="0" name="a.jpg" width="100" height="80">\n'
        f'  <box label="{label}" xtl="10.00" ytl="10.00" xbr="30.00" ybr="40.00"></box>\n'
        "</image>\n</annotations>"
    )


RULES = (
    Rule(
        code="T040",
        title="task or job without assignee",
        severity=Severity.WARNING,
        breaks="Results per annotator may be attributed to somebody who annotated nothing.",
        explanation="""CVAT writes the assignee of a task or job, and its owner, who created it
            and need not have drawn anything. Without an assignee, the file names nobody. Assign the
            job in CVAT and export it again, or give one file per annotator, with `bboxqa agree
            --annotator ann=1.xml --annotator bob=2.xml`.""",
        bad=_task(assignee=""),
        good=_task(),
        check=found_defects("T040"),
    ),
    Rule(
        code="T041",
        title="label is not one of the task",
        severity=Severity.WARNING,
        breaks="The shape gets a category of its own, and so agrees with no other shape.",
        explanation="""Shapes have a label that is not listed at the beginning of the file, for
            example because a script wrote it differently. CVAT refuses to import such a file.
            Correct the label, or add it to the task.""",
        bad=_task(label="Cat"),
        good=_task(),
        check=found_defects("T041"),
    ),
)
