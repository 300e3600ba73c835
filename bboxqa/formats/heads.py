"""What files are, by how they begin: those that are read, and those of other programs.

A line of `_SIGNATURES` is all that a kind of file costs.
"""

import codecs
import csv
import json
import re
from contextlib import suppress
from functools import lru_cache

import msgspec

HEAD = 1 << 16
"""Number of bytes from which formats recognise a file, and of its end where COCO has lists."""
NUMBER = rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
PARQUET = b"PAR1"
TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".pq")
CLASS_NAMES = "*class-descriptions*.csv"
"""The pattern of tables of Open Images with the names of classes by code."""

_MEASURED = "`bboxqa agree` measures its boxes, of all files in their folder: bboxqa agree FILE"
_EXPORT = "Export COCO JSON from the tool that wrote it."
_COLUMNS = (
    "Say what its columns hold: --columns image=NAME,x=NAME,…, or image=NAME,objects=NAME for "
    "lists of boxes, by the names of its columns; `bboxqa stats` measures labels."
)
_LABELS = "Name the folder that has them and data.yaml or classes.txt, one for each annotator."
_BYTES, _XML, _JSON, _TEXT, _NAMED = "bytes", "xml", "json", "text", "named"
_NO_COCO = rb'(?!.*"images"\s*:)'
_ITEM = rb"(?:\[\s*)?\{"
_FLOAT = rb" -?\d+(?:\.\d+)?"
_BY_JQ = "Convert it: jq '{}' FILE > OUT.json"
# Numbers that are none are found when labels are read.
_LINE = rb"\s*\d+(?:\.0*)?(?:[ \t]+(?:" + NUMBER + rb"|-?(?i:nan|inf))){4,}[ \t]*(?:[\r\n]|\Z)"
_SHARES = rb"\s*\d+(?:\.0*)?(?:[ \t]+0?\.\d+(?:[eE]-?\d+)?|[ \t]+[01](?:\.0*)?){4}"
_DOTA_HEADER = rb"\s*(?:imagesource|gsd)\s*:[^\n]*(?:\n|\Z)"
# A category contains a character other than digits, since lines of numbers only may be YOLO labels.
# A quoted character at the end of a line means ICDAR text, which has colours, centres and boxes
# before it.
_REST = rb"(?![-+.\deE \t]+(?:\r?\n|\Z))(?![^\n]*\"[ \t]*(?:\r?\n|\Z))[^\s:]"
_DOTA_LABEL = rb"\s*" + rb"[ \t]+".join([NUMBER] * 8) + rb"[ \t]+" + _REST
_DOTA = rb"(?i)(?:\xef\xbb\xbf)?(?:(?:%b)+(?:\s*\Z|%b)|%b)" % (
    _DOTA_HEADER, _DOTA_LABEL, _DOTA_LABEL,
)  # fmt: skip
_VIA_CSV = (
    rb'#?"?filename"?,"?file_size"?,"?file_attributes"?,"?region_count"?,"?region_id"?,'
    rb'"?region_shape_attributes"?,"?region_attributes"?\s'
)
_DATUMARO = "Convert it with datumaro: datum convert -i FOLDER -if {} -f coco -o OUT"


# UTF-32 comes first, as its byte order mark begins with that of UTF-16.
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def _tool(kind: str, pattern: bytes, advice: str = "") -> tuple[str, str, bytes, str, str]:
    """Return the signature of JSON of a tool that exports tables or COCO if there is no advice."""
    advice = advice or f"Export COCO JSON, or a table of boxes, from {kind}."
    return kind, _JSON, pattern, f"JSON of {kind}", advice


