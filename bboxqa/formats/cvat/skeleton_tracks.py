"""Skeletons in CVAT videos, whose joints are tracks nested in the track of the skeleton.

```xml
<track id="3" label="person">
  <skeleton frame="0" outside="0" …></skeleton>
  <track id="0" label="nose"><points frame="0" outside="0" points="10.00,20.00"></points></track>
</track>
```
"""

from bboxqa.formats.annotations.records import whole_number
from bboxqa.formats.xml_elements import Element


class SkeletonTrack:
    """Collects the skeletons of a track and the joints that follow them."""

    def __init__(self) -> None:
        self._skeletons: list[Element] = []

    def takes(self, element: Element) -> bool:
        """Take an element of a track if it is a skeleton without joints, or one of its joints.

        Returns whether it was taken.
        """
        if element.name == "skeleton" and element.find("points") is None:
            self._skeletons.append(element)
            return True
        if element.name != "track":
            return False
        joints = {whole_number(each.values.get("frame")): each for each in element.inside}
        frames = sorted(frame for frame in joints if frame is not None)
        if frames:
            for skeleton in self._skeletons:
                frame = whole_number(skeleton.values.get("frame"))
                # Joints that CVAT does not write in a frame stay as in the previous frame.
                before = [each for each in frames if frame is not None and each <= frame]
                values = {**joints[before[-1] if before else frames[0]].values}
                values["label"] = element.values.get("label", "")
                if not before:
                    values["outside"] = "1"
                skeleton.inside.append(Element("points", element.line, values, skeleton.name))
        return True

    def whole(self) -> list[Element]:
        """Return the skeletons with their joints at the end of the track, and start anew."""
        found, self._skeletons = self._skeletons, []
        return found
