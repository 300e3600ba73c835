"""Pictures as WebP, for pages."""

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import replace
from io import BytesIO

from bboxqa.pipelines.drawing.pictures import Picture
from bboxqa.report.pages.pictures import Pixels

_QUALITY = 80
# Longer side and WebP quality for images that are too large for a page, from the best down.
_SMALLER = ((640, 60), (480, 60), (320, 55), (200, 50), (128, 40))
_INLINE = "data:image/webp;base64,"


def thumbnail(picture: Picture) -> bytes:
    """Return a picture as WebP.

    Examples
    --------
    >>> import numpy as np
    >>> thumbnail(Picture(np.zeros((2, 3, 3), np.uint8), (3, 2)))[8:12]
    b'WEBP'
    """
    from PIL import Image

    content = BytesIO()
    Image.fromarray(picture.pixels).save(content, "WEBP", quality=_QUALITY, method=4)
    return content.getvalue()


def inline(content: bytes) -> str:
    """Return a WebP as a data URL."""
    return _INLINE + b64encode(content).decode()


def fitted(pixels: Mapping[str, Pixels], room: int) -> dict[str, Pixels]:
    """Return pixels whose data URLs have at most `room` characters in total.

    The largest images are reduced first. If even the smallest versions do not fit, they are
    returned all the same.
    """
    found = dict(pixels)
    for side, quality in _SMALLER:
        most = _share([len(each.address) for each in found.values()], room)
        large = [name for name, each in found.items() if len(each.address) > most]
        for name in large:
            address = _smaller(pixels[name].address, side, quality)
            found[name] = replace(pixels[name], address=address, is_reduced=True)
        if not large:
            break
    return found


def _share(sizes: Sequence[int], room: int) -> int:
    """Return the size limit for each that makes all fit in `room` together.

    Examples
    --------
    >>> _share([10, 50, 80], 100), _share([10, 20], 100)
    (45, 90)
    """
    share = room
    for n_left, size in zip(range(len(sizes), 0, -1), sorted(sizes), strict=True):
        share = room // n_left
        if size > share:
            break
        room -= size
    return share


def _smaller(address: str, side: int, quality: int) -> str:
    """Return the data URL of the same picture with fewer pixels or lower quality."""
    from PIL import Image

    content = BytesIO()
    with Image.open(BytesIO(b64decode(address.removeprefix(_INLINE)))) as image:
        image.thumbnail((side, side), Image.Resampling.LANCZOS)
        image.save(content, "WEBP", quality=quality, method=4)
    return inline(content.getvalue())
