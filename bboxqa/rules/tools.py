"""T: defects of files of annotation tools, which the formats find while they read."""

from collections.abc import Mapping
from typing import Any

from bboxqa.rules.base import Example, Files, Rule, found_defects, rule


def _rule(head: str, breaks: str, explanation: str, example: tuple[Example, Example]) -> Rule:
    """Return a rule about the defects that a format finds; the bad example comes first."""
    texts = {"breaks": breaks, "explanation": explanation}
    return rule(head, **texts, bad=example[0], good=example[1])(found_defects)


def _changed(good: Any, *changes: tuple[str, str]) -> tuple[Example, Example]:
    """Return an example with texts replaced, in all files, and as it is."""

    def bad(text: str) -> str:
        for old, new in changes:
            text = text.replace(old, new)
        return text

    if isinstance(good, str):
        return bad(good), good
    return type(good)({name: bad(good[name]) for name in good}), good


_SIZE = '"original_width": 100, "original_height": 80,'
_REGION = (
    f'{{"id": "r1", "type": "rectanglelabels", {_SIZE}\n'
    '    "value": {"x": 10, "y": 10, "width": 20, "height": 30, "rectanglelabels": ["cat"]}}'
)
_LARGER = _REGION.replace("100", "200").replace("80", "160").replace("r1", "r2")
_RLE = "0, 0, 0, 8, 57, 17, 20, 255, 224"
_MASK = (
    '{"id": "r1", "type": "brushlabels", "original_width": 2, "original_height": 1,\n'
    f'    "value": {{"format": "rle", "rle": [{_RLE}], "brushlabels": ["cat"]}}}}'
)


def _task(regions: str) -> str:
    """Return a Label Studio task with one annotation."""
    return (
        '[{"id": 7, "data": {"image": "a.jpg"},\n'
        f'  "annotations": [{{"completed_by": 1, "result": [{regions}]}}]}}]'
    )


# The beginning of an image file in text form, of which only the size is read.
_PICTURE = "P3 100 80 255"
_LABEL = "0 0.5 0.5 0.25 0.25\n"


def _files(more: Mapping[str, str], names: str = "[cat]") -> Files:
    """Return a small data set with further files."""
    files = {"data.yaml": f"names: {names}\n", "labels/a.txt": _LABEL, "images/a.ppm": _PICTURE}
    return Files({**files, **more})


def _xml(name: str) -> str:
    return (
        f"<annotation>\n  <filename>{name}</filename>\n"
        "  <size><width>100</width><height>80</height></size>\n"
        "  <object>\n    <name>cat</name>\n"
        "    <bndbox><xmin>10</xmin><ymin>10</ymin><xmax>30</xmax><ymax>40</ymax></bndbox>\n"
        "  </object>\n</annotation>\n"
    )


_TWO = Files({"a.xml": _xml("a.jpg"), "b.xml": _xml("b.jpg")})
_CVAT = (
    "<annotations>\n<version>1.1</version>\n<meta><task><id>7</id>\n"
    "  <owner><username>admin</username></owner>\n"
    "  <assignee><username>ann</username></assignee>\n"
    "  <labels><label><name>cat</name></label></labels>\n"
    "</task></meta>\n"
    '<image id="0" name="a.jpg" width="100" height="80">\n'
    '  <box label="cat" xtl="10.00" ytl="10.00" xbr="30.00" ybr="40.00"></box>\n'
    "</image>\n</annotations>"
)
_DATUMARO = (
    '{"categories": {"label": {"labels": [{"name": "cat"}, {"name": "dog"}]}},\n'
    ' "items": [{"id": "a", "image": {"path": "a.jpg", "size": [80, 100]},\n'
    '   "annotations": [{"type": "bbox", "label_id": 1, "bbox": [10, 10, 20, 30]}]}]}'
)


class _Masks(Files):
    """A folder of masks."""

    mask = "instances"


def _mask(*rows: str) -> Files:
    """Return a mask of 12 columns as text: a digit a pixel, and rows of the background below."""
    pixels = " ".join("".join(row.ljust(12, "0") for row in rows).ljust(144, "0"))
    return _Masks({"a.pgm": f"P2 12 12 9 {pixels}"})


_SQUARE = ("1111",) * 4
_BOX = _task(_REGION)

