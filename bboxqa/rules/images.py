"""M: images on disk."""

from bboxqa.findings import Severity
from bboxqa.rules.base import Rule
from bboxqa.rules.image_files import missing, other_size, turned, undecodable, unnamed
from bboxqa.rules.image_names import bound_to_one_place, nearly_same
from bboxqa.rules.image_splits import shared_images

__all__ = ["RULES"]

RULES = (
    Rule(
        code="M001",
        title="image file missing",
        severity=Severity.ERROR,
        scope="images",
        breaks=(
            "Pillow stops training with a FileNotFoundError; OpenCV returns None in place of the "
            "image."
        ),
        explanation=(
            "There is no file of that name below the folder of the images, or the name, or a "
            "link, leads out of that folder; such a file is never opened. Files whose name is "
            "the same but for folder, case, slashes or Unicode form are suggested. The unsafe "
            "fix writes the suggested name where exactly one file can be meant, and no other "
            "record can mean it."
        ),
        bad={"images": [{"file_name": "C:\\photos\\A.JPG"}]},
        good={"images": [{"file_name": "photos/a.jpg"}]},
        check=missing,
        fix="unsafe",
    ),
    Rule(
        code="M002",
        title="image file that cannot be decoded",
        severity=Severity.ERROR,
        scope="images",
        breaks=(
            "Pillow stops training with an OSError in the middle of an epoch; OpenCV returns "
            "None, or an image whose lower part is grey."
        ),
        explanation=(
            "The file is empty, truncated, no image, or larger than what Pillow takes for a "
            "decompression bomb; that is not decoded. Copy or download it again. For large "
            "images that are meant so, ignore this rule."
        ),
        bad={"images": [{"file_name": "half-downloaded.jpg"}]},
        good={"images": [{"file_name": "whole.jpg"}]},
        check=undecodable,
    ),
    Rule(
        code="M003",
        title="size differs from that of the image file",
        severity=Severity.ERROR,
        scope="images",
        breaks=(
            "Boxes lie beside the objects, and masks that pycocotools draws from polygons do not "
            "have the size of the image."
        ),
        explanation=(
            "Width and height of the record are not those of the file, after its EXIF "
            "orientation. Mostly images were resized after they were annotated. The unsafe fix "
            "writes the size of the file where all that is drawn fits into it; first make sure "
            "that it was drawn on an image of this size."
        ),
        bad={"images": [{"file_name": "of-640-x-480.jpg", "width": 1280, "height": 960}]},
        good={"images": [{"file_name": "of-640-x-480.jpg", "width": 640, "height": 480}]},
        check=other_size,
        fix="unsafe",
    ),
    Rule(
        code="M004",
        title="width and height swapped against the image file",
        severity=Severity.ERROR,
        scope="images",
        breaks=(
            "OpenCV turns images as their EXIF orientation says, Pillow does not: with one of "
            "them all boxes of the image lie in the wrong places."
        ),
        explanation=(
            "Width and height of the record are those of the file the other way round, often "
            "because a tool took the size before the EXIF orientation. The unsafe fix swaps "
            "them where all that is drawn then fits; make sure that it was drawn on the upright "
            "image. To be free of this, turn the pixels and drop the EXIF orientation."
        ),
        bad={"images": [{"file_name": "upright.jpg", "width": 4032, "height": 3024}]},
        good={"images": [{"file_name": "upright.jpg", "width": 3024, "height": 4032}]},
        check=turned,
        fix="unsafe",
    ),
    Rule(
        code="M005",
        title="file name that is no plain path",
        severity=Severity.WARNING,
        scope="record",
        breaks=(
            "The images are found on one computer only: absolute paths do not exist elsewhere, "
            "and a backslash is a letter of the name on Linux and macOS."
        ),
        explanation=(
            'The file name is an absolute path, has "..", is a URL, or has backslashes. Write '
            "paths below the folder of the images, with slashes. The unsafe fix turns "
            "backslashes into slashes; the others have to be mended by hand, or by the fix of "
            "M001. Where most names are such, they are one finding."
        ),
        bad={"images": [{"file_name": "photos\\a.jpg"}]},
        good={"images": [{"file_name": "photos/a..b.jpg"}]},
        check=bound_to_one_place,
        fix="unsafe",
    ),
    Rule(
        code="M006",
        title="file names that differ by case or Unicode form only",
        severity=Severity.WARNING,
        scope="data set",
        breaks=(
            "On Windows and macOS both names are one file: unpacking the images overwrites one "
            "with the other, and its annotations lie on the wrong image."
        ),
        explanation=(
            "Two file names are equal but for upper and lower case, slashes, or the Unicode form "
            "of their letters. Rename one of the files, and its record."
        ),
        bad={"images": [{"file_name": "a.jpg"}, {"file_name": "A.jpg"}]},
        good={
            "images": [{"file_name": "a.jpg"}, {"file_name": "a.jpeg"}],
            "annotations": [{}, {"image_id": 2}],
        },
        check=nearly_same,
    ),
    Rule(
        code="M007",
        title="image file without a record",
        severity=Severity.INFO,
        scope="images",
        breaks=(
            "Nothing fails, so nobody sees that the export left images out, or that they are not "
            "annotated yet (HumanSignal/label-studio 5544)."
        ),
        explanation=(
            "Image files below the folder are named by no image record. That is right for other "
            "splits in the same folder; otherwise look whether the export is complete. All of "
            "them are one finding."
        ),
        bad={"images": [{"file_name": "a.jpg"}]},
        good={
            "images": [{"file_name": "a.jpg"}, {"file_name": "b.jpg"}],
            "annotations": [{}, {"image_id": 2}],
        },
        check=unnamed,
    ),
    Rule(
        code="M008",
        title="image in several files",
        severity=Severity.WARNING,
        scope="files",
        breaks=(
            "If the files are splits, the model is tested on images that it was trained on, and "
            "its scores are too good."
        ),
        explanation=(
            "An image is in an earlier file, too: by its content where the image files are "
            "given, equal byte for byte or nearly equal to look at, otherwise by its name, or "
            "the last part of it together with the size. Remove it from all files but one. "
            "Files that share nearly all images are rather those of several annotators; this is "
            "told as info only. In the example, the earlier file has a.jpg."
        ),
        bad={"images": [{"file_name": "a.jpg"}]},
        good={"images": [{"file_name": "b.jpg"}]},
        check=shared_images,
    ),
)
