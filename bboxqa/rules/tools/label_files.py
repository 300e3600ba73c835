"""Rules about YOLO label files."""

from bboxqa.model.findings import Severity
from bboxqa.rules.base.found_defects import found_defects
from bboxqa.rules.base.rule import Files, Rule

# The beginning of an image file in text form, of which only the size is read.
_PICTURE = "P3 100 80 255"
_LABEL = "0 0.5 0.5 0.25 0.25\n"


def _files(label: str = _LABEL, names: str = "[cat]", **more: str) -> Files:
    """Return a small data set; further files are named with __ for / and _ for a dot."""
    files = {"data.yaml": f"names: {names}\n", "labels/a.txt": label, "images/a.ppm": _PICTURE}
    return Files(files | {k.replace("__", "/").replace("_", "."): v for k, v in more.items()})


RULES = (
    Rule(
        code="T020",
        title="class number without a name",
        severity=Severity.ERROR,
        breaks='Training stops at such a label; here its category has its number: "class 7".',
        explanation="""A label has a class that data.yaml or classes.txt does not name. Classes
            begin with 0, so the last of 3 names belongs to class 2. Most often the names belong to
            an earlier version of the data set, or to another data set. Add the names, or correct
            the number.""",
        bad=_files("3 0.5 0.5 0.25 0.25\n"),
        good=_files(),
        check=found_defects("T020"),
    ),
    Rule(
        code="T021",
        title="number of classes differs from the names",
        severity=Severity.WARNING,
        breaks="Training stops, or learns classes that do not exist.",
        explanation="""nc in data.yaml is the number of classes, but there are more or fewer names.
            Correct nc, or omit it, as it follows from the names.""",
        bad=_files(names="[cat]\nnc: 2"),
        good=_files(names="[cat]\nnc: 1"),
        check=found_defects("T021"),
    ),
    Rule(
        code="T022",
        title="label file without an image file",
        severity=Severity.WARNING,
        breaks="Training ignores the labels.",
        explanation="""There are image files, but none has the name of this label file. It was
            renamed or removed, or it is in an unexpected folder. If the size of the image is
            unknown, the labels cannot be read either.""",
        bad=_files(labels__b_txt=""),
        good=_files(labels__b_txt="", images__b_ppm=_PICTURE),
        check=found_defects("T022"),
    ),
    Rule(
        code="T023",
        title="image file without a label file",
        severity=Severity.INFO,
        breaks="It is unknown whether nobody annotated the image, or nothing was found in it.",
        explanation="""Some tools write no file for an image without objects, others write an empty
            one. By default, the annotator counts as not asked about such an image; with
            `--missing-txt asked`, as having found nothing there. To record it in the data, write an
            empty label file for each image in which nothing was found.""",
        bad=_files(images__b_ppm=_PICTURE),
        good=_files(images__b_ppm=_PICTURE, labels__b_txt=""),
        check=found_defects("T023"),
    ),
    Rule(
        code="T024",
        title="two classes with the same name",
        severity=Severity.WARNING,
        breaks="A model learns them as two classes; bboxqa treats them as one category.",
        explanation="""The file of names gives several classes the same name. Rename one of them, or
            give all labels the same class.""",
        bad=_files(names="[cat, cat]"),
        good=_files(names="[cat, dog]"),
        check=found_defects("T024"),
    ),
)
