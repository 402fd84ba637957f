"""When something is due: cron expressions as Quartz writes them, in any time zone; the moment comes from outside."""
