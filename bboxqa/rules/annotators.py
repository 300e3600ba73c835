"""A: annotators."""

from bboxqa.findings import Severity
from bboxqa.rules.attendance import incomplete, uninvited
from bboxqa.rules.base import Rule
from bboxqa.rules.habits import copies, outliers
from bboxqa.rules.naming import inconsistent

__all__ = ["RULES"]

_TWO = {"rater_list": ["ann", "bob"]}


def _boxes(rater: str, shift: float, width: float = 20) -> list[dict[str, object]]:
    return [{"bbox": [5 + 30 * place, 10 + shift, width, 30], "rater": rater} for place in range(3)]


def _many(rater: str, width: float) -> list[dict[str, object]]:
    return [
        {"bbox": [5 + 4 * place, 5 + place, width + place / 9, 9], "rater": rater}
        for place in range(20)
    ]


RULES = (
    Rule(
        code="A001",
        title="annotators are named inconsistently",
        severity=Severity.ERROR,
        scope="data set",
        breaks=(
            "Annotations are counted for the wrong annotator or for none, so agreement and the "
            'search for duplicates are wrong; pandas and dict look-ups take 1 and "1" for two '
            "people."
        ),
        explanation=(
            "Annotators are looked for under annotator, annotator_id, rater, rater_id, created_by "
            "and attributes.annotator of an annotation, under annotator of an image, and in the "
            "rater_list or annotators of an image. It is an error if two keys of one annotation "
            "name different people, some records name nobody while others do, a list is neither a "
            "list of names nor an object with names as keys, or a name is a number in one place "
            "and text in another. It is a warning if names differ only in case or blanks, or if "
            "images list several annotators while no annotation names one. Such files come from "
            "merging exports. Write every name in one way, under one key, on every annotation."
        ),
        bad={"annotations": [{"rater": "ann"}, {"bbox": [50, 10, 20, 30]}]},
        good={"annotations": [{"rater": "ann"}, {"rater": "bob", "bbox": [50, 10, 20, 30]}]},
        check=inconsistent,
    ),
    Rule(
        code="A002",
        title="annotation by somebody who is not in the list of its image",
        severity=Severity.ERROR,
        scope="data set",
        breaks=(
            "Tools that go by the list drop the annotation; others count an annotator too many, "
            "so that agreement on the image is wrong."
        ),
        explanation=(
            "The rater_list or annotators of an image says who was asked about it, but an "
            "annotation on it names somebody else. Either the list was not brought up to date, or "
            "the annotation stands on the wrong image or under the wrong name. Complete the list, "
            "or correct the annotation."
        ),
        bad={
            "images": [_TWO],
            "annotations": [
                {"rater": "ann"},
                {"rater": "eve", "bbox": [50, 10, 20, 30]},
                {"rater": "bob"},
            ],
        },
        good={
            "images": [_TWO],
            "annotations": [{"rater": "ann"}, {"rater": "bob", "bbox": [50, 10, 20, 30]}],
        },
        check=uninvited,
    ),
    Rule(
        code="A003",
        title="image or annotator without annotations that were to be expected",
        severity=Severity.WARNING,
        scope="data set",
        breaks=(
            "Work that is missing looks like an annotator who saw nothing: every object of the "
            "others becomes a disagreement."
        ),
        explanation=(
            "In a file where most images have two annotators or more, it is a warning if some "
            "have one only, and if somebody in the lists of annotators has no annotation in the "
            "whole file: was the export complete? It is an info if an annotator drew nothing on "
            "an image where another one did, since this is what happens if nothing was seen. Each "
            "is reported once, with the number of cases. Name on each image those who have "
            "looked at it, in rater_list, to tell the two apart."
        ),
        bad={
            "images": [_TWO, _TWO, {"rater_list": ["ann"]}],
            "annotations": [
                {"image_id": 1, "rater": "ann"},
                {"image_id": 1, "rater": "bob"},
                {"image_id": 2, "rater": "ann"},
                {"image_id": 2, "rater": "bob"},
                {"image_id": 3, "rater": "ann"},
            ],
        },
        good={
            "images": [_TWO, _TWO],
            "annotations": [
                {"image_id": 1, "rater": "ann"},
                {"image_id": 1, "rater": "bob"},
                {"image_id": 2, "rater": "ann"},
                {"image_id": 2, "rater": "bob"},
            ],
        },
        check=incomplete,
    ),
    Rule(
        code="A004",
        title="two annotators with identical boxes",
        severity=Severity.WARNING,
        scope="data set",
        breaks="Agreement is measured on copies: it is 1 there, whatever people would have drawn.",
        explanation=(
            "Two annotators have the same boxes with the same categories on an image, equal to "
            "the last digit, though people who draw by themselves differ by some pixels. Counted "
            "are images with at least 3 annotations of each of the two; it is reported if there "
            "are 3 such images, or if they are more than half of those that both annotated. "
            "Annotations were copied, imported for both, or proposed by a model and left as they "
            "were. Leave such images out of the measurement of agreement, or annotate them anew."
        ),
        bad={"annotations": _boxes("ann", 0) + _boxes("bob", 0)},
        good={"annotations": _boxes("ann", 0) + _boxes("bob", 0.5)},
        check=copies,
    ),
    Rule(
        code="A005",
        title="annotator who annotates unlike all others",
        severity=Severity.INFO,
        scope="data set",
        breaks=(
            "One person's habit lowers agreement everywhere, and a model that is trained on it "
            "learns two ways of annotating."
        ),
        explanation=(
            "Annotators with at least 20 annotations are compared where there are at least 4 of "
            "them, by three numbers: annotations per image, the median of the box size √(w·h), "
            "and how far the shares of their categories are from those of all others (total "
            "variation distance, 0 to 1). Reported is who is more than 5 robust standard "
            "deviations (1.4826 times the median absolute deviation) from the median annotator "
            "and, for the first two, by a factor of more than 2; for the third, by more than "
            "0.25. It can come from the images that somebody was given; if not, look at the "
            "guidelines together."
        ),
        bad={
            "annotations": _many("ann", 4)
            + _many("bob", 4.2)
            + _many("cat", 4.1)
            + _many("eve", 20)
        },
        good={
            "annotations": _many("ann", 4) + _many("bob", 4.2) + _many("cat", 4.1) + _many("eve", 5)
        },
        check=outliers,
    ),
)
