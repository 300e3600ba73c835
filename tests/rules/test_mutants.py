"""Seeded corruption of clean files: every defect is found by its own rule, and nothing crashes."""

import json
import os
from functools import cache

import numpy as np
import pytest
from support.mutants import MUTATIONS, clean, kinds, mutant, text
from support.validation import codes, document_of, loud, report_of

from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.fixes import fix
from bboxqa.rules.registry import RULES

# At least so many of each rule, and one of each kind; `make fuzz` runs more.
FUZZ = "BBOXQA_FUZZ" in os.environ
SEEDS = int(os.environ.get("BBOXQA_FUZZ", "2"))

# What no corruption of one small file of objects shows: other files and kinds of file, images on
# disk, sizes, statistics, rotated boxes (see oriented/), tracks.
ELSEWHERE = {
    code
    for code, rule in RULES.items()
    if rule.scope in ("files", "images")
    or code in ("F007", "S016", "C010", "D004")
    or code[0] in "QGETO"
}


def seeds(code):
    return range(max(SEEDS, kinds(code)))


@cache
def codes_of_mutant(code, seed):
    return codes(mutant(code, seed))


def test_every_rule_has_its_mutation():
    assert set(MUTATIONS) == set(RULES) - ELSEWHERE


@pytest.mark.parametrize("annotators", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_the_uncorrupted_file_is_clean(seed, annotators):
    assert loud(text(clean(seed, annotators=annotators))) == set()


@pytest.mark.parametrize("code", MUTATIONS)
def test_each_defect_is_found_with_its_code(code):
    missed = [seed for seed in seeds(code) if code not in codes_of_mutant(code, seed)]
    assert missed == []


@pytest.mark.parametrize("code", [code for code in MUTATIONS if RULES[code].fix])
def test_fixes_of_mutants_leave_no_new_finding_and_end(code):
    for seed in seeds(code)[: 3 if FUZZ else 2]:
        broken = document_of(mutant(code, seed))
        done = [fix(broken, ValidateSettings(), unsafe=each) for each in (False, True)]
        # Many a safe fix is the unsafe one as well.
        different = {bytes(once.text): (once, unsafe) for unsafe, once in enumerate(done)}
        for mended, (once, unsafe) in different.items():
            read = document_of(mended)
            after = report_of(read)
            loud = {found for found in after.counts if RULES[found].severity != "info"}
            new = loud - codes_of_mutant(code, seed)
            assert not new, (seed, [change.pointer for change in once.changes])
            assert not [finding for finding in after.findings if finding.fix == "safe"], seed
            assert not fix(read, ValidateSettings(), unsafe=bool(unsafe)).changes


@pytest.mark.parametrize("seed", range(10 * SEEDS))
def test_bytes_at_random_never_stop_it(seed):
    rng = np.random.default_rng(seed)
    raw = bytearray(text(clean(seed % 3, annotators=seed % 2 == 1)))
    for _ in range(int(rng.integers(1, 30))):
        place = int(rng.integers(len(raw)))
        kind = rng.integers(5)
        if kind == 0:
            raw[place] = int(rng.integers(256))
        elif kind == 1:
            del raw[place : place + int(rng.integers(1, 9))]
        elif kind == 2:
            raw[place:place] = rng.choice([b"{", b"}", b"[", b"]", b",", b'"', b"\\", b"null"])
        elif kind == 3:
            raw[place:place] = rng.choice([b"1e999", b"-", b"9" * 40, b"NaN", b'"x":', b"\xff"])
        else:
            other = int(rng.integers(len(raw)))
            raw[place:place] = raw[other : other + 40]
    read = document_of(bytes(raw))
    assert report_of(read).files
    fix(read, ValidateSettings(), unsafe=True)


# About numbers as ids.
OF_NUMBERS = {"S003", "I003", "C005", "C006"}


def with_text_ids(raw):
    """Return a file whose ids of images and categories are texts, such as "im_1"."""
    content = json.loads(raw)

    def rename(record, key, prefix):
        if isinstance(record, dict) and type(record.get(key)) is int:
            record[key] = f"{prefix}_{record[key]}"

    for name, prefix in (("images", "im"), ("categories", "cat")):
        for record in content.get(name) or ():
            rename(record, "id", prefix)
    for record in content.get("annotations") or ():
        rename(record, "image_id", "im")
        rename(record, "category_id", "cat")
    return json.dumps(content).encode()


@pytest.mark.parametrize(
    "code", [code for code in MUTATIONS if code[0] != "F" and code not in OF_NUMBERS]
)
def test_text_ids_hide_no_defect(code):
    for seed in range(2 if FUZZ else 1):
        found = codes(with_text_ids(mutant(code, seed))) - OF_NUMBERS
        assert found == codes_of_mutant(code, seed) - OF_NUMBERS, seed
