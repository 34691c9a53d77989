"""One verdict and one next step a skill, from a run with and without it (`waza diagnose`).

`evidence` is what a run shows of its skill, `rules` turn it into a verdict, `next_step` says what to do about it, and
`diagnosis` is the outcome.
"""
