"""What pages of the documentation show."""

import re

__all__ = ["blocks", "same"]


def blocks(text, kind):
    """Return the (word after the kind, content) of each code block of a kind, such as "python"."""
    return re.findall(rf"^```{kind}(?: (\S+))?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def same(shown, found):
    """Tell whether a text is as shown; a line of … stands for any lines."""
    pattern = "(.*\n)*?".join(map(re.escape, re.split(r"^…\n", shown, flags=re.MULTILINE)))
    return re.fullmatch(pattern, found) is not None
