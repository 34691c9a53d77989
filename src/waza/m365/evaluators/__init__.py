"""Evaluators: the built-in ones, their options, and which of them run on which turn."""
