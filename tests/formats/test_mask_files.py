"""Masks in image files: what their values are, which objects they show, and who drew them."""

import io
import struct
import zlib
from warnings import catch_warnings, simplefilter

import numpy as np
import pytest
import rasterio
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image
from rasterio.errors import NotGeoreferencedWarning
from scipy import ndimage
from support.cli import run
from support.datasets import annotation, document, write
from support.masks import decode

from bboxqa import agree, convert, read_coco, reading, validate
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.formats.masks import runs_in, values_in
from bboxqa.formats.translation.masks import Allowance
from bboxqa.formats.translation.shapes import MaskProblemError
from bboxqa.geometry.registry import similarity
from bboxqa.geometry.similarity import Options


def square(top=1, left=1, side=6, value=255, shape=(12, 16)):
    pixels = np.zeros(shape, np.uint16 if value > 255 else np.uint8)
    pixels[top : top + side, left : left + side] = value
    return pixels


def save(path, pixels, **more):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, **more)
    return path


def png(pixels, bits=8, kind=0, palette=b"", size=None):
    """Return a PNG of any depth, which Pillow does not write for grey values."""
    packed = [np.packbits(((row[:, None] >> np.arange(bits)[::-1]) & 1).ravel().astype(np.uint8))
              for row in pixels]  # fmt: skip
    data = zlib.compress(b"".join(b"\0" + row.tobytes() for row in packed))
    head = struct.pack(">IIBBBBB", *(size or pixels.shape[::-1]), bits, kind, 0, 0, 0)
    chunks = [(b"IHDR", head), (b"PLTE", palette), (b"IDAT", data), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in chunks if body or name == b"IEND"
    )  # fmt: skip


def encoded(pixels, kind="PNG", **more):
    stream = io.BytesIO()
    (pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)).save(
        stream, kind, **more
    )
    return stream.getvalue()


def tiff(pixels, **more):
    """Return a TIFF of (bands, height, width)."""
    bands, height, width = pixels.shape
    size = {"count": bands, "height": height, "width": width, "dtype": pixels.dtype}
    with catch_warnings(), rasterio.MemoryFile() as file:
        simplefilter("ignore", NotGeoreferencedWarning)
        with file.open(driver="GTiff", **size, **more) as raster:
            raster.write(pixels)
        return bytes(file.getbuffer())


def allowed():
    return Allowance("values of pixels", 1 << 27, (64, 4096))


def read(path, kind):
    with reading(mask=kind):
        return read_coco(path, min_annotators=1)


def masks_of(data):
    """Return the pixels of each annotation of a data set, (N, H, W)."""
    outlines = data.annotations.segmentation
    return np.array([decode(outlines.rle(n)) for n in range(len(data.annotations))])


ROWS = np.array([[0, 1, 2, 3], [3, 2, 1, 0]], np.uint8)
GREYS = np.stack([ROWS] * 3, 2)
GOOD = {
    "8 bits": encoded(ROWS), "2 bits": png(ROWS, 2), "4 bits": png(ROWS, 4),
    "16 bits": encoded(ROWS.astype(np.uint16)), "equal channels": encoded(GREYS),
    "opaque": encoded(np.dstack([GREYS, np.full_like(ROWS, 255)])),
    "palette": png(ROWS, 2, 3, bytes(range(12))), "BMP": encoded(ROWS, "BMP"),
    "TIFF": tiff(ROWS[None]), "TIFF of 16 bits": tiff(ROWS[None].astype(np.uint16)),
    "TIFF of 32 bits, packed": tiff(ROWS[None].astype(np.int32), compress="lzw"),
    "interlaced or not": encoded(ROWS, optimize=True), "GIF": encoded(ROWS, "GIF"),
}  # fmt: skip
BAD = {
    "colours; expected one channel": encoded(GREYS * np.array([1, 2, 3], np.uint8)),
    "transparent pixels": encoded(np.dstack([GREYS, ROWS])),
    "is JPEG with pixels of the kind L; expected PNG or TIFF": encoded(ROWS, "JPEG"),
    "cannot be decoded": encoded(np.random.default_rng(0).integers(0, 9, (50, 50), np.uint8))[:300],
    "cannot identify image file$": b"no picture",
    "has several bands": tiff(np.stack([ROWS, ROWS])),
    "values of type float32": tiff(ROWS[None].astype(np.float32)),
    "values below 0": tiff(ROWS[None].astype(np.int16) - 1),
    "bands or pages": encoded(Image.fromarray(ROWS), "TIFF", save_all=True,
                           append_images=[Image.fromarray(ROWS)]),
    "is GIF with pixels": encoded(Image.fromarray(ROWS), "GIF", save_all=True,
                              append_images=[Image.fromarray(ROWS + 1)]),
    "has 60,000 × 60,000 pixels": png(ROWS, size=(60000, 60000)),
}  # fmt: skip


