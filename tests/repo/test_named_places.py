"""What the documents for contributors name is there."""

from __future__ import annotations

import re

from tests.processes.conftest import PROJECT


def test_folders_and_files_that_contributors_are_sent_to_exist() -> None:
    named = set()
    for document in ("CONTRIBUTING.md", "docs/architecture.md"):
        text = (PROJECT / document).read_text()
        named |= set(re.findall(r"`((?:segments|pinotadmin|templates|tests|docs|bench)/[\w./-]*)`", text))
    assert len(named) > 50
    assert sorted(n for n in named if not (PROJECT / n).exists()) == []
