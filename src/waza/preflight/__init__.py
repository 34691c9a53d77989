"""What a suite holds and needs, found without running any of it."""