@pytest.mark.parametrize("kind", GOOD)
def test_values_are_those_that_were_written(kind):
    assert values_in(GOOD[kind], allowed()).tolist() == ROWS.tolist()
    # Pixels of one bit are no numbers.
    assert values_in(png(ROWS > 1, 1), allowed()).dtype == bool


@pytest.mark.parametrize("problem", BAD)
def test_what_has_no_plain_values_is_refused(problem):
    with pytest.raises(MaskProblemError, match=problem):
        values_in(BAD[problem], allowed())


@given(
    arrays(np.uint8, st.tuples(st.integers(1, 9), st.integers(1, 9)), elements=st.integers(0, 2))
)
def test_pieces_are_the_regions_of_each_value(pixels):
    runs = runs_in(pixels)
    found = np.zeros(pixels.size, int)
    for rows, spans in runs.groups(runs.piece):
        for start, stop in spans:
            assert set(pixels.ravel()[start:stop]) == {runs.value[rows[0]]}
            found[start:stop] = rows[0] + 1
        assert runs.sizes(rows) == (found == rows[0] + 1).sum()
    found = found.reshape(pixels.shape)
    for value in (1, 2):
        regions, n = ndimage.label(pixels == value, np.ones((3, 3)))
        assert len({*zip(regions[regions > 0], found[regions > 0], strict=True)}) == n
        assert len({*found[regions > 0]}) == n
    assert ((found > 0) == (pixels > 0)).all()


@given(*[arrays(np.uint16, (7, 5), elements=st.sampled_from([0, 7, 900]))] * 2)
def test_areas_and_iou_are_those_of_the_arrays(tmp_path_factory, left, right):
    folder = tmp_path_factory.mktemp("masks")
    left, right = left.copy(), right.copy()
    left[0, 0] = right[0, 0] = 7
    for who, pixels in (("ann", left), ("bob", right)):
        save(folder / who / "a.png", pixels)
    pairs = [(pixels, value) for pixels in (left, right) for value in (7, 900)]
    given_masks = [pixels == value for pixels, value in pairs if (pixels == value).any()]
    with reading(mask="instances"):
        data = read_coco({who: folder / who for who in ("ann", "bob")})
    drawn = masks_of(data)
    assert sorted(map(bytes, drawn)) == sorted(map(bytes, given_masks))
    compare = similarity("mask").prepare(data, Options(0.5)).compare
    one, other = np.triu_indices(len(drawn))
    both = [(drawn[a], drawn[b]) for a, b in zip(one, other, strict=True)]
    assert compare(one, other).tolist() == [(a & b).sum() / (a | b).sum() for a, b in both]


def two_people(folder, images=3):
    for n in range(images):
        save(folder / "ann" / f"im{n}.png", square(20, 30 + 5 * n, 60, shape=(120, 160)))
        save(folder / "bob" / f"im{n}.png", square(24, 30 + 5 * n, 60, shape=(120, 160)))


def test_two_people_with_a_file_an_image_are_compared_as_masks(tmp_path):
    two_people(tmp_path / "in")
    with reading(mask="binary"):
        for paths in (tmp_path / "in", [tmp_path / "in/ann", tmp_path / "in/bob"]):
            found = agree(paths, bootstrap=0)
            assert (found.n_images, found.place.mean_iou) == (3, 3360 / 3840)
        reference = agree(tmp_path / "in", reference=tmp_path / "in/bob", bootstrap=0).reference
    f1 = {row["annotator"]: row["f1"] for row in reference.annotators.records()}
    assert f1 == {"ann": 1, "bob": 1}


def test_masks_with_one_box_are_copies_only_if_all_pixels_are_equal(tmp_path):
    for n in range(8):
        pixels = square(0, 0, 60, shape=(60, 60))
        save(tmp_path / f"ann/{'Im' if n < 2 else 'im'}{n}.png", pixels)
        save(tmp_path / f"cat/im{n}.png", pixels)
        pixels[9, 9 + n] = 0
        save(tmp_path / f"bob/im{n}.png", pixels)
    outcome = run("agree", tmp_path, "--mask", "binary")
    assert "ann and cat copied boxes" in outcome.output
    outcome = run("agree", tmp_path / "ann", tmp_path / "bob", "--mask", "binary")
    assert "cop" not in outcome.output
    assert "share boxes" not in outcome.output


