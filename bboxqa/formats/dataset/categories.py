"""Category names: renaming and leaving out, and variants of one name."""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import msgspec
import numpy as np

from bboxqa.core.errors import ConfigError
from bboxqa.core.text import as_written, clean, count, first_few, folded, joined, nearest, one_line
from bboxqa.formats.records import AnnotationFile
from bboxqa.formats.registry import format_of

_SHOWN = 3
_MAP = "--map "
_MODEL = "predictions"


def with_category_map(
    files: Sequence[AnnotationFile], category_map: Mapping[str, str]
) -> list[AnnotationFile]:
    """Return files with categories renamed according to `category_map`.

    Categories without a new name keep theirs, as they are left out later. Raises ConfigError for an
    entry if neither its old nor its new name is a category.
    """
    if not category_map:
        return list(files)
    known = {clean(category.name) for file in files for category in file.categories}
    for name, other in category_map.items():
        if other and not known & {name, other}:
            raise ConfigError(
                f"--map names {name!r}, which is not a category{nearest(name, known)}"
            )
    return [
        replace(
            file,
            categories=[
                msgspec.structs.replace(
                    each, name=category_map.get(clean(each.name)) or each.name
                )
                for each in file.categories
            ],
        )
        for file in files
    ]  # fmt: skip


def unused_map_notes(
    files: Sequence[AnnotationFile], category_map: Mapping[str, str]
) -> dict[str, str]:
    """Return a note for each mapped name that is not a category."""
    known = {clean(category.name) for file in files for category in file.categories}
    return {
        name: f"{map_options({name: other})}: no category is called {name!r}"
        f"{nearest(name, known - {other})}"
        for name, other in category_map.items()
        if name not in known
    }


def supercategories(files: Sequence[AnnotationFile], names: Iterable[str]) -> tuple[str, ...]:
    """Return the supercategory of each category, from the first file that names one.

    It is "" if no file does; the tuple is empty if there are no supercategories at all.
    """
    found: dict[str, str] = {}
    for file in files:
        for category in file.categories:
            if isinstance(category.supercategory, str):
                found.setdefault(clean(category.name), clean(category.supercategory))
    of_names = tuple(found.get(name, "") for name in names)
    return of_names if any(of_names) else ()


def renamed_categories(
    files: Sequence[AnnotationFile],
) -> Iterator[tuple[AnnotationFile, dict[str, str], list[str]]]:
    """Yield files whose category ids have other names in another file, if neither has both names.

    Of files with the same categories, only the first is looked at. Each comes with the other name
    of each such name, and with a problem per category.
    """
    tables: list[tuple[str, dict[int | str, str]]] = []
    for file in (each for each in files if not each.numbers_categories):
        table = {category.id: clean(category.name) for category in file.categories}
        if any(table == before for _, before in tables):
            continue
        for name, before in tables:
            names, names_before = set(table.values()), set(before.values())
            other = {
                number: label
                for number, label in table.items()
                if label not in names_before
                and before.get(number, label) not in names | {label}
            }  # fmt: skip
            problems = [
                f"category {number} is {label!r}; in {name} it is {before[number]!r}, and "
                "neither file has both names"
                for number, label in other.items()
            ]
            yield file, {label: before[number] for number, label in other.items()}, problems
        tables.append((file.source.name, table))


def joining_map(
    pairs: Iterable[tuple[str, str]], files: Sequence[AnnotationFile]
) -> dict[str, str]:
    """Return the map that joins the names of each pair, and of pairs with a common name.

    The name in most files is kept; of several, the first.
    """
    groups: dict[str, list[str]] = {}
    for name, other in pairs:
        kept, joining = groups.setdefault(other, [other]), groups.setdefault(name, [name])
        if kept is not joining:
            kept += joining
            groups |= dict.fromkeys(joining, kept)
    n_files = Counter(
        name for file in files for name in {clean(category.name) for category in file.categories}
    )
    most = {name: max(group, key=n_files.__getitem__) for name, group in groups.items()}
    return {name: kept for name, kept in most.items() if name != kept}


def list_notes(files: Sequence[AnnotationFile]) -> list[str]:
    """Return which categories are not in the lists of all files, and which have several ids.

    Of files with lists and ids of their own; categories that no annotation has make no difference.
    """
    own = [each for each in files if not each.numbers_categories and each.source.role != _MODEL]
    ids: dict[str, dict[str, set[int | str]]] = {}
    used = set()
    for file in own:
        present = set(np.unique(file.columns.category_id).tolist())
        for category in file.categories:
            name = clean(category.name)
            of_files = ids.setdefault(name, {})
            of_files.setdefault(one_line(file.source.name), set()).add(category.id)
            used |= {name} if category.id in present else set()
    known = {name: of_files for name, of_files in sorted(ids.items()) if name in used}
    return [*_missing_in_lists(known, [one_line(file.source.name) for file in own]), *_ids(known)]


def _missing_in_lists(
    known: Mapping[str, Mapping[str, AbstractSet[int | str]]], files: Sequence[str]
) -> Iterator[str]:
    """Yield in whose lists categories are, where some files have none of their variants."""
    groups: dict[tuple[str, ...], list[str]] = {}
    variants: dict[str, set[str]] = {}
    for name, of_files in known.items():
        variants.setdefault(folded(as_written(name)), set()).update(of_files)
    for name, of_files in known.items():
        if len(variants[folded(as_written(name))]) < len(files):
            groups.setdefault(tuple(of_files), []).append(name)
    parts = []
    for having, names in groups.items():
        shown = _and([*map(repr, names)])
        lacking = [name for name in files if name not in having]
        verb = "is" if len(names) == 1 else "are"
        if len(having) <= len(lacking):
            parts.append(f"{shown} {verb} in the list of {_and(having)} only")
        else:
            parts.append(f"{shown} {verb} not in the list of {_and(lacking)}")
    if parts:
        more = f", and {len(parts) - _SHOWN:,} more such lists" if len(parts) > _SHOWN else ""
        yield (
            f"category lists differ: {', '.join(parts[:_SHOWN])}{more}. Who annotated with another "
            "list may not have had these categories"
        )


