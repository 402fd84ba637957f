"""Secrets leave the rows that only show configs: mirrors of tables, specifications and plans of pushes."""

from django.db import migrations

from segments.domain.tables.secret_masks import mask


def _mask(apps, schema_editor):
    for table in apps.get_model("segments", "Table").objects.only("config").iterator():
        config = mask(table.config)
        if config is not table.config:
            table.config = config
            table.save(update_fields=["config"])
    for push in apps.get_model("segments", "Push").objects.only("spec", "plan").iterator(chunk_size=20):
        plan = {**push.plan, "config": mask(push.plan["config"])} if isinstance(push.plan, dict) and "config" in push.plan else push.plan
        push.spec, push.plan = mask(push.spec), plan
        push.save(update_fields=["spec", "plan"])


class Migration(migrations.Migration):

    dependencies = [
        ('segments', '0009_api_tokens'),
    ]

    operations = [migrations.RunPython(_mask, migrations.RunPython.noop, elidable=True)]
