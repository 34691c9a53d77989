"""Whatever tells people of a run: progress on the console, reports, logs and files for other programs."""
