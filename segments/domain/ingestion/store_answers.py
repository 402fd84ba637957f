"""What a store gave of the files that a run asked it for: which are asked for or read again, and when the store, not a
file, is at fault.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

#: How often a run reads a file that its store does not give, while it gives others.
TRIES: Final = 3
#: How often a run reads a file that is replaced each time while it is read.
READS: Final = 3


class StoreAnswers:
    """Of one run. Files are named by URI."""

    def __init__(self, tries: int = TRIES) -> None:
        self._tries = tries
        self._refused: Counter[str] = Counter()
        self._replaced: Counter[str] = Counter()
        self._is_any_given = False

    def given(self) -> None:
        """The store gave a file, whatever became of it."""
        self._is_any_given = True

    def is_tried_again(self, uri: str) -> bool:
        """A file was not given: has it another try?"""
        self._refused[uri] += 1
        return self._refused[uri] < self._tries

    def is_read_again(self, uri: str) -> bool:
        """A file was replaced while it was read: is it read as it is now?"""
        self._replaced[uri] += 1
        return self._replaced[uri] < READS

    def has_changed_each_time(self, uri: str) -> bool:
        """Has it used up its reads?"""
        return self._replaced[uri] >= READS

    @property
    def at_fault_for_all(self) -> frozenset[str]:
        """Files that used up their tries, if there are several and nothing was given in this run at all: then it is not
        the files. Else none.
        """
        spent = frozenset(uri for uri, count in self._refused.items() if count >= self._tries)
        return spent if len(spent) > 1 and not self._is_any_given else frozenset()
