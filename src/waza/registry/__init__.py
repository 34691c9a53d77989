"""Graders from elsewhere: refs, modules in a content-addressed cache, the lock file, trust."""
