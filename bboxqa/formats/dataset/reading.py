"""What is read into a data set, and how."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

from bboxqa.core.arrays import Progress
from bboxqa.formats.records import ANNOTATOR_KEYS, LOWEST_SCORE, ReadSettings
from bboxqa.model.annotations import NO_CHOICES, Choices
from bboxqa.model.settings import AgreeSettings

FILE = "file"
"""The value of the session key that makes each file a session."""
ByFiles = Literal["all", "any", "typed", "none"]
VIDEO_KEY = "video_id"
"""The key of image records that names the video."""
TRACK_KEYS = ("track_id", "instance_id", "attributes.track_id", "attributes.track")
"""The keys that may name the track of an annotation, in order of preference."""


class Reading(AgreeSettings, frozen=True, kw_only=True):
    """What is read into a data set, and how files are joined; see `bboxqa.read`."""

    outlines: bool = True
    keypoints: bool = False
    rotated: bool = False
    scores: bool = False
    min_annotators: int = 2
    by_files: ByFiles = "any"
    """Where one annotator is enough: which files may be people if they share images."""
    within: Path | None = None
    """The one folder of all files."""
    refuse_equal: bool = False
    """Whether images of equal names in files that name nobody are refused."""
    predictions: Path | None = None
    """A file of results, whose annotator is called like the file."""
    score: float = LOWEST_SCORE
    """The minimum score of results that count as annotations."""
    truth: Path | None = None
    """The file whose images and categories lists of results take if no other file has them."""
    pseudonyms: Path | None = None
    digest: bool = True
    records: bool = False
    on_records: Callable[[Sequence[Mapping[str, Any]]], None] | None = None
    progress: Progress | None = None
    choices: Choices = NO_CHOICES
    check: Callable[..., None] | None = None
    """Called with the files and the attribution. It raises an error for files that must not be
    measured."""
    on_joined: Callable[..., None] | None = None
    """Called with the files, the attribution, the rows of their annotations, and a note on work of
    one annotator in several records of an image."""

    def settings(self) -> ReadSettings:
        """Return what is read of each file."""
        keys = [*ANNOTATOR_KEYS] if self.annotator_key is None else [self.annotator_key]
        keys += filter(None, (self.session_key, self.time_key))
        keys += (*TRACK_KEYS, VIDEO_KEY) if self.tracks else ()
        own, named = self.__struct_fields__, ReadSettings.__struct_fields__
        shared: dict[str, Any] = {name: getattr(self, name) for name in named if name in own}
        shared["progress"] = self.progress and partial(self.progress, "reading")
        return ReadSettings(keys=tuple(dict.fromkeys(keys)), **shared)


EVERYTHING = Reading()
