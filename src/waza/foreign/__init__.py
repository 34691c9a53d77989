"""Formats of other tools: what a file is, suites and transcripts made of it, and results written in their forms."""
