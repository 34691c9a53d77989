"""Transcripts of other agents, each read into a `Recording`."""
