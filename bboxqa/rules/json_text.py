"""F: the file as text and as JSON."""

from bboxqa.core.json_values import TOO_DEEP, pointer_parts, pointer_to, shortened
from bboxqa.core.text import count
from bboxqa.formats.document import BYTE_ORDER_MARK
from bboxqa.formats.heads import WHAT, absence_of, kind_of
from bboxqa.formats.records import LISTS
from bboxqa.model.findings import Edit
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base import Checked, Defect, Rows, rule
from bboxqa.rules.document import Document

_AROUND = 40
_ENDS = "the file ends here"
_HEAD = 1 << 16
_REPLACEMENT = "\ufffd".encode()
_PLAIN = '{"images": [], "annotations": [], "categories": []}'
_FINITE = "a finite number"


def _text(document: Document, _settings: ValidateSettings) -> Checked:
    """F001 to F003 and F005: text that is no JSON, goes on, is not in UTF-8, or repeats keys."""
    reading, text = document.reading, document.reading.text
    head = bytes(text[:_HEAD]).lstrip()
    kind, expected = kind_of(head) if reading.broken else None, "valid JSON to the end of the file"
    for offset, why in reading.broken:
        if not reading.size:
            what = "the file is empty; expected a JSON object"
        elif kind is not None:
            what = absence_of(head) or f"is {WHAT[kind][0]}; expected a JSON object"
            what = f"the file {what}"
        elif offset >= len(text) or why == _ENDS:
            what = f"the file ends at byte {offset:,}, before the document does"
        else:
            reason = why[:1].lower() + why[1:] if why[1:2].islower() else why
            unread = "; the rest of the file is not read" if reading.stopped else ""
            wrong = "" if why == TOO_DEEP else "not JSON "
            what = f"{wrong}at byte {offset:,}: {reason.rstrip('. ')}{unread}"
        found = text[max(offset - _AROUND, 0) : offset + _AROUND].decode("utf-8", "replace")
        yield Defect(what, offset=offset, found=found, expected=expected, code="F001")
    if (start := reading.trailing) is not None:
        rest = text[start : start + _AROUND].decode("utf-8", "replace")
        what = f"{count(len(text) - start, 'byte')} after the document ({shortened(rest)}); "
        what, expected = what + "expected the end of the file", "nothing but blanks"
        is_lines = rest.startswith("{") and text.rfind(b"}", 0, start) < text.find(b"\n", 0, start)
        if is_lines:
            what = "the file has a document in each line; expected one document: save each line "
            what += "as a file of its own"
        # If the document has none of COCO's lists, they may be in the text that follows.
        edits = (Edit("", "remove"),) if reading.sections and not is_lines else ()
        yield Defect(what, offset=start, found=rest, expected=expected, edits=edits, code="F002")
    if (encoding := reading.encoding) and kind is None:
        # UTF-16 and UTF-32 can be recognised, but 8-bit encodings cannot.
        is_utf8 = reading.not_utf8 is None and text.find(_REPLACEMENT) < 0
        is_certain = is_utf8 or text[:3] == BYTE_ORDER_MARK
        what = f"encoding is {encoding}; expected UTF-8 without a byte order mark"
        edits = (Edit("", "replace"),) if is_certain else ()
        yield Defect(what, offset=0, found=encoding, expected="UTF-8", edits=edits, code="F003")
    for pointer, key in reading.repeated:
        what = f"key {shortened(key)} appears more than once in its object; only the last counts"
        at, expected = pointer + pointer_to(key), "each key once"
        yield Defect(what, at, found=key, expected=expected, code="F005")


