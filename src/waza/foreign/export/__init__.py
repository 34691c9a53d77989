"""Results of waza in the forms of other tools."""
