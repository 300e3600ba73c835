"""What a document computes once."""

from support.validation import document_of


def test_once_calls_a_function_once_for_each_document_and_key():
    calls = []

    def make(document, *key):
        calls.append((document, *key))
        return (len(calls), *key)

    first, second = document_of({}), document_of({})
    assert [first.once(make), first.once(make)] == [(1,), (1,)]
    assert [first.once(make, 0.5), first.once(make, 0.9), first.once(make, 0.5)] == [
        (2, 0.5), (3, 0.9), (2, 0.5),
    ]  # fmt: skip
    assert second.once(make) == (4,)
    assert calls == [(first,), (first, 0.5), (first, 0.9), (second,)]
