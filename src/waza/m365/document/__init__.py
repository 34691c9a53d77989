"""Evaluation documents: reading, checking, upgrading and writing them."""
