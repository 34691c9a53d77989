"""Packs of adversarial tasks: whether an agent does its work and nothing that an attack asks of it."""
