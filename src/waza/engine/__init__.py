"""What happens: from a suite to its trials, their observations and verdicts, and the journal of them."""
