"""Skeletons of videos of CVAT, whose joints have tracks inside of that of the skeleton.

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
    """Gathers the skeletons of a track, and the joints that follow them."""

    def __init__(self) -> None:
        self._skeletons: list[Element] = []

    def takes(self, element: Element) -> bool:
        """Take an element of a track if it is a skeleton without joints, or joints of it.

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
                # What CVAT does not write in a frame stays as in the frame before.
                before = [each for each in frames if frame is not None and each <= frame]
                values = {**joints[before[-1] if before else frames[0]].values}
                values["label"] = element.values.get("label", "")
                if not before:
                    values["outside"] = "1"
                skeleton.inside.append(Element("points", element.line, values, skeleton.name))
        return True

    def whole(self) -> list[Element]:
        """Return the skeletons with their joints, once the track has ended, and forget them."""
        found, self._skeletons = self._skeletons, []
        return found