@rule(
    "F004 error: number is NaN or infinite",
    breaks="Strict readers refuse the whole file; in Python, IoU and losses become NaN.",
    explanation="""A number is NaN, Infinity, or too large for a float, from a division by 0 or the
        bounds of an empty outline. Redraw the annotation or remove it.""",
    bad='{"images": [], "categories": [], '
    '"annotations": [{"id": 1, "bbox": [NaN, 1e400, -Infinity, 3]}]}',
    good={"annotations": [{"bbox": [0.0, 1e-300, 20, 30]}]},
)
def _not_finite(document: Document, _settings: ValidateSettings) -> Checked:
    in_records: dict[tuple[str, str], dict[int, tuple[str, str]]] = {}
    sizes = {name: document.n_records(name) for name in LISTS}
    for pointer, found in document.reading.not_finite:
        name, row, key, *_ = *pointer_parts(pointer), "", "", ""
        # If a list is in the file twice, only the last one was read.
        if row.isdecimal() and int(row) < sizes.get(name, 0):
            in_records.setdefault((name, key), {}).setdefault(int(row), (pointer, found))
        else:
            message = f"number is {found}; expected {_FINITE}"
            yield Defect(message, pointer, found=found, expected=_FINITE)
    for (name, key), numbers in in_records.items():
        texts = {row: text for row, (_, text) in numbers.items()}
        says = {row: f"number is {text}" for row, text in texts.items()}.__getitem__
        places = {row: tuple(pointer_parts(at)[2:]) for row, (at, _) in numbers.items()}
        yield Rows(
            [*numbers], says, name, _FINITE, texts.get, key=key,
            inner=places.__getitem__, summary=f"{key or 'number'} is NaN or infinite in {{share}}",
        )  # fmt: skip


def _whole(document: Document, settings: ValidateSettings) -> Checked:
    """F006 and F007: files whose top level is no object, and large ones."""
    reading = document.reading
    is_list = isinstance(reading.top, list)
    if is_list or not (isinstance(reading.top, dict) or reading.stopped):
        what = "a list" if is_list else shortened(reading.top)
        expected = "an object with images, annotations and categories"
        if is_list:
            expected += ", results with image_id and score, or rows of a table (--columns "
            expected += "image=NAME,x=NAME,…)"
        what = f"top level is {what}; expected {expected}"
        yield Defect(what, expected=expected, code="F006")
    if (megabytes := reading.size / 1e6) > settings.large_file_mb:
        what = f"the file has {megabytes:,.0f} MB, more than {settings.large_file_mb:,.0f}; "
        what += "most loaders need several times as much memory"
        yield Defect(what, found=reading.size, code="F007")


RULES = (
    rule(
        "F001 error: file cannot be read as JSON",
        breaks="Most tools cannot load the file, as JSON readers stop at this byte.",
        explanation="""The text is not JSON from this byte on: it was cut off, or has a comma before
            a bracket; or lists are nested too deep there. The records before it are checked. Export
            the file again, or correct it.""",
        bad='{"images": [], "categories": [], "annotations": [{"id": 1, "bbox": [1, 2',
        good=_PLAIN,
    )(_text),
    rule(
        "F002 error, unsafe fix: text follows the document",
        breaks="Python's decoder stops with 'Extra data'.",
        explanation="""The file continues after the end of the document, as when a shorter file is
            written over a longer one. The unsafe fix removes that text; look at it first.""",
        bad=_PLAIN + '{"annotations": []}',
        good=_PLAIN + "\n\n",
    )(_text),
    rule(
        "F003 warning, safe fix: encoding is not plain UTF-8",
        breaks="""Python's decoder, and so pycocotools, refuses a byte order mark and other
            encodings.""",
        explanation="""JSON is UTF-8 without a byte order mark. The fix writes the same text as
            UTF-8, but not from another 8-bit encoding, since a file does not show which it has.""",
        bad="\ufeff" + _PLAIN,
        good=_PLAIN[:-1] + ', "info": {"description": "Gänse"}}',
    )(_text),
    rule(
        "F005 error: key appears twice",
        breaks="Readers keep the last value and drop the others silently.",
        explanation="""An object has the same key more than once, often because files were joined by
            hand. Decide which value is right and delete the others.""",
        bad='{"images": [], "categories": [], "annotations": [{"id": 1}], "annotations": []}',
        good={"annotations": [{"id": 1, "attributes": {"id": 1}}]},
    )(_text),
    rule(
        "F006 error: top level is neither an object nor a list of results",
        breaks="pycocotools stops: 'annotation file format … not supported'.",
        explanation="""A COCO file is an object with the lists images, annotations and categories,
            or a list of results of a detector (image_id, category_id, bbox, score).""",
        bad='[{"image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4]}]',
        good=_PLAIN,
    )(_whole),
    rule(
        "F007 info: file is large",
        breaks="Loaders that hold the file as Python objects can run out of memory.",
        explanation="""The file is larger than `large_file_mb`. Split it, write coordinates with
            fewer digits, or store masks as compressed run lengths.""",
        bad={"info": {"description": "what is large, the settings say"}},
        good=_PLAIN,
    )(_whole),
)