def test_masks_that_nobody_calls_so_are_refused_with_what_to_type(tmp_path):
    two_people(tmp_path)
    assert run("validate", ".", "--mask", "binary", cwd=tmp_path / "ann").returncode == 0
    for folder in (tmp_path, tmp_path / "ann"):
        outcome = run("validate", folder)
        assert outcome.returncode == 2
        assert "holds images only" in outcome.output
        assert all(f"--mask {each}" in outcome.output
                   for each in ("instances", "binary", "objects", "classes"))  # fmt: skip
    save(tmp_path / "jpg/a.jpg", square())
    outcome = run("validate", tmp_path / "jpg", "--mask", "binary")
    assert "If PNG or TIFF files are masks" in outcome.output
    (tmp_path / "ann/label_classes.json").write_text('[{"id": 1, "color": "#0f0"}]')
    assert "If PNG or TIFF files are masks" in run("agree", tmp_path / "ann").output
    outcome = run("agree", tmp_path / "ann/im0.png", tmp_path / "bob/im0.png", "--mask", "binary")
    assert "of masks, name the folder" in outcome.output
    with pytest.raises(ConfigError, match="expected 'instances', 'classes'"):
        reading(mask="grey").__enter__()


def test_a_second_value_is_refused_unless_the_one_of_objects_is_given(tmp_path):
    save(tmp_path / "ann/a.png", square(value=1))
    assert len(read(tmp_path, "binary").annotations) == 1
    save(tmp_path / "ann/b.png", square(value=2))
    problem = "b.png: its folder has the values 1 \\(1 file\\), 2 \\(1 file\\), besides 0"
    with pytest.raises(DatasetError, match=problem) as refused:
        read(tmp_path, "binary")
    assert "--mask binary:1" in refused.value.advice
    assert len(read(tmp_path, "binary:1").annotations) == 1
    (tmp_path / "ann/a.png").write_bytes(png(square() > 0, 1))
    save(tmp_path / "ann/b.png", square())
    assert len(read(tmp_path, "binary").annotations) == 2
    assert len(read(tmp_path, "binary:255").annotations) == 2
    save(tmp_path / "bob/a.png", square(value=1))
    assert len(read(tmp_path, "binary").annotations) == 3


def test_folders_of_images_with_a_file_an_object(tmp_path):
    for top, who in enumerate(("ann", "bob")):
        for image in ("x", "y"):
            save(tmp_path / who / image / "images" / f"{image}.png", square(value=90))
            for n, left in enumerate((1, 8)):
                save(tmp_path / who / image / f"masks/{n}.png", square(top, left))
    with reading(mask="objects"):
        found = agree(tmp_path, bootstrap=0)
    assert (found.n_images, found.n_annotations) == (2, 8)
    assert found.place.mean_iou == pytest.approx(30 / 42, abs=1e-9)
    data = read(tmp_path / "ann", "objects")
    assert data.image_names == ("x.png", "y.png")
    (tmp_path / "ann/x").rename(tmp_path / "ann/mylabels")
    assert set(read(tmp_path / "ann", "objects").image_names) == {"mylabels", "y.png"}
    (tmp_path / "ann/mylabels/masks/0.png").rename(tmp_path / "ann/loose.png")
    with pytest.raises(DatasetError, match="is not in the folder of its image"):
        read(tmp_path / "ann", "objects")


COLOURS = np.array([[0, 0, 0], [128, 0, 0], [0, 128, 0]], np.uint8)


@pytest.mark.parametrize("form", ["value", "palette", "colours"])
def test_classes_are_named_by_a_table(tmp_path, form):
    pixels = np.zeros((12, 24), np.uint8)
    pixels[1:5, 1:5], pixels[1:5, 8:12], pixels[7:11, 14:20] = 1, 1, 2
    picture = Image.fromarray(pixels)
    if form == "palette":
        picture.putpalette(COLOURS.ravel().tolist())
    if form == "colours":
        picture = Image.fromarray(COLOURS[pixels])
    for each in ("SegmentationClass", "SegmentationObject"):
        (tmp_path / each).mkdir()
        picture.save(tmp_path / f"{each}/a.png")
    table = ("# label:value\nbackground:0\ncat:1\ndog:2\n" if form == "value" else
             "# label:color_rgb\nbackground:0,0,0::\ncat:128,0,0::\ndog:0,128,0::\n")  # fmt: skip
    (tmp_path / "labelmap.txt").write_text(table)
    data = read(tmp_path, "classes")
    assert data.image_names == ("a",)
    names = [data.category_names[each] for each in data.annotations.category]
    assert sorted(names) == ["cat", "cat", "dog"]
    assert sorted(masks_of(data).sum((1, 2)).tolist()) == [16, 16, 24]
    assert sorted(masks_of(read(tmp_path, "instances")).sum((1, 2)).tolist()) == [24, 32]
    (tmp_path / "labelmap.txt").write_text(table.replace("dog", "#dog"))
    with reading(mask="classes"):
        assert validate(tmp_path).counts["T020"] == 1
    (tmp_path / "labelmap.txt").write_text("cat:1\ndog:0,128,0\n")
    with pytest.raises(DatasetError, match=r"labelmap\.txt:2: 'dog:0,128,0' is no class"):
        read(tmp_path, "classes")


