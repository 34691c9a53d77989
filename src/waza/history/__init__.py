"""The runs of a project over time: an index of their results, made of the files and never in their place."""
