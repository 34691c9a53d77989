"""Claude Code plugin evals: cases with a prompt and graders, and what becomes of them as tasks."""
