"""Category names: renaming and leaving out, and variants of one name."""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import combinations

from msgspec.structs import replace

from bboxqa.core.errors import ConfigError
from bboxqa.core.text import as_written, clean, first_few, folded, nearest
from bboxqa.formats.records import AnnotationFile

_SHOWN = 3


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
                replace(
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

    Each comes with the other name of each such name, and with a problem per category.
    """
    tables: list[tuple[str, dict[int | str, str]]] = []
    for file in (each for each in files if not each.numbers_categories):
        table = {category.id: clean(category.name) for category in file.categories}
        # Of files with the same categories, only the first is looked at.
        before = () if any(table == each for _, each in tables) else tables
        for name, known in before:
            names = {*table.values()}
            other = {
                label: (number, known[number])
                for number, label in table.items()
                if number in known and known[number] not in names and label not in known.values()
            }
            problems = [
                f"category {number} is {label!r}; in {name} it is {was!r}, and neither file has "
                "both names"
                for label, (number, was) in other.items()
            ]
            yield file, {label: was for label, (_, was) in other.items()}, problems
        if before or not tables:
            tables.append((file.source.name, table))


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
        f"--map {shlex.quote(f'{name}={other}')}" for name, other in category_map.items()
    )


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
