"""From files to a Suite: reading, checking, inheriting. Every mistake is collected."""
