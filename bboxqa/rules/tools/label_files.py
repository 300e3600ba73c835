"""Rules about label files of YOLO."""

from bboxqa.model.findings import Severity
from bboxqa.rules.base.found_defects import found_defects
from bboxqa.rules.base.rule import Files, Rule

# The beginning of a picture as text; its size is all that is read of it.
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
        breaks='Training stops at such a label; here its category is named "class 7".',
        explanation="""A label has a class that data.yaml or classes.txt does not name. Classes
            begin with 0, so the last of 3 names is that of class 2. Most often the names are those
            of an earlier version of the data set, or the file of names was replaced by that of
            another. Add the names, or correct the number.""",
        bad=_files("3 0.5 0.5 0.25 0.25\n"),
        good=_files(),
        check=found_defects("T020"),
    ),
    Rule(
        code="T021",
        title="number of classes is not that of the names",
        severity=Severity.WARNING,
        breaks="Training stops, or learns classes that do not exist.",
        explanation="""nc in data.yaml says how many classes there are, and names has more or fewer
            of them. Correct nc, or leave it out: it follows from the names.""",
        bad=_files(names="[cat]\nnc: 2"),
        good=_files(names="[cat]\nnc: 1"),
        check=found_defects("T021"),
    ),
    Rule(
        code="T022",
        title="label file without a picture",
        severity=Severity.WARNING,
        breaks="Training leaves the labels out.",
        explanation="""There are pictures, and none has the name of this label file. It was renamed
            or removed, or it is in another folder than those of the others. Where the size of the
            image is not known the labels cannot be read, either.""",
        bad=_files(labels__b_txt=""),
        good=_files(labels__b_txt="", images__b_ppm=_PICTURE),
        check=found_defects("T022"),
    ),
    Rule(
        code="T023",
        title="picture without a label file",
        severity=Severity.INFO,
        breaks="Whether nobody looked at it, or nothing was found in it, cannot be known.",
        explanation="""Some tools write no file for an image without objects, others write an empty
            one. By default the annotator counts as not asked about such an image; with
            `--missing-txt asked` as having found nothing there. Write an empty label file for each
            image that was looked at to say it in the data.""",
        bad=_files(images__b_ppm=_PICTURE),
        good=_files(images__b_ppm=_PICTURE, labels__b_txt=""),
        check=found_defects("T023"),
    ),
    Rule(
        code="T024",
        title="two classes with one name",
        severity=Severity.WARNING,
        breaks="A model learns them as two; here they are one category.",
        explanation="""The file of names gives several classes the same name. Rename one of them, or
            give all labels the same class.""",
        bad=_files(names="[cat, cat]"),
        good=_files(names="[cat, dog]"),
        check=found_defects("T024"),
    ),
)
