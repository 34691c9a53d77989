"""Whether graders judge answers as people expect: reference cases of a suite."""
