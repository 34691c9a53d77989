from pathlib import Path

import pytest


@pytest.fixture
def foreign():
    """The directory of samples of other tools' files."""
    return Path(__file__).parents[2] / "data/foreign"
