"""Where results are kept for others: one seam, and the providers behind it."""
