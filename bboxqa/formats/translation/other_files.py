"""Files of other formats in a source, which are left out."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from bboxqa.core.text import count, one_line, such_as
from bboxqa.formats.damage import damage_in
from bboxqa.formats.document import Where
from bboxqa.formats.heads import HEAD, WHAT, json_kind_of, kind_of
from bboxqa.formats.label_folders import known_places, place_of
from bboxqa.formats.member import Member
from bboxqa.formats.translation.collector import Collector

NO_LABELS = "; if the file holds no labels, move it elsewhere"
"""The end of the first problem with a file that does not begin with a label."""
_NOTHING = re.compile(rb"\s*(?:\[\s*\]|\{\s*\})\s*\Z")


def add_others(into: Collector, members: Sequence[Member], expected: str) -> Iterator[str]:
    """Report each file that is left out as a defect; yield a note on all of them.

    `expected` names the format of the source, such as "JSON of LabelMe". JSON or XML that is
    cut off may be of that format, and is an error.
    """
    left_out = []
    for member in members:
        head = member.head()
        # A larger file has a known format by its beginning.
        if head and len(head) < HEAD and (problem := damage_in(member.name, head)):
            into.defect("T001", f"{member.name}: {problem}", Where(member.name, ""))
            continue
        kind = kind_of(head) or json_kind_of(head)
        found = "JSON without content" if _NOTHING.match(head) else WHAT[kind][0] if kind else ""
        problem = f"{member.name}: is {found or 'something else'}; expected {expected}"
        into.defect("T012", f"{problem}; it is left out", Where(member.name, 1))
        left_out.append(one_line(member.name) + (f", {found}" if found else ""))
    if left_out:
        example = such_as(len(left_out), left_out[0])
        yield f"{count(len(left_out), 'file')} left out: not {expected}{example}"


def json_or_xml_of_tools(
    members: Iterable[Member],
    labels: Mapping[str, Member],
    pictures: Iterable[str],
    suffixes: tuple[str, ...] = (".json", ".xml"),
) -> list[Member]:
    """Return the files of Pascal VOC or LabelMe beside labels, or of images without other labels.

    `labels` are the files that are read, by the places of their images; `pictures` are the places
    of pictures. Of `members`, only those with one of the `suffixes` are looked at.
    """
    files = [each for each in members if each.name.lower().endswith(suffixes)]
    if not files:
        return []
    folders = {each.folder for each in labels.values()}
    images = known_places((place_of(each.inner) for each in files), {*labels, *pictures})
    return [
        each
        for each, image in zip(files, images, strict=True)
        if each.folder in folders or (each.folder and image not in labels)
        if (kind_of(each.head()) or json_kind_of(each.head())) in ("VOC", "LabelMe")
    ]
