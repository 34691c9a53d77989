"""From recorded trials to results: statistics, summaries, comparisons, and the file format."""
