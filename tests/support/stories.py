"""The story of a result as text shows it, without the tables of a diagnosis."""


def short_story(result):
    return result.tell(result)
