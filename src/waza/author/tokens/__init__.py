"""Tokens of texts that agents read: counting them, and the limits that a project sets."""
