"""Controlled comparisons: a plan that is sealed before the data, a fresh paired collection, and a decision by its rule."""
