"""Rules about records of annotation tools."""

from bboxqa.model.findings import Severity
from bboxqa.rules.base.found_defects import found_defects
from bboxqa.rules.base.rule import Rule


def _task(regions: str, *, more: str = "") -> str:
    """Return a Label Studio task with one annotation."""
    return (
        '[{"id": 7, "data": {"image": "a.jpg"},\n'
        f'  "annotations": [{{"completed_by": 1{more}, "result": [{regions}]}}]}}]'
    )


_SIZE = '"original_width": 100, "original_height": 80,'
_OTHER_SIZE = '"original_width": 200, "original_height": 160,'


def _region(
    value: str = '"x": 10, "y": 10, "width": 20, "height": 30',
    size: str = _SIZE,
    label: str = '"cat"',
) -> str:
    return (
        f'{{"id": "r1", "type": "rectanglelabels", {size}\n'
        f'    "value": {{{value}, "rectanglelabels": [{label}]}}}}'
    )


_MASK = (
    '{"id": "r1", "type": "brushlabels", "original_width": 2, "original_height": 1,\n'
    '    "value": {"format": "rle", "rle": [RLE], "brushlabels": ["cat"]}}'
)
_GOOD_MASK = _MASK.replace("RLE", "0, 0, 0, 8, 57, 17, 20, 255, 224")

RULES = (
    Rule(
        code="T001",
        title="record is not as its tool writes it",
        severity=Severity.ERROR,
        breaks="The record cannot be read, and without it agreement would differ.",
        explanation="""A record, a label or a whole file of an annotation tool cannot be read: a
            value is missing or has a wrong type, coordinates are pixels instead of relative to the
            image or percentages, or the file is cut off or not in the encoding that it declares.
            Correct the script that wrote it, or export the file again from the tool.""",
        bad=_task(_region('"x": "left", "y": 10, "width": 20, "height": 30')),
        good=_task(_region()),
        check=found_defects("T001"),
    ),
    Rule(
        code="T002",
        title="size of the image is unknown",
        severity=Severity.ERROR,
        breaks="Coordinates relative to the image cannot be converted to pixels.",
        explanation="""Coordinates are relative to the image, and its size is missing. Label Studio
            adds it (original_width and original_height) when the task is opened and submitted; for
            YOLO, put the folder of images next to the labels; a table may have the columns
            image_width and image_height. Or give one size for all images, `--image-size 1920x1080`,
            or the size of each, `--image-size FILE`: a table with the columns image, width and
            height, or annotations that have sizes.""",
        bad=_task(_region(size="")),
        good=_task(_region()),
        check=found_defects("T002"),
    ),
    Rule(
        code="T003",
        title="coordinate beyond the image",
        severity=Severity.ERROR,
        breaks="The shape lies outside its image, or is not as large as it was drawn.",
        explanation="""A relative coordinate in YOLO or a table is not between 0 and 100 % of the
            image, or a shape in Label Studio lies outside its image: an object was drawn beyond the
            edge, or the image was cropped later. Shapes in Label Studio that reach over an edge
            have B003 or P006. T001 reports pixels in place of relative coordinates. Correct it in
            the tool.""",
        bad=_task(_region('"x": 104, "y": 10, "width": 20, "height": 30')),
        good=_task(_region()),
        check=found_defects("T003"),
        consequences=("B002", "B003", "B004", "P006", "O006", "Q002"),
    ),
    Rule(
        code="T004",
        title="shape without a label",
        severity=Severity.WARNING,
        breaks='Its category is unknown; it counts as category "(no label)".',
        explanation="""An annotator drew a shape and chose no label for it. Choose one in the tool,
            which can require it: in Label Studio with required="true" of the tag.""",
        bad=_task(_region(label="")),
        good=_task(_region()),
        check=found_defects("T004"),
    ),
    Rule(
        code="T005",
        title="annotation does not name its annotator",
        severity=Severity.WARNING,
        breaks="Results per annotator mix people.",
        explanation="""An annotation has no completed_by (Label Studio), labelerLogin (Supervisely),
            annotators (Darwin) or <annotator> (Pascal VOC), like most annotations that were
            imported into the tool. Where others name their annotator, such annotations count as
            those of one annotator, "(not named)"; in Label Studio, several of one task are
            numbered. Add the name to the import. A file of Label Studio in which no annotation
            names anybody is one finding: if it is by one annotator, `bboxqa agree` takes a file of
            each.""",
        bad=_task(_region()).replace('"completed_by": 1, ', ""),
        good=_task(_region()),
        check=found_defects("T005"),
    ),
    Rule(
        code="T006",
        title="cancelled annotation has shapes",
        severity=Severity.INFO,
        breaks="Its shapes are left out although the annotator may have meant them.",
        explanation="""The annotator drew something and then skipped the task: was_cancelled is
            true. The annotation is ignored, and the annotator counts as not asked. If it should
            count, submit it in the tool.""",
        bad=_task(_region(), more=', "was_cancelled": true'),
        good=_task(_region(), more=', "was_cancelled": false'),
        check=found_defects("T006"),
    ),
    Rule(
        code="T007",
        title="annotator annotated an image twice",
        severity=Severity.WARNING,
        breaks="Together they would be duplicates of each other, so only the first counts.",
        explanation="""The same person has two annotations of one image. If they are sessions,
            `bboxqa agree --session-key session` measures how far they agree. Otherwise, delete one
            of them in the tool.""",
        bad=_task(_region()).replace(
            '[{"completed_by"', '[{"completed_by": 1, "result": []},\n    {"completed_by"'
        ),
        good=_task(_region()),
        check=found_defects("T007"),
    ),
    Rule(
        code="T008",
        title="mask cannot be decoded",
        severity=Severity.ERROR,
        breaks="The shape is lost.",
        explanation="""The run lengths of a mask are cut off, or do not have the size of the image.
            Draw the mask again in the tool, or correct the script that wrote it.""",
        bad=_task(_MASK.replace("RLE", "0, 0, 0, 8")),
        good=_task(_GOOD_MASK),
        check=found_defects("T008"),
    ),
    Rule(
        code="T009",
        title="prediction without regions",
        severity=Severity.INFO,
        breaks="The predictions of the model cannot be compared with the annotators.",
        explanation="""The export has numbers in place of predictions. To measure the model as well,
            export full predictions.""",
        bad=_task(_region()).replace('"annotations"', '"predictions": [31],\n  "annotations"'),
        good=_task(_region()),
        check=found_defects("T009"),
    ),
    Rule(
        code="T010",
        title="sizes of one image differ",
        severity=Severity.ERROR,
        breaks="Equal shapes differ after conversion to pixels, so agreement is measured too low.",
        explanation="""Records of one image, such as regions in Label Studio, give it different
            sizes, for example because the image was replaced by a smaller copy after the first
            regions were drawn. Correct the sizes, or annotate the image again.""",
        bad=_task(f"{_region()}, {_region(size=_OTHER_SIZE).replace('r1', 'r2')}"),
        good=_task(f"{_region()}, {_region()}"),
        check=found_defects("T010"),
    ),
    Rule(
        code="T011",
        title="mask without pixels",
        severity=Severity.WARNING,
        breaks="There is nothing to compare; the mask is left out.",
        explanation="""A mask was erased but its region was not deleted. Delete the region in the
            tool if there is no object.""",
        bad=_task(_MASK.replace("RLE", "0, 0, 0, 8, 57, 17, 20, 224, 0")),
        good=_task(_GOOD_MASK),
        check=found_defects("T011"),
    ),
)
