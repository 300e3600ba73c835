"""Finding projects in a store, through fsspec."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from bboxqa.batch.projects.discovery import (
    SETTINGS_FILE,
    Discovered,
    discover,
    sort_files,
)
from bboxqa.batch.projects.store import (
    AT_A_TIME,
    Content,
    Stored,
    contents_of,
    error_text,
    is_url,
    system_of,
)
from bboxqa.core.errors import DatasetError
from bboxqa.formats.coco.coco_ends import LOOKED_AT, is_coco
from bboxqa.formats.inputs import RESULT_FILES, WRITTEN_FILES

_IMAGES = "images"
_HERE = Path()


def find_projects(
    root: str | Path, pattern: str | None, skip: Path | None, *, follow_links: bool = False
) -> Discovered:
    """Find every project below a folder or a URL; see `discover`."""
    if isinstance(root, str) and is_url(root):
        return _discover_stored(root.rstrip("/"), pattern)
    return discover(Path(root), pattern, skip, follow_links=follow_links)


def _discover_stored(url: str, pattern: str | None) -> Discovered:
    system, base = system_of(url)
    try:
        system.invalidate_cache()
        listed = system.find(base, detail=True)
    except Exception as error:  # noqa: BLE001 - each store has errors of its own
        problem = f"{url}: cannot be listed: {error_text(error)}"
        raise DatasetError([problem], _advice_for(url)) from None
    contents, unreadable = contents_of(listed, base)
    if not contents:
        raise DatasetError([f"{url}: no such folder, or it is empty"], _advice_for(url))
    files = [
        content
        for content in contents.values()
        if content.name.lower().endswith(".json") and not _is_result(content.name, contents)
        if pattern is None or PurePosixPath(content.name).match(pattern)
    ]
    kinds = zip(files, _are_coco(system, base, files), strict=True)
    return sort_files(
        ((content.name, content, coco) for content, coco in kinds),
        unreadable,
        partial(_project, url, contents),
    )


def _advice_for(url: str) -> str:
    """Return what to do where a web page was named, which seldom lists files."""
    is_web = url.lower().startswith(("http:", "https:"))
    return "Web pages seldom list files: download the projects first." if is_web else ""


def _is_result(name: str, contents: dict[str, Content]) -> bool:
    """Return whether a file was written by `agree`."""
    path = PurePosixPath(name)
    siblings = {str(path.with_name(other)) for other in RESULT_FILES}
    return path.name in WRITTEN_FILES and siblings <= contents.keys()


def _are_coco(system: Any, base: str, files: Sequence[Content]) -> list[bool | str]:
    """Return for each file whether its first or last bytes are COCO json, or why unreadable."""
    result: list[bool | str] = [False if content.size else "is empty" for content in files]
    for last in (False, True):
        least = LOOKED_AT if last else 0
        asked = [i for i, coco in enumerate(result) if coco is False and files[i].size > least]
        for begin in range(0, len(asked), AT_A_TIME):
            places = asked[begin : begin + AT_A_TIME]
            sizes = [files[place].size for place in places]
            ends = system.cat_ranges(
                [f"{base}/{files[place].name}" for place in places],
                [max(0, size - LOOKED_AT) if last else 0 for size in sizes],
                [size if last else min(size, LOOKED_AT) for size in sizes],
                on_error="return",
            )
            for place, end in zip(places, ends, strict=True):
                failed = isinstance(end, Exception)
                name = files[place].name
                result[place] = error_text(end) if failed else is_coco(name, bytes(end))
    return result


def _project(
    url: str, contents: dict[str, Content], folder: Path, files: Sequence[Content]
) -> Stored:
    below = "" if folder == _HERE else f"{folder.as_posix()}/"
    settings = contents.get(f"{below}{SETTINGS_FILE}")
    pictures = tuple(
        content for name, content in contents.items() if name.startswith(f"{below}{_IMAGES}/")
    )
    return Stored(
        name=folder.as_posix(),
        folder=folder,
        files=tuple(sorted(Path(content.name) for content in files)),
        images=folder / _IMAGES if pictures else None,
        settings=Path(settings.name) if settings else None,
        size=sum(content.size for content in files),
        url=url,
        contents=(*files, *((settings,) if settings else ())),
        pictures=pictures,
    )
