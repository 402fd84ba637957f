from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("segments", "0030_snapshot_kinds"),
    ]

    operations = [
        migrations.AddField(
            model_name="cluster",
            name="mirror_progress",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="How far a mirror that began is; empty: through",
                max_length=64,
            ),
        ),
    ]