# The kind; the group, which says what the pattern applies to: bytes, XML without blanks, JSON
# without blanks, or files named .txt ("named" kinds are recognised elsewhere); the pattern; what it
# is called; and what to do. Of each group, the first pattern that matches counts.
_SIGNATURES: tuple[tuple[str, str, bytes, str, str], ...] = (
    (
        "image", _BYTES, (rb"\x89PNG\r\n|\xff\xd8\xff|GIF8[79]a|II\*\0|MM\0\*|RIFF....WEBP"
        rb"|BM.{4}\0\0\0\0"),
        "an image",
        "Name the JSON file with its annotations; of masks, name the folder, with --mask.",
    ),
    ("office", _BYTES, rb"PK\x03\x04.*(?:\[Content_Types\]\.xml|opendocument)",
     "an office document", "Save its tables as CSV."),
    ("archive", _BYTES, (rb"PK\x03\x04|PK\x05\x06|\x1f\x8b|7z\xbc\xaf|Rar!|BZh|\xfd7zXZ"
     rb"|.{257}ustar"),
     "a compressed archive", "Unpack it into a folder of its own, and name the folder."),
    ("Parquet", _BYTES, PARQUET, "a Parquet table", _COLUMNS),
    ("pointer", _BYTES, rb"version https://git-lfs",
     "a Git LFS pointer", "Fetch its content first: git lfs pull"),
    ("ELAN", _XML, rb".*<ANNOTATION_DOCUMENT\b",
     "ELAN's own file", "In ELAN: File, Export As, Tab-delimited Text; give that file."),
    ("CVAT", _XML, rb"(?=<).*<annotations\b[^>]*>.*?<(?:version|meta|image|track)\b",
     "XML of CVAT", _MEASURED),
    ("LabelMe XML", _XML, rb".*<annotation\b.*<(?:sourceAnnotation|nrows)\b",
     "XML of LabelMe's web tool", _DATUMARO.format("label_me")),
    (
        "VOC", _XML, (rb"(?:<\?xml[^>]*>\s*)?(?:<!DOCTYPE[^>\[]*(?:\[.*?\]\s*)?>\s*)?"
        rb"(?:<!--.*?-->\s*)*<annotation(?:\s[^>]*)?>(?!.*<(?:sourceAnnotation|nrows)\b)"
        rb"(?=.*<(?:filename|object|size|folder|path|segmented)\b|\s*(?:</annotation>\s*)?\Z)"),
        "XML of Pascal VOC", _MEASURED,
    ),
    ("HTML", _XML, rb"(?i:.*<(?:!doctype html|html)\b)", "a web page",
     "Open it in a browser: it may be a login or error page instead of the requested file."),
    ("XML", _XML, rb"", "XML of neither CVAT nor Pascal VOC", _EXPORT),
    (
        "Label Studio", _JSON, rb"(?:\[\s*\{|\{" + _NO_COCO + rb")(?:"
        rb'(?=.*"(?:annotations|completions|predictions)"\s*:)'
        rb'(?=.*"(?:from_name|completed_by|result|data)"\s*:)'
        rb'|(?=.*"result"\s*:\s*\[)(?=.*"(?:from_name|original_width)"\s*:)'
        rb'|(?=.*"(?:rectangle|polygon|ellipse|brush|keypoint)labels"\s*:\s*\[)'
        rb'(?=.*"(?:original_width|annotation_id|lead_time)"\s*:)'
        rb'|(?=.*"annotation_id"\s*:)(?=.*"lead_time"\s*:))',
        "Label Studio's own JSON",
        ("`bboxqa agree` measures its boxes. For choices and ratings, export the project as "
        "CSV, and name the column of answers: bboxqa stats FILE.csv --value COLUMN"),
    ),
    ("tasks", _JSON, rb'\[\s*\{\s*"data"\s*:\s*\{',
     "a list of Label Studio's tasks without annotations",
     "In Label Studio, export the project as JSON."),
    _tool("CreateML", rb'\[\s*\{(?=.*"image(?:filename)?"\s*:\s*").*"coordinates"\s*:\s*\{'),
    _tool("a CVAT backup", rb'\[\s*\{(?=.*"tags"\s*:\s*\[)(?=.*"shapes"\s*:\s*\[)',
          "In CVAT, export the task or job as CVAT for images 1.1."),
    ("Labelbox", _JSON, rb'(?:\[\s*)?\{\s*"data_row"\s*:\s*\{', "JSON of Labelbox", _MEASURED),
    _tool("Labelbox's first export", _ITEM + rb'(?=.*"Labeled Data"\s*:).*"Label"\s*:',
          "Export it again as NDJSON (export v2)."),
    (
        "SageMaker", _JSON, (rb'\{(?:(?=.*"source-ref"\s*:)(?=.*"groundtruth/)'
        rb'|\s*"answers"\s*:\s*\[.*"answerContent"\s*:)'
        rb'|\[\s*\{(?=.*"annotationData"\s*:).*"dataObject"\s*:'),
        "JSON of SageMaker Ground Truth", _MEASURED,
    ),
    (
        # An image embedded before the shapes may be larger than the examined beginning.
        "LabelMe", _JSON, rb"\{" + _NO_COCO + rb'(?:(?=.*"shapes"\s*:\s*\[)'
        rb'(?=.*"(?:version|imagePath|imageData|flags|points|shape_type)"\s*:)'
        rb'|(?=.*"(?:version|imagePath|flags|lineColor)"\s*:)(?=.*"imageData"\s*:\s*")'
        rb'|\s*"imageData"\s*:\s*")',
        "JSON of LabelMe", _MEASURED,
    ),
    (
        "VIA", _JSON, (rb'\{(?!\s*"images"\s*:)(?:.*"_via_(?:settings|img_metadata)"\s*:'
        rb'|\s*"(?:[^"\\]|\\.)*"\s*:\s*\{(?=.{0,4000}"filename"\s*:)'
        rb'.{0,4000}"(?:regions|file_attributes|base64_img_data)"\s*:)|' + _VIA_CSV),
        "JSON of VIA", _MEASURED,
    ),
    (
        "Supervisely", _JSON, rb"\{" + _NO_COCO + rb'(?=.*"objects"\s*:\s*\[)'
        rb'(?=.*"(?:classTitle|tags)"\s*:)(?=.*"(?:size|classTitle|figures|frames)"\s*:)',
        "Supervisely's own JSON", _MEASURED,
    ),
    (
        "Datumaro", _JSON, rb"\{" + _NO_COCO + rb'(?=.*"categories"\s*:\s*\{\s*(?:"|\}))'
        rb'(?:.*"items"\s*:\s*\[|.*"dm_format_version"\s*:'
        rb'|.*"categories"\s*:\s*\{\s*"label"\s*:\s*\{)',
        "Datumaro's own JSON", _MEASURED,
    ),
    (
        "FiftyOne", _JSON, rb"\{" + _NO_COCO + rb'(?:(?=.*"samples"\s*:\s*\[).*"filepath"\s*:'
        rb'|\s*"classes"\s*:.*"labels"\s*:\s*\{.*"bounding_box"\s*:)',
        "FiftyOne's own JSON",
        ("In Python, load it and call bboxqa.agree(bboxqa.read(dataset)); or export COCO "
        "JSON."),
    ),
    ("Hugging Face", _JSON,
     rb'\{(?!.*"images"\s*:\s*\[)(?=.*"features"\s*:\s*\{).*"_type"\s*:\s*"',
     "the description of a Hugging Face data set",
     'Save the data set as Parquet, in Python: dataset.to_parquet("a.parquet")'),
    _tool("GeoJSON", rb"\{" + _NO_COCO + rb'.*"type"\s*:\s*"FeatureCollection"', _EXPORT),
    _tool("YOLOv6's cache of labels", rb'\{\s*"information"\s*:.*"labels"\s*:\s*\[\[', _LABELS),
    _tool("VOC as JSON", rb'[\[{].*"annotation"\s*:\s*\{.*"bndbox"\s*:\s*\{\s*"[xy]m',
          "Name the folder of the XML files that it was made from."),
    ("Darwin", _JSON,
     rb"\{" + _NO_COCO + rb'(?:.*"item"\s*:\s*\{.*"slots"\s*:\s*\['
     rb'|\s*"annotations"\s*:\s*\[\s*\{.*"slot_names"\s*:\s*\[)',
     "JSON of V7 Darwin", _MEASURED),
    _tool("Hasty", rb'\{.*"export_format_version"\s*:'),
    _tool("Cityscapes", rb'\{(?=.*"imgHeight"\s*:).*"objects"\s*:\s*\[',
          _DATUMARO.format("cityscapes")),
    _tool("Mapillary Vistas", rb'\{(?=.*"annotation_date"\s*:).*"polygon"\s*:',
          _DATUMARO.format("mapillary_vistas")),
    _tool("ADE20K", rb'\{\s*"annotation"\s*:\s*\{.*"imsize"\s*:',
          _DATUMARO.format("ade20k2020")),
    _tool("MPII", rb'\[\s*\{.*"joint_self"\s*:', _DATUMARO.format("mpii_json")),
    _tool("BDD100K", _ITEM + rb'(?=.*"category"\s*:).*"\w+2d"\s*:', "Convert it by its own "
          "program: python -m bdd100k.label.to_coco -m det -i FILE -o OUT"),
    _tool("SA-1B", rb'\{\s*(?=.*"image"\s*:\s*\{)(?=.*"annotations"\s*:).*"predicted_iou"\s*:',
          _BY_JQ.format(".image.image_id as $i | {images: [.image + {id: $i}], annotations: "
                        "[.annotations[] + {image_id: $i, category_id: 1}], categories: "
                        '[{id: 1, name: "object"}]}')),
    _tool("Dataloop", rb'\{(?=.*"annotations"\s*:\s*\[)(?=.*"coordinates"\s*:).*"itemId"\s*:',
          "In Python: dtlpy.Converter().convert_dataset(DATASET, "
          'to_format="coco", local_path=OUT)'),
    _tool("SuperAnnotate", rb'\{(?=.*"metadata"\s*:)(?=.*"instances"\s*:\s*\[).*"\w+Id"\s*:'),
    _tool("Encord", _ITEM + rb'(?=.*"label_hash"\s*:).*"data_units"\s*:'),
    _tool("Scale", _ITEM + rb'(?=.*"task_id"\s*:).*"response"\s*:\s*\{.*"annotations"\s*:'),
    _tool("Kili", _ITEM + rb'.*"jsonResponse"\s*:'),
    _tool("VoTT", rb'\{(?:(?=.*"asset"\s*:\s*\{)(?=.*"regions"\s*:)'
          rb'|(?=.*"securityToken"\s*:).*"videoSettings"\s*:)', "Export Pascal VOC, or CSV."),
    ("Lightly", _JSON, rb'\{\s*"file_name"\s*:.*"predictions"\s*:\s*\[',
     "predictions of Lightly",
     "Name the COCO JSON that they were made from, or write them as COCO results."),
    ("detectron2", _JSON, rb'\[\s*\{.*"bbox_mode"\s*:', "dicts of detectron2",
     "In Python: detectron2.data.datasets.convert_to_coco_json(NAME_OF_DATASET, OUT)"),
    ("KITTI", _TEXT, rb"[A-Za-z_]+(?:" + _FLOAT + rb"){14,15}\s*(?:\n|\Z)",
     "labels of KITTI", _DATUMARO.format("kitti")),
    ("MOT", _TEXT, rb"\d+(?:, ?-?\d+(?:\.\d+)?){5,9}\s*(?:\n|\Z)",
     "a table of MOT without a header", _DATUMARO.format("mot_seq")),
    ("WIDER FACE", _TEXT, rb"[^\n]+\.jpe?g\s*\n\d+\s*\n\d+(?: -?\d+){3,9}\s*(?:\n|\Z)",
     "the list of WIDER FACE", _DATUMARO.format("wider_face")),
    ("binary", _NAMED, b"", "not text",
     "Open it in the tool that wrote it, and export COCO JSON from there."),
    ("COCO", _NAMED, b"", "COCO JSON", _MEASURED),
    ("table", _NAMED, b"", "a table", _COLUMNS),
    ("YAML", _NAMED, b"", "YAML",
     "Name the folder that has the annotations; labels of YOLO are read with its data.yaml."),
    ("YOLO", _NAMED, _LINE, "labels of YOLO", _LABELS),
    ("DOTA", _NAMED, _DOTA, "labels of DOTA",
     "Name the folder that has them, one for each annotator."),
    ("Supervisely meta", _NAMED, rb'\{.*"classes"\s*:\s*\[(?:\s*\]|\s*\{.*"(?:title|shape)"\s*:)',
     "the classes of a Supervisely project", _MEASURED),
    ("Zooniverse", _NAMED, b"".join(rb"(?=[^\n]*\b%b\b)" % each for each in (
        b"user_name", b"metadata", b"annotations", b"subject_data", b"subject_ids")),
     "classifications of Zooniverse", _MEASURED),
)  # fmt: skip
WHAT = {kind: (what, advice) for kind, _, _, what, advice in _SIGNATURES}
# By kind, the pattern, and words that it needs if it has no alternatives: they are found faster.
_PATTERNS = {
    kind: (pattern, [] if re.search(rb"\||\(\?!", pattern) else re.findall(rb'"\w+"', pattern))
    for kind, _, pattern, *_ in _SIGNATURES
}
# Byte order marks, and the first character of JSON in each encoding.
_TEXT_HEAD = rb"\xef\xbb\xbf|\xff\xfe|\xfe\xff|\0{0,3}[\s\0]*[\[{]"
_ELEMENT = rb"(?i)<(?:\?xml|!--|!doctype|[a-z])"