RULES = (
    _rule(
        "T001 error: record is not as its tool writes it",
        breaks="""Figures without the record would be wrong. In labels of YOLO, Ultralytics ignores
            the whole image and its other labels.""",
        explanation="""A value is missing or has a wrong type, coordinates are pixels instead of
            relative ones, numbers have decimal commas, or the file is cut off or in another
            encoding than it declares. Correct the script, or export the file again. A file beside
            labels that holds none, such as notes, has to be moved elsewhere.""",
        example=_changed(_BOX, ('"x": 10', '"x": "left"')),
    ),
    _rule(
        "T002 error: size of the image is unknown",
        breaks="Coordinates relative to the image cannot be converted to pixels.",
        explanation="""Coordinates are relative to the image, and its size is missing: submit the
            task again in Label Studio, put the folder of images next to labels of YOLO, or add the
            columns image_width and image_height. Or give the sizes: `--image-size 1920x1080`, or
            `--image-size PATH`, a folder of images, a table with the columns image, width and
            height, or annotations that have sizes.""",
        example=_changed(_BOX, (_SIZE, "")),
    ),
    _rule(
        "T003 error: coordinate beyond the image",
        breaks="""The shape lies outside its image, or is not as large as it was drawn. In labels of
            YOLO, Ultralytics ignores the whole image and its other labels.""",
        explanation="""A relative coordinate is not between 0 and 100 % of the image, or a shape in
            Label Studio lies outside: it was drawn beyond the edge, or the image was cropped later.
            Correct it in the tool.""",
        example=_changed(_BOX, ('"x": 10', '"x": 104')),
    ),
    _rule(
        "T004 warning: shape without a label",
        breaks='Its category is unknown; it counts as category "(no label)".',
        explanation="""An annotator drew a shape and chose no label for it. Choose one in the tool,
            which can require it: in Label Studio with required="true" of the tag.""",
        example=_changed(_BOX, ('"cat"', "")),
    ),
    _rule(
        "T005 warning: annotation does not name its annotator",
        breaks="Results per annotator mix people.",
        explanation="""An annotation of Label Studio has no completed_by. Where others name theirs,
            it counts as by the annotator "(not named)". Add the name to the import; if nobody is
            named, `bboxqa agree` takes a file of each annotator.""",
        example=_changed(_BOX, ('"completed_by": 1, ', "")),
    ),
    _rule(
        "T007 warning: annotator annotated an image twice",
        breaks="Together they would be duplicates of each other, so only the first counts.",
        explanation="""The same person has two annotations of one image. If they are sessions,
            `bboxqa agree --session-key session` measures how far they agree. Otherwise, delete one
            in the tool. Annotations of a task with the same ids are copies from joined exports.""",
        example=_changed(
            _BOX, ('[{"completed_by"', '[{"completed_by": 1, "result": []},\n    {"completed_by"')
        ),
    ),
    _rule(
        "T008 error: mask cannot be decoded",
        breaks="The shape is lost.",
        explanation="""The run lengths of a mask are cut off, or do not have the size of the image;
            or the image file of a mask has colours, opacity or several bands. Draw the mask again
            in the tool, or correct the script that wrote it.""",
        example=_changed(_task(_MASK), (_RLE, "0, 0, 0, 8")),
    ),
    _rule(
        "T010 error: sizes of one image differ",
        breaks="Equal shapes differ after conversion to pixels, so agreement is measured too low.",
        explanation="""Records of one image give it different sizes, for example because the image
            was replaced by a smaller copy. Correct the sizes, or annotate the image again.""",
        example=(_task(f"{_REGION}, {_LARGER}"), _task(f"{_REGION}, {_REGION}")),
    ),
    _rule(
        "T011 warning: mask without pixels",
        breaks="There is nothing to compare; the mask is left out.",
        explanation="""A mask was erased but its region was not deleted. Delete the region in the
            tool if there is no object.""",
        example=_changed(_task(_MASK), ("20, 255, 224", "20, 224, 0")),
    ),
    _rule(
        "T012 warning: file of another format among the files of a tool",
        breaks="The file is left out, and so are the annotations of its image.",
        explanation="""Among the files of one format is a file with other content, such as an empty
            list, a web page, or another format. Export the file again, or move it.""",
        example=(
            Files({**_TWO, "c.xml": "<html><body>Sign in</body></html>\n"}),
            Files({**_TWO, "c.xml": _xml("c.jpg")}),
        ),
    ),
    _rule(
        "T020 error: class number without a name",
        breaks="""Training stops, or ignores the whole image with its other labels (Ultralytics);
            here its category has its number: "class 7".""",
        explanation="""A label has a class that data.yaml or classes.txt does not name. Classes
            begin with 0: the last of 3 names is class 2. Add the names, or correct the number.""",
        example=_changed(_files({}), ("0 0.5", "3 0.5")),
    ),
    _rule(
        "T021 warning: number of classes differs from the names",
        breaks="Training stops, or learns classes that do not exist.",
        explanation="""nc in data.yaml is the number of classes, but there are more or fewer names.
            Correct nc, or omit it, as it follows from the names.""",
        example=_changed(_files({}, "[cat]\nnc: 1"), ("nc: 1", "nc: 2")),
    ),
    _rule(
        "T022 warning: label file without an image file",
        breaks="Training ignores the labels.",
        explanation="""There are image files, but none has the name of this label file. It was
            renamed or removed, or it is in an unexpected folder.""",
        example=(
            _files({"labels/b.txt": ""}),
            _files({"labels/b.txt": "", "images/b.ppm": _PICTURE}),
        ),
    ),
    _rule(
        "T023 info: image file without a label file",
        breaks="It is unknown whether nobody annotated the image, or nothing was found in it.",
        explanation="""By default, the annotator counts as not asked about such an image; with
            `--missing-txt asked`, as having found nothing there. To record it in the data, write an
            empty label file for each image in which nothing was found.""",
        example=(
            _files({"images/b.ppm": _PICTURE}),
            _files({"images/b.ppm": _PICTURE, "labels/b.txt": ""}),
        ),
    ),
    _rule(
        "T024 warning: two classes with the same name",
        breaks="A model learns them as two classes; bboxqa treats them as one category.",
        explanation="""The file of names gives several classes the same name. Rename one of them, or
            give all labels the same class.""",
        example=_changed(_files({}, "[cat, dog]"), ("dog", "cat")),
    ),
    _rule(
        "T025 error: train or val of data.yaml names nothing",
        breaks="Training stops, as it finds no images, or validates on none.",
        explanation="""A path under train or val in data.yaml, from `path` or from the folder of
            data.yaml, leads to no file or folder. Correct the path, or restore the folder.""",
        example=_changed(_files({}, "[cat]\ntrain: images\nval: images"), ("val: ", "val: valid/")),
    ),
    _rule(
        "T030 warning: corners of a box are swapped",
        breaks="Training stops at a box of negative width, or leaves it out.",
        explanation="""xmin is greater than xmax, or ymin than ymax. They are read in the right
            order. Swap them in the file.""",
        example=_changed(
            Files({"a.xml": _xml("a.jpg")}), ("<xmin>10", "<xmin>30"), ("<xmax>30", "<xmax>12")
        ),
    ),
    _rule(
        "T031 warning: several files name the same image",
        breaks="Annotations of different images would be merged into one image.",
        explanation="""The files were copied or renamed without changing the image name inside. All
            but one are read as an image named after the file. Correct the name.""",
        example=_changed(_TWO, ("b.jpg", "a.jpg")),
    ),
    _rule(
        "T040 warning: task or job without assignee",
        breaks="Results per annotator may be attributed to somebody who annotated nothing.",
        explanation="""CVAT writes the owner of a task, who need not have drawn anything, and its
            assignee, who is missing. Assign the job in CVAT and export it again, or give one file
            per annotator, with `bboxqa agree --annotator ann=1.xml --annotator bob=2.xml`.""",
        example=_changed(_CVAT, ("<username>ann</username>", "")),
    ),
    _rule(
        "T041 warning: label is not one of the task",
        breaks="The shape gets a category of its own, and so agrees with no other shape.",
        explanation="""Shapes have a label that is not listed at the beginning of the file. CVAT
            refuses to import such a file. Correct the label, or add it to the task.""",
        example=_changed(_CVAT, ('label="cat"', 'label="Cat"')),
    ),
    _rule(
        "T050 error: label is not in the list of the project",
        breaks="Tools refuse to import the file, or drop the shape.",
        explanation="""A shape has a label that the project does not list, in Supervisely as classes
            of meta.json and in Datumaro under categories. Correct the list, or export again.""",
        example=_changed(_DATUMARO, ('"label_id": 1', '"label_id": 2')),
    ),
    _rule(
        "T060 info: mask without an object",
        breaks="If the object was forgotten, it counts as missed by this annotator.",
        explanation="""All pixels of a mask are background. The annotator counts as asked about the
            image, and as having found nothing there. If nobody looked at it, remove the file.""",
        example=(_mask(), _mask(*_SQUARE)),
    ),
    _rule(
        "T061 error: mask has another size than its image",
        breaks="The pixels of the mask are not those of the image, so nothing can be compared.",
        explanation="""The width and height of a mask differ from those of its image. One of them
            was scaled or cropped after drawing. Export masks in the size of the images.""",
        example=(
            _Masks({**_mask(*_SQUARE), "images/a.ppm": _PICTURE}),
            _Masks({**_mask(*_SQUARE), "images/a.ppm": "P3 12 12 255"}),
        ),
    ),
    _rule(
        "T062 warning: speckle in a mask",
        breaks="A few stray pixels widen the box of an object, or count as an object of a class.",
        explanation="""An object has pieces of fewer than 10 pixels apart from the rest, or a region
            of a class is as small, often left by a brush or by scaling. Remove them.""",
        example=(_mask(*_SQUARE, "", "", "1"), _mask(*_SQUARE)),
    ),
    _rule(
        "T063 info: object in several pieces",
        breaks="If these are two objects, they count as one.",
        explanation="""The pixels of an object are in several pieces of 10 pixels or more that do
            not touch. Something in front may divide it. Draw two objects each on its own.""",
        example=(_mask(*_SQUARE, "", *_SQUARE), _mask(*_SQUARE)),
    ),
)
