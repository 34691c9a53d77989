from pathlib import Path

import pytest
from tests.support.live import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """An empty directory for suites, with a temporary directory of its own."""
    return Project(tmp_path)
