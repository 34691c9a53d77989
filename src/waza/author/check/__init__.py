"""What `waza check` finds out about skills and custom agents.

`run.check_targets` makes a `report.CheckReport` of findings; the text, table, JSON, SARIF and annotations are drawn from it.
"""
