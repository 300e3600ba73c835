"""The annotators of annotations in Label Studio."""

from bboxqa.formats.translation.untrusted import plain_text


def person(value: object, known: dict[str, str]) -> str:
    """Return the name of the annotator who completed an annotation; "" if nobody is named.

    Some exports have numbers for annotators, others objects with number and e-mail.

    Parameters
    ----------
    value : object
        The value in the file, of any type.
    known : dict of str to str
        Names by number, from the objects seen so far; changed in place.

    Examples
    --------
    >>> known = {}
    >>> person({"id": 7, "email": "ann@example.org"}, known), person(7, known), person(8, known)
    ('ann@example.org', 'ann@example.org', '8')
    """
    if isinstance(value, dict):
        number = plain_text(value.get("id"))
        both = f"{plain_text(value.get('first_name'))} {plain_text(value.get('last_name'))}".strip()
        name = plain_text(value.get("email")) or plain_text(value.get("username")) or both or number
        if number and name:
            known.setdefault(number, name)
        return name
    text = plain_text(value)
    return known.get(text, text)
