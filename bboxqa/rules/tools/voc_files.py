"""Rules about XML of Pascal VOC."""

from bboxqa.model.findings import Severity
from bboxqa.rules.base.found_defects import found_defects
from bboxqa.rules.base.rule import Files, Rule


def _xml(name: str = "a.jpg", xmin: int = 10, xmax: int = 30) -> str:
    return (
        f"<annotation>\n  <filename>{name}</filename>\n"
        "  <size><width>100</width><height>80</height></size>\n"
        "  <object>\n    <name>cat</name>\n"
        f"    <bndbox><xmin>{xmin}</xmin><ymin>10</ymin>"
        f"<xmax>{xmax}</xmax><ymax>40</ymax></bndbox>\n"
        "  </object>\n</annotation>\n"
    )


_TWO = {"a.xml": _xml(), "b.xml": _xml("b.jpg")}

RULES = (
    Rule(
        code="T012",
        title="file of another format among those of a tool",
        severity=Severity.WARNING,
        breaks="The file is left out, and with it what was annotated in its image.",
        explanation="""A folder or archive has files of one format, and among them one that holds
            something else: an empty list that a script wrote, a web page that was saved in place of
            a download, or annotations of another format. Export the file again, or move it
            elsewhere. Nothing is lost if the other files have its annotations.""",
        bad=Files({**_TWO, "c.xml": "<html><body>Sign in</body></html>\n"}),
        good=Files({**_TWO, "c.xml": _xml("c.jpg")}),
        check=found_defects("T012"),
    ),
    Rule(
        code="T030",
        title="corners of a box are exchanged",
        severity=Severity.WARNING,
        breaks="Training stops at a box of negative width, or leaves it out.",
        explanation="""xmin is greater than xmax, or ymin than ymax, as written by converters for
            which the corner where drawing began is the first. Here they are put in order. Exchange
            them in the file.""",
        bad=Files({"a.xml": _xml(xmin=30, xmax=10)}),
        good=Files({"a.xml": _xml()}),
        check=found_defects("T030"),
    ),
    Rule(
        code="T031",
        title="several files name one image",
        severity=Severity.WARNING,
        breaks="Annotations of different images would become those of one.",
        explanation="""The files were copied or renamed, and what they say of their image was not
            changed. Each but the first is read as of an image that is named as the file itself.
            Correct the name in the file.""",
        bad=Files({"a.xml": _xml(), "b.xml": _xml()}),
        good=Files(_TWO),
        check=found_defects("T031"),
    ),
)