def test_masks_are_written_and_read_back(tmp_path):
    two_people(tmp_path / "in", 1)
    both = square(90, 90, 20, 2, (120, 160)) | square(1, 1, 30, 1, (120, 160))
    save(tmp_path / "in/bob/im0.png", both)
    coco = tmp_path / "a.json"
    with reading(mask="instances"):
        convert(tmp_path / "in", coco, to="coco", attribution="files")
    convert(coco, tmp_path / "out", to="masks")
    for kind in ("instances", "classes"):
        with reading(mask=kind):
            data, original = read_coco(tmp_path / "out"), read_coco(coco)
        assert data.annotator_names == original.annotator_names == ("ann", "bob")
        assert data.category_names == ("object",)
        (drawn,) = masks_of(read(tmp_path / "in/ann", "instances"))
        assert (masks_of(original)[0] == drawn).all()
        assert sorted(map(bytes, masks_of(data))) == sorted(map(bytes, masks_of(original)))


def test_objects_have_the_classes_beside_them(tmp_path):
    drawn = [
        annotation(n, 1, category, segmentation=[[x, 1, x + 8, 1, x + 8, 9, x, 9]])
        for n, (category, x) in enumerate([(7, 1), (0, 21), (7, 41)], 1)
    ]
    kinds = [{"id": 0, "name": "cat"}, {"id": 7, "name": "dog"}]
    source = write(tmp_path / "a.json", document(drawn, categories=kinds))
    convert(source, tmp_path / "out", to="masks", lossy=True)
    # Files of people with one object each are compared with the consensus, as it was written.
    for kind in ("instances", "binary", "binary:255", "objects"):
        data = read(tmp_path / "out", kind)
        names = [data.category_names[each] for each in data.annotations.category]
        assert names == ["dog", "cat", "dog"]
    classes = next((tmp_path / "out/SegmentationClass").iterdir())
    save(classes, np.asarray(Image.open(classes)) * (np.indices((100, 100))[0] > 2).astype("u1"))
    with pytest.raises(DatasetError, match="has an object that is not of one value"):
        read(tmp_path / "out", "instances")
    # Without a class for each, objects have none.
    classes.unlink()
    assert read(tmp_path / "out", "instances").category_names == ("object",)


def test_what_masks_cannot_hold_is_listed(tmp_path):
    ring = [1, 1, 9, 1, 9, 9, 1, 9]
    inner = [3.5, 3.5, 9, 1, 9, 9]
    write(tmp_path / "a.json", document([
        annotation(1, 1, segmentation=[ring]), annotation(2, 1, segmentation=[inner]),
        annotation(3, 1), annotation(4, 1, segmentation={"size": [9, 9], "counts": [40, 3, 38]}),
    ]))  # fmt: skip
    with pytest.raises(DatasetError) as refused:
        convert(tmp_path / "a.json", tmp_path / "out", to="masks")
    for lost in (
        "2 outlines of points",
        "1 box without an outline",
        "2 annotations (such as annotation 1): a pixel",
    ):
        assert lost in str(refused.value)
    convert(tmp_path / "a.json", tmp_path / "out", to="masks", lossy=True)
    assert len(read(tmp_path / "out", "instances").annotations) == 2
    write(tmp_path / "b.json", document([annotation(1, 1)], [{"id": 1, "file_name": "a"}]))
    with pytest.raises(DatasetError, match="--image-size"):
        convert(tmp_path / "b.json", tmp_path / "b", to="masks")


def test_more_objects_than_a_file_can_show_are_refused(tmp_path):
    pixels = np.zeros((600, 600), np.uint8)
    pixels[::3, ::3] = 255
    save(tmp_path / "a.png", pixels)
    with reading(mask="classes"):
        (found,) = [each for each in validate(tmp_path).findings if each.code == "T008"]
    assert "would bring the masks to 40,000 objects" in found.message