def lacking_notes(files: Sequence[AnnotationFile]) -> Iterator[str]:
    """Yield which categories of other files a file in another format does not have.

    An export to a format without a place for the shapes of a category lacks all of it.
    """
    numbers = [_numbers_by_name(each) for each in files]
    lacking = [sorted(set().union(*numbers) - {*own}) for own in numbers]
    if not any(lacking) or len({format_of(Path(file.source.name)).name for file in files}) < 2:
        return
    others = "the other file has" if len(files) == 2 else "other files have"
    notes = [
        f"{one_line(file.source.name)} has no annotations of {_and([*map(repr, names)])}, and "
        f"{others} {sum(own[name] for own in numbers for name in names):,}: if the files are "
        f"exports of one project, its format may not hold these shapes; {_left_out(names)}"
        for file, names in zip(files, lacking, strict=True)
        if names
    ]
    yield from notes[:_SHOWN]


def _left_out(names: Sequence[str]) -> str:
    """Return how to leave out the annotations of categories."""
    if len(names) > _SHOWN:
        return "--map NAME= leaves a category out"
    return f"to leave them out: {map_options(dict.fromkeys(names, ''))}"


def _numbers_by_name(file: AnnotationFile) -> Counter[str]:
    """Return the number of annotations by category, without crowds and empty categories."""
    columns = file.columns
    ids, counts = np.unique(columns.category_id[~columns.iscrowd], return_counts=True)
    numbers = dict(zip(ids.tolist(), counts.tolist(), strict=True))
    found: Counter[str] = Counter()
    for category in file.categories:
        found[clean(category.name)] += numbers.get(category.id, 0)
    return +found


def _ids(known: Mapping[str, Mapping[str, AbstractSet[int | str]]]) -> Iterator[str]:
    """Yield which categories have other ids in another file."""
    found = [
        f"{name!r} is {_id(first)} in {one} and {_id(second)} in {other}"
        for name, of_files in known.items()
        for (one, first), (other, second) in [_first_apart([*of_files.items()])]
        if one != other
    ]
    if found:
        more = f" (and {count(len(found) - 1, 'other')})" if len(found) > 1 else ""
        yield f"category ids differ: {found[0]}{more}. Categories are joined by their names"


def _first_apart(
    of_files: Sequence[tuple[str, AbstractSet[int | str]]],
) -> tuple[tuple[str, AbstractSet[int | str]], tuple[str, AbstractSet[int | str]]]:
    """Return the first file with its ids, and the first that has none of them; or itself."""
    first = of_files[0]
    return first, next((each for each in of_files if each[1].isdisjoint(first[1])), first)


def _id(ids: AbstractSet[int | str]) -> str:
    return str(min(ids, key=str))


def _and(names: Sequence[str]) -> str:
    """Return names in a sentence: the first of many, and the number of the others."""
    if len(names) > _SHOWN:
        names = [*names[: _SHOWN - 1], f"{len(names) - _SHOWN + 1:,} more"]
    return joined(names)


def variant_remark(users: Mapping[str, AbstractSet[int]]) -> str:
    """Return a remark on categories that differ only by case or blanks; "" if there are none.

    `users` are the annotators who used each category: an annotator who uses both variants may mean
    two things, such as the letters A and a.

    Examples
    --------
    >>> print(variant_remark({"cat": {0}, "Cat": {1}, "dog": {0, 1}, "Dog": {0}}))
    categories 'cat' and 'Cat' differ only by case or blanks, and count as different; to join \
them: --map Cat=cat
    """
    groups: dict[str, list[str]] = {}
    for name in users:
        groups.setdefault(folded(as_written(name)), []).append(name)
    variants = [
        group
        for group in groups.values()
        if len(group) > 1 and all(users[a].isdisjoint(users[b]) for a, b in combinations(group, 2))
    ]
    if not variants:
        return ""
    shown = first_few(variants, _SHOWN, lambda group: " and ".join(map(repr, group)))
    options = map_options({name: group[0] for group in variants for name in group[1:]})
    return (
        f"categories {shown} differ only by case or blanks, and count as different; "
        f"to join them: {options}"
    )


def map_options(category_map: Mapping[str, str]) -> str:
    """Return the command-line options that map names.

    Examples
    --------
    >>> map_options({"Cat": "cat", "Dog ": "dog"})
    "--map Cat=cat --map 'Dog =dog'"
    """
    return " ".join(
        f"{_MAP}{shlex.quote(f'{name}={other}')}" for name, other in category_map.items()
    )


_SHOWN = 3


def left_out_by(category_map: Mapping[str, str]) -> frozenset[str]:
    """Return the categories that a map leaves out: those without a new name.

    Raises ConfigError if another category is renamed to one of them.

    Examples
    --------
    >>> sorted(left_out_by({"Cat": "cat", "shadow": ""}))
    ['shadow']
    """
    names = frozenset(name for name, new in category_map.items() if not new)
    for name, new in category_map.items():
        if new in names:
            raise ConfigError(
                f"--map leaves {new!r} out, and renames {name!r} to it; expected only one of both"
            )
    return names
