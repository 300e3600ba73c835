"""Skeletons in CVAT videos, whose joints are tracks nested in the track of the skeleton.

```xml
<track id="3" label="person">
  <skeleton frame="0" outside="0" …></skeleton>
  <track id="0" label="nose"><points frame="0" outside="0" points="10.00,20.00"></points></track>
</track>
```
"""

from bisect import bisect_right

from bboxqa.formats.annotations.records import whole_number
from bboxqa.formats.translation.untrusted import ValueProblemError
from bboxqa.formats.xml_elements import Element

_MOST_POINTS, _POINTS_EACH = 500_000, 20
"""Points that skeletons may have: some however few are written, and some for each."""


class SkeletonTrack:
    """Collects the skeletons of a track and the joints that follow them."""

    def __init__(self) -> None:
        self._skeletons: list[Element] = []
        self._n_points = self._n_written = 0

    def takes(self, element: Element) -> bool:
        """Take an element of a track if it is a skeleton without joints, or one of its joints.

        Returns whether it was taken. Raises ValueProblemError if the skeletons would get very many
        more points than were written.
        """
        if element.name == "skeleton" and element.find("points") is None:
            self._skeletons.append(element)
            return True
        if element.name != "track":
            return False
        joints = {whole_number(each.values.get("frame")): each for each in element.inside}
        frames = sorted(frame for frame in joints if frame is not None)
        if frames:
            self._count(len(frames))
            for skeleton in self._skeletons:
                frame = whole_number(skeleton.values.get("frame"))
                # Joints that CVAT does not write in a frame stay as in the previous frame.
                n_before = 0 if frame is None else bisect_right(frames, frame)
                values = {**joints[frames[max(n_before - 1, 0)]].values}
                values["label"] = element.values.get("label", "")
                if not n_before:
                    values["outside"] = "1"
                skeleton.inside.append(Element("points", element.line, values, skeleton.name))
        return True

    def _count(self, n_written: int) -> None:
        self._n_written += n_written
        self._n_points += len(self._skeletons)
        most = max(_MOST_POINTS, _POINTS_EACH * self._n_written)
        if self._n_points > most:
            raise ValueProblemError(
                f"would bring the skeletons to {self._n_points:,} points, of which "
                f"{self._n_written:,} are written; expected at most {most:,}"
            )

    def whole(self) -> list[Element]:
        """Return the skeletons with their joints at the end of the track, and start anew."""
        found, self._skeletons = self._skeletons, []
        return found
