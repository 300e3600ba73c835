"""Lists of images such as train.txt."""

from collections.abc import Collection, Iterator
from pathlib import PurePosixPath, PureWindowsPath

from bboxqa.formats.translation.images.image_places import place_of
from bboxqa.formats.translation.member import Member
from bboxqa.formats.translation.picture_sizes import is_picture


def listed_images(member: Member, known: Collection[str]) -> dict[str, str]:
    """Return the image names in a list, by place.

    Parameters
    ----------
    member : Member
    known : collection of str
        The places of labels and pictures. They tell whether paths begin at the folder of the list,
        as they usually do, or at the folder around all files.
    """
    lines = member.text().decode("utf-8", "replace").splitlines()
    paths = [each for line in lines if is_picture(each := line.strip().replace("\\", "/"))]
    folder = member.inner.rpartition("/")[0]
    at_top = dict(_by_place(paths, ""))
    in_folder = dict(_by_place(paths, folder))
    is_at_top = len(at_top.keys() & known) > len(in_folder.keys() & known)
    return at_top if is_at_top else in_folder


def _by_place(paths: list[str], folder: str) -> Iterator[tuple[str, str]]:
    """Yield the place and the name of each image, for paths that begin at a folder.

    Examples
    --------
    >>> list(_by_place(["./images/a.jpg", "/home/me/train/images/b.jpg"], "val"))
    [('val/a', 'val/a.jpg'), ('train/b', 'train/b.jpg')]
    """
    for path in paths:
        is_of_windows = PureWindowsPath(path).drive != ""
        place = place_of(path if is_of_windows else str(PurePosixPath(folder, path)))
        yield place, place + PurePosixPath(path).suffix
