"""Keys of CVAT annotations other than the geometry."""

from collections.abc import Mapping

from bboxqa.formats.translation.translated import Record

# Attributes of elements that are kept if they are not 0.
_MORE = ("occluded", "group_id", "z_order")
_NOTHING: Mapping[str, str] = {}


def said_more(
    values: Mapping[str, str],
    of_shape: Mapping[str, object] = _NOTHING,
    inside: Mapping[str, str] = _NOTHING,
    *,
    frame: int = -1,
) -> Record:
    """Return the keys of an annotation other than its geometry.

    Parameters
    ----------
    values : mapping of str to str
        The attributes of the XML element.
    of_shape : mapping
        Values of the shape, such as its rotation.
    inside : mapping of str to str
        The annotator's answers to the attributes of the label.
    frame : int
        The frame of a track; -1 for a shape of an image.
    """
    attributes = {**of_shape}
    for key in _MORE:
        if values.get(key, "0") != "0":
            attributes[key] = values[key]
    if frame >= 0:
        attributes["track_id"] = values.get("id", "")
        attributes["keyframe"] = values.get("keyframe") == "1"
    attributes |= inside
    found: Record = {"attributes": attributes} if attributes else {}
    if values.get("source", "manual") != "manual":
        found["source"] = values["source"]
    return found