def plain_head(head: bytes) -> bytes:
    """Return the beginning of a text without a byte order mark, zero bytes and leading blanks."""
    return head.replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe").lstrip()


def as_utf8(data: bytes) -> bytes:
    """Return text in UTF-8, with blanks in place of a byte order mark."""
    if data.startswith(codecs.BOM_UTF8):
        return b"   " + data[3:]
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace").encode()
    return data


# Several formats and messages ask what one file is.
@lru_cache(64)
def _is_like(kind: str, head: bytes) -> bool:
    pattern, words = _PATTERNS[kind]
    return all(word in head for word in words) and bool(re.match(pattern, head, re.DOTALL))


def begins(kind: str, head: bytes, *, strict: bool = False) -> bool:
    """Return whether a text begins like JSON, XML or labels of a kind.

    With `strict`, the numbers of labels of YOLO have to be relative to the image.
    """
    plain = plain_head(head)
    is_share = kind != "YOLO" or not strict or re.match(_SHARES, plain) is not None
    return is_share and _is_like(kind, plain)


def kind_in(group: str, head: bytes) -> str | None:
    """Return the kind of JSON or text of another program than COCO's; None if it is unknown."""
    plain = head if group == _BYTES else plain_head(head)
    of_group = (kind for kind, of, *_ in _SIGNATURES if of == group)
    return next((kind for kind in of_group if _is_like(kind, plain)), None)


