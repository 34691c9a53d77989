"""The grader types of waza: a table of names, so that listing them imports nothing."""

from __future__ import annotations

TYPES = {
    "action_sequence": "waza.graders.action_sequence:ActionSequence",
    "behavior": "waza.graders.behavior:Behavior",
    "code": "waza.graders.code:Code",
    "diff": "waza.graders.diff:Diff",
    "evaluator": "waza.m365.grader:EvaluatorGrader",
    "file": "waza.graders.file:File",
    "json_schema": "waza.graders.json_schema:JsonSchema",
    "program": "waza.graders.program:ProgramGrader",
    "prompt": "waza.graders.prompt:Prompt",
    "skill_invocation": "waza.graders.skill_invocation:SkillInvocationGrader",
    "text": "waza.graders.text:Text",
    "tool_calls": "waza.graders.tool_calls:ToolCalls",
    "tool_constraint": "waza.graders.tool_constraint:ToolConstraint",
    "trigger": "waza.graders.trigger:Trigger",
    "wgp": "waza.graders.wgp:Wgp",
}
