"""For people who write graders: what they start from, and what tells them that it works."""
