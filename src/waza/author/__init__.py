"""For people who write graders: templates to start from, and goldens to test with."""
