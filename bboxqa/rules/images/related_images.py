"""M: images related to images of another file: augmented copies, frames of the same video."""

from collections.abc import Hashable, Iterator, Sequence

import numpy as np

from bboxqa.core.json_values import pointer_to
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import record_defect, summary_hits
from bboxqa.rules.base.rule import Defect, Hits, Rule
from bboxqa.rules.facts.document import Document
from bboxqa.rules.images.earlier_images import EarlierImage, names_of, same_files
from bboxqa.rules.images.image_origins import neighbours, origins, relatives
from bboxqa.rules.images.shared_keys import earlier_candidates
from bboxqa.rules.images.video_cuts import Cut, cut_hits, cut_of

_MANY = 10


def _related(
    documents: Sequence[Document], _settings: ValidateSettings
) -> Iterator[tuple[Document, Hits]]:
    """M010: images related to an image of an earlier file."""
    candidates = earlier_candidates(documents, _keys)
    for document, (places, _) in zip(documents, candidates, strict=True):
        before = [documents[place] for place in np.unique(places)]
        for earlier in before:
            shared = earlier.once(_different_names)
            names = document.once(names_of)
            same = {each.row for each in same_files(earlier, document)}
            found = [
                relative for relative in relatives(earlier, document)
                # M008 reports images that are in both files.
                if names[relative.row] not in shared and relative.row not in same
            ]  # fmt: skip
            for hits in _hits(earlier, document, found):
                yield document, hits
        for hits in cut_hits(document, _cuts(before, document)):
            yield document, hits


def _keys(document: Document) -> Iterator[tuple[int, Hashable]]:
    """Yield the originals and the videos of a file, each with its first image."""
    found = document.once(origins)
    yield from ((rows[0], name) for name, rows in found.originals.items())
    yield from ((frames[0][1], video) for video, frames in found.videos.items())


def _different_names(document: Document) -> frozenset[str]:
    return frozenset(document.once(names_of))


def _cuts(earlier: Sequence[Document], later: Document) -> list[Cut]:
    """Return the videos that are cut between a file and an earlier file, each once."""
    found: dict[tuple[str, str], Cut] = {}
    for document in earlier:
        before = document.once(origins).videos
        for video, frames in later.once(origins).videos.items():
            # Frames of videos that are not cut into parts are reported one by one.
            if video in found or video not in before or neighbours(before[video], frames):
                continue
            name, files = "/".join(filter(None, video)), (document.name, later.name)
            if cut := cut_of(name, before[video], frames, files):
                found[video] = cut
    return list(found.values())


def _hits(earlier: Document, later: Document, found: Sequence[EarlierImage]) -> Iterator[Hits]:
    names = later.once(names_of)
    expected = "all copies of an image, and all frames of a video, in one split"

    def describe(place: int) -> Defect:
        row = found[place].row
        message = f"{found[place].in_words(earlier, later)}; expected {expected}"
        return record_defect(later, ("images", row), message, found=names[row], expected=expected)

    rows = [relative.row for relative in found]
    if 0 < len(rows) <= _MANY:
        yield Hits(np.array(rows, np.int64), describe, name="images")
    elif rows:
        yield from summary_hits(
            f"{len(rows):,} of {len(later.images):,} images are related to images of "
            f"{earlier.name}, such as: {found[0].in_words(earlier, later)}; expected {expected}",
            "images",
            rows,
            pointer=pointer_to("images", rows[0]),
            found=names[rows[0]],
            expected=expected,
        )


RULES = (
    Rule(
        code="M010",
        title="copy of an image, or frame of a video, in several files",
        severity=Severity.WARNING,
        scope="files",
        breaks="""If the files are splits, the model is tested on scenes that it was trained on, and
            its scores are too good.""",
        explanation="""The name of an image shows that it is related to an image of an earlier file.
            It has the same name before the hash that Roboflow adds, like augmented copies of one
            image; or it is the next frame of the same video ("frame", "clip", "mp4" and the like in
            the name, and a number at its end), like at least half of the frames. Split by original
            image and by video. Videos that are cut into parts, each in one file, have few frames
            next to a frame of another file: one info finding lists them all, unless frames are left
            out at the cuts. Names that are the same by accident, such as download.jpg, are reported
            as well; ignore M010 then. In the example, the earlier file has
            a_jpg.rf.0123456789abcdef.jpg.""",
        bad={"images": [{"file_name": "a_jpg.rf.fedcba9876543210.jpg"}]},
        good={"images": [{"file_name": "b_jpg.rf.fedcba9876543210.jpg"}]},
        check=_related,
    ),
)
