"""Evaluate AI agent skills and custom agents from YAML suites."""