_NEXT_LINE = rb"\n(?=[ \t\r]*\{)"


def is_lines(head: bytes) -> bool:
    """Return whether a text begins like JSON Lines, whose objects are not whole files of COCO."""
    first, _, rest = plain_head(head).partition(b"\n")
    if first.startswith(b"{") and first.rstrip().endswith(b"}") and rest.lstrip().startswith(b"{"):
        with suppress(msgspec.DecodeError, RecursionError):
            keys = msgspec.json.decode(first, type=dict[str, msgspec.Raw]).keys()
            return not keys >= {"images", "annotations"}
    return False


def as_list(text: bytes) -> bytes:
    """Return JSON Lines as a list, in which each byte is one place later; other text as it is."""
    return b"[" + re.sub(_NEXT_LINE, b",", text) + b"]" if is_lines(text[:HEAD]) else text


def kind_of(head: bytes) -> str | None:
    """Return the key in `WHAT` for the beginning of a file; None if it may be JSON."""
    if found := kind_in(_BYTES, head):
        return found
    if re.match(_ELEMENT, plain_head(head)):
        return kind_in(_XML, head)
    return "binary" if b"\0" in head and not re.match(_TEXT_HEAD, head) else None


def absence_of(head: bytes) -> str:
    """Return why a file has no content, by its beginning; "" if it has any."""
    if not head.strip():
        return "is empty"
    is_pointer = kind_of(head[:HEAD]) == "pointer"
    return "is a Git LFS pointer; its content is fetched by: git lfs pull" if is_pointer else ""


