"""Rules about Pascal VOC XML."""

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
        title="file of another format among the files of a tool",
        severity=Severity.WARNING,
        breaks="The file is left out, and so are the annotations of its image.",
        explanation="""Among the files of one format in a folder or archive is a file with other
            content: an empty list that a script wrote, a web page that was saved instead of a
            download, or annotations in another format. Export the file again, or move it elsewhere.
            Nothing is lost if the other files have its annotations.""",
        bad=Files({**_TWO, "c.xml": "<html><body>Sign in</body></html>\n"}),
        good=Files({**_TWO, "c.xml": _xml("c.jpg")}),
        check=found_defects("T012"),
    ),
    Rule(
        code="T030",
        title="corners of a box are swapped",
        severity=Severity.WARNING,
        breaks="Training stops at a box of negative width, or leaves it out.",
        explanation="""xmin is greater than xmax, or ymin than ymax, as written by converters that
            take the corner where drawing began as the first. They are read in the right order. Swap
            them in the file.""",
        bad=Files({"a.xml": _xml(xmin=30, xmax=10)}),
        good=Files({"a.xml": _xml()}),
        check=found_defects("T030"),
    ),
    Rule(
        code="T031",
        title="several files name the same image",
        severity=Severity.WARNING,
        breaks="Annotations of different images would be merged into one image.",
        explanation="""The files were copied or renamed without changing the image name inside. All
            but the first are read as an image named after the file itself. Correct the name in the
            file.""",
        bad=Files({"a.xml": _xml(), "b.xml": _xml()}),
        good=Files(_TWO),
        check=found_defects("T031"),
    ),
)
