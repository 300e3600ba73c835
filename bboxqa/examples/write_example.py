"""All worked examples, as walk-throughs and as files."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from bboxqa.core.errors import OutputError
from bboxqa.core.files import write_atomically
from bboxqa.examples import SCENES, example_file, example_picture
from bboxqa.examples.lessons import walk_iou, walk_krippendorff, walk_matching
from bboxqa.examples.walks import Walk, walk_image

EXAMPLES: dict[str, Callable[[], Walk]] = {
    **{scene: partial(walk_image, scene) for scene in SCENES},
    "matching": walk_matching,
    "iou": walk_iou,
    "krippendorff": walk_krippendorff,
}
"""Worked examples by name; calling one computes all values and compares them."""

_PICTURES = {
    **{scene: (scene, f"{scene}_annotators") for scene in SCENES},
    "matching": ("matching_hungarian", "matching_recursive"),
    "iou": ("iou",),
    "krippendorff": (),
}


def write_example(name: str, folder: Path, *, force: bool = False) -> list[Path]:
    """Write an example: its annotations, if any, its pictures, and its walk-through.

    Return the files that were written, without those that exist already. Raises OutputError if a
    file of that name has another content, unless `force`.
    """
    if name not in EXAMPLES:
        raise ValueError(f"no example is called {name!r}; choose one of {', '.join(EXAMPLES)}")
    contents = _contents(name)
    files = {file: folder / file for file in contents}
    new = [
        file
        for file, path in files.items()
        if not (path.is_file() and path.read_bytes() == contents[file])
    ]
    for file in new:
        if files[file].exists() and not force:
            raise OutputError(
                f"{files[file]}: is another file; name another folder with --out, or add --force"
            )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be made: {error.strerror or error}") from None
    for file in new:
        write_atomically(files[file], contents[file])
    return [files[file] for file in new]


def _contents(name: str) -> dict[str, bytes]:
    """Return the files of an example by name."""
    contents: dict[str, bytes] = {}
    if name in SCENES:
        contents[f"{name}.json"] = example_file(name).read_bytes()
    for picture in _PICTURES[name]:
        contents[f"{picture}.png"] = example_picture(picture).read_bytes()
    contents[f"{name}.txt"] = EXAMPLES[name]().text().encode()
    return contents
