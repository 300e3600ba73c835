"""Recognising the kind of a file from the beginning of its content."""

import re

HEAD = 1 << 16
"""Number of bytes from which formats recognise a file."""

_IMAGES = re.compile(
    rb"\x89PNG\r\n|\xff\xd8\xff|GIF8[79]a|II\*\0|MM\0\*|RIFF....WEBP|BM.{4}\0\0\0\0", re.DOTALL
)
PARQUET = b"PAR1"
"""The first bytes of Parquet files."""
TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".pq")
"""Suffixes of tables."""
CLASS_NAMES = "*class-descriptions*.csv"
"""The pattern of tables of Open Images with the names of classes by code."""
_ARCHIVES = (b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b", b"7z\xbc\xaf", b"Rar!", b"BZh", b"\xfd7zXZ")
_TAR = slice(257, 262)
_OFFICE = re.compile(rb"PK\x03\x04.*(?:\[Content_Types\]\.xml|opendocument)", re.DOTALL)
_NUMPY = re.compile(rb"\x93NUMPY|PK\x03\x04.{26}[^/]{1,200}?\.npy", re.DOTALL)
_TORCH = re.compile(
    rb"PK\x03\x04.{26}[^/]{1,200}/(?:data\.pkl|\.format_version|byteorder)", re.DOTALL
)
_BYTES = ((_IMAGES, "image"), (_NUMPY, "NumPy"), (_TORCH, "PyTorch"))
_OTHERS = (
    (b"\x89HDF\r\n", "HDF5"),
    (b"MATLAB ", "MATLAB"),
    *((b"\x80" + bytes([version]), "pickle") for version in range(2, 6)),
    (PARQUET, "Parquet"),
    (b"SQLite format 3\0", "SQLite"),
    (b"%PDF-", "PDF"),
    (b"version https://git-lfs", "pointer"),
)
TEXT = re.compile(rb"\xef\xbb\xbf|\xff\xfe|\xfe\xff|\0{0,3}[\s\0]*[\[{]")
"""Byte order marks, and the first character of JSON in each encoding."""
_CONTROL = bytes(code for code in range(32) if code not in b"\t\n\v\f\r\x1b")
# Text has hardly any control characters; in binary content they are as frequent as other bytes.
_MOST_CONTROL = 0.02
_XML = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:\?xml|!--|!doctype|[a-z])", re.IGNORECASE)
# Kinds by the first element of a file; the first pattern that matches counts.
_ELEMENTS = (
    (re.compile(rb"<ANNOTATION_DOCUMENT\b"), "ELAN"),
    (re.compile(rb"<annotations>.*<(?:version|meta|image|track)\b", re.DOTALL), "CVAT"),
    (re.compile(rb"<annotation\b.*<(?:filename|object|size)\b", re.DOTALL), "VOC"),
    (re.compile(rb"<(?:!doctype html|html)\b", re.IGNORECASE), "HTML"),
)
_JSON_KINDS = tuple(
    (re.compile(pattern, re.DOTALL), name)
    for pattern, name in (
        (
            (
                rb'\s*\[\s*\{(?=.*"(?:annotations|completions|predictions)"\s*:)'
                rb'(?=.*"(?:data|from_name)"\s*:)'
            ),
            "Label Studio",
        ),
        (rb'\s*\[\s*\{(?=.*"image(?:filename)?"\s*:\s*")(?=.*"coordinates"\s*:\s*\{)', "CreateML"),
        (rb'\s*\[\s*\{(?=.*"tags"\s*:\s*\[)(?=.*"shapes"\s*:\s*\[)', "CVAT backup"),
        (
            (
                rb'\s*(?:\[\s*)?\{(?:\s*"data_row"\s*:\s*\{'
                rb'|(?=.*"Labeled Data"\s*:).*"Label"\s*:)'
            ),
            "Labelbox",
        ),
        (rb'\s*\{(?!.*"images"\s*:)(?=.*"version"\s*:)(?=.*"shapes"\s*:\s*\[)', "LabelMe"),
        (
            (
                rb'\s*\{(?!.*"images"\s*:)(?:.*"_via_(?:settings|img_metadata)"'
                rb'|(?=.*"filename"\s*:)(?=.*"regions"\s*:\s*[\[{]).*"shape_attributes"\s*:)'
            ),
            "VIA",
        ),
        (rb'\s*\{(?!.*"images"\s*:)(?=.*"objects"\s*:\s*\[).*"classTitle"\s*:', "Supervisely"),
        (rb'\s*\{(?=.*"categories"\s*:\s*\{).*"items"\s*:\s*\[', "Datumaro"),
        (
            (
                rb'\s*\{(?!.*"images"\s*:)(?:(?=.*"samples"\s*:\s*\[).*"filepath"\s*:'
                rb'|\s*"classes"\s*:.*"labels"\s*:\s*\{.*"bounding_box"\s*:)'
            ),
            "FiftyOne",
        ),
        (
            rb'\s*\{(?!.*"images"\s*:\s*\[)(?=.*"features"\s*:\s*\{).*"_type"\s*:\s*"',
            "Hugging Face",
        ),
        (rb'\s*\{(?!.*"images"\s*:).*"type"\s*:\s*"FeatureCollection"', "GeoJSON"),
        (
            rb'\s*\{(?!.*"images"\s*:)(?=\s*"information"\s*:).*"shape"\s*:.*"labels"\s*:\s*\[\[',
            "YOLOv6",
        ),
        (
            (
                rb'\s*[\[{](?!.*"images"\s*:)(?=.*"annotation"\s*:\s*\{)'
                rb'.*"bndbox"\s*:\s*\{\s*"[xy]m'
            ),
            "VOC as json",
        ),
        (rb'\s*\{(?!.*"images"\s*:)(?=.*"item"\s*:\s*\{).*"slots"\s*:', "Darwin"),
    )
)
"""Kinds of JSON of other programs, by keys that COCO files do not have at the top level."""

