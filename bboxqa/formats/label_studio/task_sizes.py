"""Image sizes of tasks."""

from bboxqa.formats.label_studio.regions import size_in
from bboxqa.formats.label_studio.task_images import NO_IMAGE, ImageKey, image_of
from bboxqa.formats.label_studio.tasks import Task
from bboxqa.formats.translation.untrusted import size_of


def said_size(task: Task) -> tuple[int, int] | None:
    """Return the size in the data of a task, which is used if no region has one."""
    if len(task.images) > 1:
        return None
    return size_of(task.data.get("width"), task.data.get("height"))


def sizes_of(task: Task, images: dict[str, list[str]]) -> dict[ImageKey, tuple[int, int]]:
    """Return the first size that results give for each image."""
    sizes: dict[ImageKey, tuple[int, int]] = {}
    pages = sum(map(len, images.values()))
    for work in task.works:
        for plain in work.plain[:1]:
            key = ImageKey(next(iter(images.values()))[0]) if images else NO_IMAGE
            return {key: (plain.original_width, plain.original_height)}
        for _, result in work.results:
            size = size_in(result)
            if size is not None:
                sizes.setdefault(image_of(images, result) or NO_IMAGE, size)
                if pages <= 1:
                    return sizes
    return sizes
