"""What things are: frozen values without I/O. The glossary of waza.

A *suite* selects *tasks*, settings and graders. A *task* is a prompt with its inputs and checks. A *trial*
is one measured run of a task; an *attempt* is one execution inside a trial. An *executor* is the agent
engine. What was seen of a trial is an *observation*; a grader's answer to it is a *verdict*.
"""
