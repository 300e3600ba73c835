"""What pages of the documentation show."""

import re

__all__ = ["blocks", "same"]


def blocks(text, kind):
    """Return the (name of the file, content) of each code block of a kind, such as "python".

    The name is on the line above, as "`name`:"; empty where there is none.
    """
    pattern = rf"^(?:`([^`\n]+)`:\n\n)?```{kind}\n(.*?)^```$"
    return re.findall(pattern, text, re.MULTILINE | re.DOTALL)


def same(shown, found):
    """Tell whether a text is as shown; a line of … stands for any lines."""
    pattern = "(.*\n)*?".join(map(re.escape, re.split(r"^…\n", shown, flags=re.MULTILINE)))
    return re.fullmatch(pattern, found) is not None