IS_COCO = re.compile(rb'\s*\{.*"(?:images|annotations|categories)"\s*:\s*\[\s*[{\]]', re.DOTALL)
"""The beginning of COCO JSON, for commands that read tables only."""

_SAVE = "Save the annotations as JSON or CSV in the program that wrote it."
WHAT = {
    "archive": ("a compressed archive", "Unpack it into a folder of its own, and name the folder."),
    "office": (
        "an office document",
        "Name the JSON file with the annotations; `bboxqa stats` measures tables saved as CSV.",
    ),
    "table": (
        "a table",
        "Say what its columns hold: --columns image=NAME,x=NAME,…; `bboxqa stats` measures labels.",
    ),
    "Parquet": (
        "a Parquet table",
        "Say what its columns hold: --columns image=NAME,x=NAME,…; `bboxqa stats` measures labels.",
    ),
    "NumPy": ("a file of NumPy arrays", _SAVE),
    "PyTorch": ("a file of PyTorch", _SAVE),
    "pickle": (
        "pickled Python objects, which could run any code",
        _SAVE,
    ),
    "HDF5": ("HDF5", _SAVE),
    "MATLAB": ("a file of MATLAB", _SAVE),
    "SQLite": ("an SQLite database", "Export COCO JSON from the tool that wrote it."),
    "PDF": ("a PDF", "Name the JSON file that holds the annotations."),
    "pointer": ("a Git LFS pointer", "Fetch its content first: git lfs pull"),
    "zeros": ("zero bytes only, so its content is lost", "Download or export the file again."),
    "binary": (
        "not text",
        "Open it in the tool that wrote it, and export COCO JSON from there.",
    ),
    "image": ("an image", "Name the JSON file that holds its annotations."),
    "CVAT": ("XML of CVAT", "`bboxqa agree` measures its boxes."),
    "VOC": ("XML of Pascal VOC", "`bboxqa agree` measures its boxes: name its folder."),
    "ELAN": ("ELAN's own file", "In ELAN: File, Export As, Tab-delimited Text; give that file."),
    "HTML": (
        "a web page",
        "Open it in a browser: it may be a login or error page instead of the requested file.",
    ),
    "XML": (
        "XML of neither CVAT nor Pascal VOC",
        "Export COCO JSON from the tool that wrote it.",
    ),
    "Label Studio": (
        "Label Studio's own JSON",
        (
            "`bboxqa agree` measures its boxes. For choices and ratings, export the project as "
            "CSV, and name the column of answers: bboxqa stats FILE.csv --value COLUMN"
        ),
    ),
    "LabelMe": ("JSON of LabelMe", "`bboxqa agree` measures its boxes: name its folder."),
    "VIA": ("JSON of VIA", "`bboxqa agree` measures its boxes."),
    "YOLOv6": (
        "YOLOv6's cache of labels",
        "Name the folder of the labels that it was made from, with data.yaml or classes.txt.",
    ),
    "VOC as json": (
        "XML of Pascal VOC turned into JSON",
        "Name the folder of the XML files that it was made from.",
    ),
    "CreateML": ("JSON of CreateML", "Export COCO JSON from the tool that wrote it."),
    "CVAT backup": (
        "JSON of a CVAT backup",
        "In CVAT, export the task or job as CVAT for images 1.1.",
    ),
    "Labelbox": ("JSON of Labelbox", "Convert it to COCO JSON first."),
    "Supervisely": (
        "Supervisely's own JSON",
        "`bboxqa agree` measures its boxes.",
    ),
    "Datumaro": ("Datumaro's own JSON", "`bboxqa agree` measures its boxes."),
    "FiftyOne": (
        "FiftyOne's own JSON",
        "In Python, load it and call bboxqa.agree(bboxqa.read_coco(dataset)); or export COCO JSON.",
    ),
    "Hugging Face": (
        "the description of a Hugging Face data set",
        'Save the data set as Parquet, in Python: dataset.to_parquet("a.parquet")',
    ),
    "Darwin": ("JSON of V7 Darwin", "`bboxqa agree` measures its boxes."),
    "GeoJSON": (
        "GeoJSON",
        "Its coordinates are geographic: export COCO JSON, in pixels, from the tool that wrote it.",
    ),
    "YOLO": (
        "labels of YOLO",
        "Name the folder that has them and data.yaml or classes.txt, one for each annotator.",
    ),
    "COCO": ("COCO JSON", "`bboxqa agree` measures its boxes."),
    "notebook": ("a Jupyter notebook", "Name the JSON file that holds the annotations."),
    "YAML": (
        "YAML",
        "Name the folder that has the annotations; labels of YOLO are read with its data.yaml.",
    ),
    "DOTA": ("labels of DOTA", "Name the folder that has them, one for each annotator."),
}
"""The description of each kind of content, and advice on how to go on."""


