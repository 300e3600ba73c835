"""Reporting names of images that formats with a file for each image cannot hold."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator

from bboxqa.core.text import one_line
from bboxqa.formats.translation.images.image_places import place_of
from bboxqa.formats.translation.label_folders import INSIDE
from bboxqa.formats.writing.content import Content, image_name
from bboxqa.formats.writing.losses import IMAGE_NAMES, Loss, Noun
from bboxqa.formats.writing.safe_names import safe_paths, without_ending

ReadName = Callable[[str, str], str]
"""Returns the name of an image as it is read back, from its name and the place of its file."""


def from_place(name: str, place: str) -> str:
    """Return the name of an image that only the path of its label file gives, with its ending.

    Examples
    --------
    >>> from_place("images/a.jpg", "a")
    'a.jpg'
    """
    return place + name[len(without_ending(name)) :]


def image_name_losses(
    content: Content, title: str, folder: str, read: ReadName = from_place
) -> Iterator[Loss]:
    """Yield the loss of image names that are read back differently.

    Parameters
    ----------
    content : Content
    title, folder : str
        The name of the format in messages, and the folder with the files of an annotator.
    read : callable
        Returns the name as it is read back.
    """
    names = [image_name(each) for each in content.images]
    files = safe_paths(names)
    paths = {name: "/".join((*[folder] * bool(folder), *files[name])) for name in names}
    places = {name: place_of(f"{path}.txt") for name, path in paths.items()}
    known = Counter(places.values())
    lost = {}
    for name, place in places.items():
        found = read(name, place if known[place] == 1 else paths[name])
        if found != name:
            lost[name] = found
    twins = [name for name in lost if safe_paths([name])[name] != files[name]]
    of_twins = (
        f"{title} names files after images without the ending, and another image has this one"
    )
    others = [name for name in lost if name not in {*twins}]
    of_others = f"{title} names files after images, and has no such paths"
    for some, why in ((others, of_others), (twins, of_twins)):
        if some:
            words = f"{why}; read as {one_line(lost[some[0]])!r}"
            example = repr(one_line(some[0]))
            yield Loss(len(some), IMAGE_NAMES, words, example, "changed")


def folders_as_people(content: Content, title: str) -> Iterator[Loss]:
    """Yield the images whose folders readers may take for those of annotators.

    These hold label files of the same names, as do the folders of a name such as v1/1.jpg.
    """
    paths = safe_paths(image_name(each) for each in content.images)
    folders: dict[str, set[str]] = defaultdict(set)
    for parts in paths.values():
        if len(parts) > 1 and not INSIDE.fullmatch(parts[0]):
            folders[parts[-1]].add(parts[0])
    found = [
        name
        for name, parts in paths.items()
        if parts[0] in folders[parts[-1]] and len(folders[parts[-1]]) > 1
    ]
    if found:
        why = (
            f"{title} has the same folders for several annotators: put the pictures beside the "
            "labels in the folder images before they are read"
        )
        noun = Noun(
            "image of the same name in several folders",
            "images of the same names in several folders",
        )
        yield Loss(len(found), noun, why, repr(one_line(found[0])), "ambiguous")
