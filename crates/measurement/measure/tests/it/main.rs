mod wakeup_sources;
