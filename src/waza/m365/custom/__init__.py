"""Custom evaluators: code of other people, found and run in child processes."""