IS_COCO = rb'(?s)\s*\{.*"(?:images|annotations|categories)"\s*:\s*\[\s*[{\]]'
"""The beginning of COCO JSON, for commands that read tables only."""
_LISTS = rb'"(?:images|annotations)"\s*:\s*\[|"categories"\s*:\s*\[\s*(?:\{|\]|$)'
_ANY_KEY = rb'"(?:images|annotations|categories|image_id|category_id|bbox|segmentation|keypoints)"'
_SOMETHING = rb"(?:\xef\xbb\xbf)?\s*(?:\[\s*\{|[\[{])\s*[^\s\[\]{}]"


def is_read_alone(head: bytes) -> bool:
    """Return whether a file of many images is read by itself among files of one image each."""
    kind = kind_of(head) or kind_in(_JSON, head)
    is_of_one = kind in ("VOC", "LabelMe", "Darwin")
    return re.match(IS_COCO, head) is not None or (
        kind is not None and not is_of_one and WHAT[kind][1].startswith("`bboxqa agree` measures")
    )


def is_without_coco(text: bytes) -> bool:
    """Return whether the beginning of a file, and maybe its end, has no key of COCO.

    A file that is empty, cut off before its first key, or has zero bytes, as UTF-16 does, may be
    annotations and gives False.
    """
    is_text = re.match(_SOMETHING, text) is not None and b"\0" not in text
    return is_text and not re.search(_ANY_KEY, text)


