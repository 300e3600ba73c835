"""What is wrong with the content of a small file that was cut off or damaged."""

import json
from contextlib import suppress
from pathlib import PurePosixPath

from bboxqa.formats.heads import absence_of, as_utf8, is_without_coco
from bboxqa.formats.xml_elements import RefusedXmlError, XmlElements, XmlError


def damage_in(name: str, content: bytes) -> str:
    """Return what is wrong with the content of a file, by its suffix; "" if nothing is.

    Examples
    --------
    >>> damage_in("a.xml", b"<a></a>"), damage_in("a.xml", b"<a>").partition(":")[0]
    ('', 'line 1')
    """
    if absence := absence_of(content):
        return absence
    suffix = PurePosixPath(name).suffix.lower()
    if suffix == ".json" and not is_without_coco(content):
        with suppress(RecursionError):
            try:
                found = json.loads(as_utf8(content))
            except ValueError as error:
                return f"is not JSON: {error}"
            return "" if isinstance(found, dict | list) else "is JSON without an object"
    if suffix == ".xml":
        return _xml_damage(content)
    if suffix in (".csv", ".tsv") and b"\n" not in content and b"\r" not in content:
        return "ends within its first line"
    return ""


def _xml_damage(content: bytes) -> str:
    try:
        XmlElements().parsed(content, last=True)
    except RefusedXmlError:
        return ""
    except XmlError as error:
        return f"line {error.line}: {error}"
    return ""
