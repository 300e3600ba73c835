"""Pages of the worst images, to which the page of a result links."""

from collections.abc import Iterator

from bboxqa.report.pages.html_document import render
from bboxqa.report.pages.pictures import ShownImages

INDEX = "index.html"
"""The page that the others belong to."""

# Images per page, so that browsers can open a page with many annotations.
_OF_A_PAGE = 50


def image_address(number: int) -> str:
    """Return the URL at which the image of a number is shown.

    Examples
    --------
    >>> image_address(50), image_address(51)
    ('images-1.html#image-50', 'images-2.html#image-51')
    """
    return f"{_name((number - 1) // _OF_A_PAGE)}#image-{number}"


def image_pages(images: ShownImages) -> Iterator[tuple[str, str]]:
    """Yield the pages of images, each with its name."""
    shown = images.pictures
    starts = range(0, len(shown), _OF_A_PAGE)
    others = [
        (_name(place), f"{start + 1:,} to {min(start + _OF_A_PAGE, len(shown)):,}")
        for place, start in enumerate(starts)
    ]
    for (name, numbers), start in zip(others, starts, strict=True):
        yield (
            name,
            render(
                "images",
                linked=True,
                title=f"Images {numbers}",
                name=name,
                index=INDEX,
                others=others,
                images=images,
                pictures=shown[start : start + _OF_A_PAGE],
            ),
        )


def _name(place: int) -> str:
    return f"images-{place + 1}.html"
