"""While an installation is upgraded part by part, programs of the last release write into the new database."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations import AddField

#: Of version 0.2.0.
LAST_OF_RELEASE = "0030_snapshot_kinds"


@pytest.mark.django_db
def test_a_row_of_a_program_that_does_not_know_a_new_column_is_taken() -> None:
    migrations = MigrationLoader(connection).disk_migrations
    added = {
        (operation.model_name, operation.name)
        for (app, name), migration in migrations.items()
        if app == "segments" and name > LAST_OF_RELEASE
        for operation in migration.operations
        if isinstance(operation, AddField)
    }
    assert ("push", "uncovered") in added, "a column that is known to be new"
    for model, name in sorted(added):
        field = apps.get_model("segments", model)._meta.get_field(name)
        assert field.null or field.has_db_default(), f"{model}.{name} needs db_default, or null=True"
