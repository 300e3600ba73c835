"""Pictures as WebP, for pages."""

from io import BytesIO

from bboxqa.pipelines.pictures import Picture

_QUALITY = 80


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
