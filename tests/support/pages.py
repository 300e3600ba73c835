"""What pages of the documentation show, and what a browser makes of a page."""

import re
from html.parser import HTMLParser

__all__ = ["Page", "blocks", "same"]

VOID = {"meta", "br", "wbr", "img", "input", "link"}


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


class Page(HTMLParser):
    """The elements of a page with their attributes, and its text; whatever is opened is closed."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.text = [], [], ""
        self.feed(text)
        self.close()
        assert self.open == []
        self.tags = [tag for tag, _ in self.elements]

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data