def has_lists(text: bytes) -> bool:
    """Return whether a part of a file, maybe in UTF-16, begins a list of COCO."""
    return re.search(_LISTS, text.replace(b"\0", b"")) is not None


_NAMES_KEY = rb"(?m)^[\"']?(?:names|kpt_shape)[\"']?\s*:"


def is_yaml(name: str) -> bool:
    """Return whether a file is YAML, by its name."""
    return name.lower().endswith((".yaml", ".yml"))


def is_names_file(name: str) -> bool:
    """Return whether a file may describe a YOLO data set: its class names, or its key points."""
    last = name.rpartition("/")[2].lower()
    # Roboflow writes _darknet.labels.
    return is_yaml(last) or last.endswith(".names") or last in ("classes.txt", "_darknet.labels")


def is_names_head(name: str, head: bytes) -> bool:
    """Return whether a file has class names or the number of key points, by its beginning."""
    text = as_utf8(head).strip()
    if is_yaml(name):
        return re.search(_NAMES_KEY, text) is not None
    return b"\0" not in text and bool(text)


# The keys of results of COCO, or of a list of its annotations alone, which are no table.
_OF_RESULTS = {
    "id", "image_id", "category_id", "bbox", "segmentation", "keypoints", "num_keypoints", "area",
    "iscrowd", "score",
}  # fmt: skip
_BETWEEN = re.compile(r"[\s,]*")


def delimiter_of(text: str) -> str:
    """Return the most frequent delimiter of the first line."""
    return max(",\t;", key=text.lstrip(" \r\n").partition("\n")[0].count)


def header_of(head: bytes) -> list[str]:
    """Return the column names at the beginning of a text; empty if it is not a table."""
    # The last character may be cut off.
    lines = as_utf8(head).decode("utf-8", "replace").splitlines()
    first = next((line for line in lines if line.strip()), "")
    if first.lstrip()[:1] in ("[", "{"):
        # Objects at the beginning, of which the last may be cut off.
        text, found = "\n".join(lines).lstrip(), dict[str, None]()
        is_list, decode = text[0] == "[", json.JSONDecoder().raw_decode
        place = int(is_list)
        with suppress(ValueError, RecursionError):
            while (between := _BETWEEN.match(text, place)) is not None:
                row, place = decode(text, between.end())
                found |= dict.fromkeys(row if isinstance(row, dict) else ())
        is_results = is_list and {"image_id", "category_id"} <= {*found} <= _OF_RESULTS
        return [] if is_results else [*found]
    cells = next(csv.reader([first], delimiter=delimiter_of(first)), [])
    return [cell.strip() for cell in cells]
