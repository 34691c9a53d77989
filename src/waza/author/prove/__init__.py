"""Whether a suite can be trusted: its graders against agents that should fail, and what agents could know of it."""
