"""Safe names of files and folders, and names as they are read back from these."""

import re
from collections.abc import Iterable, Sequence
from hashlib import blake2b

from bboxqa.core.file_names import normalised_name
from bboxqa.formats.label_folders import INSIDE

# What some systems refuse in file names, or drop at the end; and the dot of hidden files.
_REFUSED = re.compile(r'[\x00-\x1f\x7f<>:"|?*/\\\ud800-\udfff]|^\.|[. ]\Z')
# File names have at most 255 bytes, and a suffix is added.
_LONGEST = 200


def _escape(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "surrogatepass"))


def _safe_part(name: str) -> str:
    text = _REFUSED.sub(_escape, name)
    if len(text.encode()) > _LONGEST:
        digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
        text = text.encode()[: _LONGEST - 13].decode("utf-8", "ignore") + "-" + digest
    return text or "%00"


def safe_name(name: str) -> str:
    """Return the name of an image with a safe path, which other images may have as well."""
    whole = without_ending(name)
    return "/".join(map(_safe_part, whole.split("/"))) + name[len(whole) :]


def safe_paths(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return a unique path inside the output for each name, without suffix."""
    found: dict[str, tuple[str, ...]] = {}
    taken: dict[str, int] = {}
    for name in names:
        *folders, last = map(_safe_part, without_ending(name).split("/"))
        parts: tuple[str, ...] = (*folders, last)
        first = _normalised(parts)
        # Lower numbers are taken, so that very many names alike take no more time than others.
        number = taken.get(first, 1)
        while _normalised(parts) in taken:
            number += 1
            parts = (*folders, f"{last} ({number})")
        taken[first] = number
        taken.setdefault(_normalised(parts), 1)
        found[name] = parts
    return found


def _normalised(parts: Sequence[str]) -> str:
    return normalised_name("/".join(parts))


_ENDING = re.compile(r"(?<=[^/])\.(?:avif|bmp|gif|jfif|jp2|jpe?g|png|tiff?|webp)\Z", re.IGNORECASE)


def without_ending(name: str) -> str:
    """Return the name of an image without its suffix."""
    return _ENDING.sub("", name)


def from_place(name: str, place: str) -> str:
    """Return the name of an image that only the path of its label file gives, with its ending."""
    return place + name[len(without_ending(name)) :]


def people_paths(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return a path of one part for each annotator; no parts if nobody is named."""
    # A name that is a folder of the format, such as labels, would be taken for it.
    plain = filter(None, names)
    parts = {e: _escaped(e) if re.fullmatch(INSIDE, e) else _safe_part(e) for e in plain}
    unique = safe_paths(parts.values())
    return {"": ()} | {name: (unique[part][0],) for name, part in parts.items()}


def _escaped(text: str) -> str:
    return f"%{ord(text[0]):02X}{text[1:]}"
