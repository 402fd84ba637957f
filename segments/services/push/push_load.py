"""A push as what brings segments in: what registration learns is written into its rows."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import QuerySet

from segments.domain.tables.table_config import TableConfig, parse_table_config
from segments.models import PushSegment
from segments.services.core.context import Context
from segments.services.push.push_session import Session


class PushLoad:
    """``segments.services.loading.load.Load`` of a push whose lease is held."""

    def __init__(self, session: Session) -> None:
        self.ctx: Context = session.ctx
        self._session, self._plan = session, session.push.plan

    @property
    def id(self) -> str:
        """The push's id."""
        return str(self._session.push.pk)

    @property
    def config(self) -> TableConfig:
        """As frozen in the plan."""
        return parse_table_config(self._plan["config"])

    @property
    def entry_id(self) -> str:
        """As known now."""
        return self._session.push.entry_id

    @property
    def is_fenced(self) -> bool:
        """Does the push replace anything, or show all at once?"""
        return bool(self._plan["replaces"])

    @property
    def overwrites(self) -> bool:
        """As it was created."""
        return bool(self._plan.get("overwrite"))

    @property
    def keeps_staged(self) -> bool:
        """No: a push that was taken back is pushed again."""
        return False

    def check(self) -> None:
        """Conflict when the lease is lost."""
        self._session.check()

    def save_entry(self, entry_id: str) -> None:
        """Into the push's row."""
        self._session.update(entry_id=entry_id)

    def in_doubt(self, names: Sequence[str]) -> None:
        """Each row gets an address that is not a file's."""
        self._rows(names).update(uri=self.ctx.deep_store.url)

    def placed(self, name: str, uri: str) -> None:
        """Into the segment's row."""
        self._rows([name]).update(uri=uri)

    def registered(self, names: Sequence[str], done: int) -> None:
        """Into the rows of the segments and of the push."""
        self._rows(names).update(state=PushSegment.State.UPLOADED)
        self._session.update(segments_uploaded=done)

    def _rows(self, names: Sequence[str]) -> QuerySet[PushSegment]:
        return PushSegment.objects.filter(push=self._session.push, name__in=list(names))
