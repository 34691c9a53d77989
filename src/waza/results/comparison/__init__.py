"""Whether one result is better than another, and what the data cannot tell. Pure functions, without I/O.

The unit is the task: trials of one task are no independent evidence about others, so each task counts once, with the
mean over its trials. Tasks of one group (`config.group_by`) are not independent either, and change together.
"""
