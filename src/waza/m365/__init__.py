"""Microsoft 365 evaluation documents: reading, checking, upgrading and resolving them, and their results."""
