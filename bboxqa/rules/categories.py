"""C: categories."""

from bboxqa.findings import Severity
from bboxqa.rules.base import Rule
from bboxqa.rules.category_maps import contradictions
from bboxqa.rules.category_names import empty_name, nearly_repeated_name, repeated_name
from bboxqa.rules.category_use import gaps, repeated_id, synthetic_root, unused

__all__ = ["RULES"]

RULES = (
    Rule(
        code="C001",
        title="category id used twice",
        severity=Severity.ERROR,
        scope="data set",
        breaks=(
            "pycocotools keeps the last of two categories with one id: the other class is gone, "
            "and its annotations count for the wrong one."
        ),
        explanation=(
            "Two categories have the same id, mostly because lists were joined by hand or by a "
            "script. Which of them an annotation means cannot be told from the file. Give the "
            "later category an id of its own, and its annotations too."
        ),
        bad={"categories": [{"id": 1}, {"id": 1}]},
        good={"categories": [{"id": 1}, {"id": 2}], "annotations": [{}, {"category_id": 2}]},
        check=repeated_id,
    ),
    Rule(
        code="C002",
        title="category name used twice",
        severity=Severity.WARNING,
        scope="data set",
        breaks=(
            "A model learns to tell apart two classes that are one, and both get a poor AP; tools "
            "that look classes up by name find one of them only."
        ),
        explanation=(
            "Two categories have the same name and different ids. They come from joined files, "
            "or from a class that was created again. Give their annotations one id, or the later "
            "category another name. The root that Roboflow adds can have the name of a class; "
            "this is told as info only."
        ),
        bad={"categories": [{"name": "cat"}, {"name": "cat"}]},
        good={
            "categories": [{"name": "cat"}, {"name": "cats"}],
            "annotations": [{}, {"category_id": 2, "bbox": [50, 10, 20, 30]}],
        },
        check=repeated_name,
    ),
    Rule(
        code="C003",
        title="category names that differ by case or blanks only",
        severity=Severity.WARNING,
        scope="data set",
        breaks=(
            "A model learns to tell apart two classes that are one, and both get a poor AP, each "
            "having a part of the samples."
        ),
        explanation=(
            "Two names are equal but for upper and lower case, blanks, or the Unicode form of "
            "their letters. Annotators who type names themselves make such pairs. The unsafe fix "
            "gives the annotations of the one category to the other and removes it; where two "
            "categories share an id, or ids are no whole numbers, it waits until that is mended."
        ),
        bad={"categories": [{"name": "cat"}, {"name": "Cat "}]},
        good={
            "categories": [{"name": "cat"}, {"name": "cart"}],
            "annotations": [{}, {"category_id": 2, "bbox": [50, 10, 20, 30]}],
        },
        check=nearly_repeated_name,
        fix="unsafe",
    ),
    Rule(
        code="C004",
        title="category without annotations",
        severity=Severity.INFO,
        scope="data set",
        breaks=(
            "Trainers that count categories give the model an output that it never learns; "
            "COCOeval has no AP for the class and leaves it out of the mean."
        ),
        explanation=(
            "A category is listed, but no annotation has it. In a part of a data set this can "
            "be right: then all parts list the same categories. More than ten of them are one "
            "finding. The unsafe fix removes the category; keep it where another file of the "
            "data set uses it."
        ),
        bad={"categories": [{}, {}]},
        good={
            "categories": [{}, {}],
            "annotations": [{}, {"category_id": 2, "bbox": [50, 10, 20, 30]}],
        },
        check=unused,
        fix="unsafe",
    ),
    Rule(
        code="C005",
        title="root category of a Roboflow export",
        severity=Severity.INFO,
        scope="data set",
        breaks=(
            "Tools that count categories give the model one class too many and shift the labels "
            "of all others by one (roboflow/rf-detr 1303)."
        ),
        explanation=(
            "The category with id 0 is the supercategory of all others, and no annotation has "
            "it: Roboflow adds it to its exports, under the name of the project. The safe fix "
            "removes it; the other categories keep their ids."
        ),
        bad={
            "categories": [
                {"id": 0, "name": "cells", "supercategory": "none"},
                {"id": 1, "name": "rbc", "supercategory": "cells"},
            ]
        },
        good={
            "categories": [
                {"id": 1, "name": "rbc", "supercategory": "cells"},
                {"id": 2, "name": "wbc", "supercategory": "cells"},
            ],
            "annotations": [{}, {"category_id": 2, "bbox": [50, 10, 20, 30]}],
        },
        check=synthetic_root,
        fix="safe",
    ),
    Rule(
        code="C006",
        title="category ids that do not count from 1",
        severity=Severity.INFO,
        scope="data set",
        breaks=(
            "CVAT rejects category id 0 and Datumaro takes it for no label (roboflow/supervision "
            "2276, open-edge-platform/datumaro 156); code that sizes a model by the number of "
            "categories breaks on higher ids."
        ),
        explanation=(
            "COCO does not forbid an id 0 or gaps, and its own ids have gaps, but many tools "
            "take ids for class numbers. Number the categories from 1, or check that your tools "
            "map ids to classes. An id 0 that is the root of a Roboflow export is C005."
        ),
        bad={
            "categories": [{"id": 0}, {"id": 1}],
            "annotations": [{"category_id": 0}, {"category_id": 1, "bbox": [50, 10, 20, 30]}],
        },
        good={
            "categories": [{"id": 2}, {"id": 1}],
            "annotations": [{"category_id": 2}, {"category_id": 1, "bbox": [50, 10, 20, 30]}],
        },
        check=gaps,
    ),
    Rule(
        code="C007",
        title="category maps of files that contradict each other",
        severity=Severity.ERROR,
        scope="files",
        breaks=(
            "A model that was trained on one file is judged on the other by the wrong classes, "
            "and AP falls without any message (HumanSignal/label-studio 9366)."
        ),
        explanation=(
            "In an earlier file the same id has another name, or the same name has another id. "
            "This comes about where each file was exported, or numbered, on its own. Give all "
            "files of a data set one list of categories. In the example, the earlier file has "
            "id 1 for cat. More than ten contradictions are one finding; files that have no name "
            "in common may be of different data sets, and are told of as info only."
        ),
        bad={"categories": [{"id": 1, "name": "dog"}, {"id": 2, "name": "cat"}]},
        good={
            "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
            "annotations": [{}, {"category_id": 2, "bbox": [50, 10, 20, 30]}],
        },
        check=contradictions,
    ),
    Rule(
        code="C008",
        title="category name that is empty or no text",
        severity=Severity.ERROR,
        scope="record",
        breaks=(
            "Classes without a name cannot be told apart in tables and plots, and code that "
            "sorts or joins names stops with a TypeError."
        ),
        explanation=(
            "The name of a category is empty, only blanks, null, a number or something else "
            "that is no text. Write the name that annotators know the class by."
        ),
        bad={"categories": [{"name": ""}]},
        good={"categories": [{"name": "0"}]},
        check=empty_name,
    ),
)
