"""The world of one attempt: a fresh directory with the task's files, git worktrees, and hooks."""
