"""Evidence: what a run observed, kept in files that show any later change."""
