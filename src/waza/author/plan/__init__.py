"""How much a run of a suite takes, and how small a difference it can show (`waza plan`): before it is run."""
