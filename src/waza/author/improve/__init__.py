"""What asks a model about skills: their quality, suites for them, and better descriptions."""
