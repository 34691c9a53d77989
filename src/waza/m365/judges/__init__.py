"""Judges: language models that evaluators ask, and how they are asked."""
