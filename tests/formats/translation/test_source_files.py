"""Size and digest of folders, whose files are read once."""

import hashlib

import pytest
from support.tool_files import write

from bboxqa.formats.source import MeasuredFiles

CONTENTS = {
    "b/1.txt": b"\xef\xbb\xbfone",
    "b/2.jpg": b"not read",
    "b/3.json": b"three" * 90_000,
    "b/4.txt": b"",
    "c.txt": b"last",
}


@pytest.mark.parametrize("read", [["c.txt"], ["b/1.txt", "b/4.txt", "b/1.txt"], []])
def test_digest_of_names_and_contents(tmp_path, read):
    write(tmp_path, **CONTENTS)
    expected = hashlib.blake2b()
    for name, content in CONTENTS.items():
        is_picture = name.endswith(".jpg")
        head = f"{name}\0" if is_picture else f"{name}\0{len(content)}\0"
        expected.update(head.encode() + (b"" if is_picture else content))
    size = sum(map(len, CONTENTS.values())) - len(b"not read")
    for digest in (expected.hexdigest(), None):
        files = MeasuredFiles(tmp_path, digest=digest is not None)
        named = {each.name: each for each in files.members}
        assert [files.text(named[name]) for name in read] == [
            CONTENTS[name].replace(b"\xef\xbb\xbf", b"   ") for name in read
        ]
        assert files.size_and_digest() == (size, digest)
