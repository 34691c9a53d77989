"""What a suite holds and needs, told without running anything of it."""
