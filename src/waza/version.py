"""The one place that names waza's version; `--version` reads nothing else."""

__version__ = "0.1.0"