def content_words(head: bytes) -> str:
    """Return the description of a file by its beginning; "" if it may be JSON.

    Examples
    --------
    >>> content_words(b"%PDF-1.7"), content_words(b'{"images": []}')
    ('a PDF', '')
    """
    kind = kind_of(head[:HEAD])
    return WHAT[kind][0] if kind else ""


def absence_of(head: bytes) -> str:
    """Return why a file has no content, by its beginning; "" if it has any.

    Examples
    --------
    >>> absence_of(b" "), absence_of(b"<a/>")
    ('is empty', '')
    """
    if not head.strip():
        return "is empty"
    is_pointer = kind_of(head[:HEAD]) == "pointer"
    return "is a Git LFS pointer; its content is fetched by: git lfs pull" if is_pointer else ""


def json_kind_of(head: bytes) -> str | None:
    """Return the key in `WHAT` for JSON of another program; None if it is not recognised.

    Examples
    --------
    >>> json_kind_of(b'{"version": "5.2", "shapes": []}')
    'LabelMe'
    """
    return next((name for pattern, name in _JSON_KINDS if pattern.match(head)), None)


def kind_of(head: bytes) -> str | None:
    """Return the key in `WHAT` for the beginning of a file; None if it may be JSON."""
    if found := next((name for pattern, name in _BYTES if pattern.match(head)), None):
        return found
    if head.startswith(_ARCHIVES) or head[_TAR] == b"ustar":
        return "office" if _OFFICE.match(head) else "archive"
    if _XML.match(head):
        return next((name for element, name in _ELEMENTS if element.search(head)), "XML")
    if TEXT.match(head):
        return None
    return next((name for mark, name in _OTHERS if head.startswith(mark)), None) or _binary(head)


def _binary(head: bytes) -> str | None:
    """Return the kind of binary content; None if it is text."""
    if head and not head.strip(b"\0"):
        return "zeros"
    n_control = len(head) - len(head.translate(None, _CONTROL))
    return "binary" if n_control > _MOST_CONTROL * len(head) else None
