"""Small tools that know nothing of waza: how files, processes, patterns and numbers are handled."""
