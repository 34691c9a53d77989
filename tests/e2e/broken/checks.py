"""Checks that would check nothing, and metrics that cannot gate."""

from __future__ import annotations

from tests.e2e.broken.case import SUITE, TASK, Case, case, graded

EMPTY = "must not be empty; every text holds the empty one"
LIMITS = "max_tool_calls, max_iterations, max_tokens, max_response_time_ms, required_tools, forbidden_tools"
METRICS = (
    "behavior_quality, task_completion, trigger_accuracy, trigger_precision, trigger_recall, trigger_routing"
)

CASES: list[Case] = [
    case(
        "expectations that hold for every answer",
        f"t.yaml:3:30: expected.output_contains[0]: {EMPTY}",
        f"t.yaml:3:60: expected.output_not_contains[1]: {EMPTY}",
        f"t.yaml:4:25: expected.output_contains_any[0]: {EMPTY}",
        task=f"{TASK}expected: {{output_contains: [''], output_not_contains: [a, ''],\n"
        "  output_contains_any: ['', b]}\n",
    ),
    case(
        "expected behavior without a limit",
        f"t.yaml:3:12: expected.behavior: checks nothing; set one of {LIMITS}; 0 is no limit",
        task=f"{TASK}expected: {{behavior: {{max_tool_calls: 0, max_tokens: 0}}}}\n",
    ),
    case(
        "a grader of behavior without a limit",
        "eval.yaml:5:31: graders[0].config: checks nothing; set max_tool_calls, max_tokens, max_duration_ms, required_tools or forbidden_tools",
        suite=graded("behavior", "{max_tool_calls: 0}"),
    ),
    case(
        "metrics that should gate and have no data",
        "eval.yaml:5:6: metrics[0].name: there is no metric 'task_compltion', so it is left out; did you mean 'task_completion'?",
        "eval.yaml:6:6: metrics[1].name: the metric 'trigger_recall' has no data; it takes trigger_tests.yaml beside the suite",
        "eval.yaml:7:6: metrics[2].name: the metric 'behavior_quality' has no data; it is the mean of graders of type behavior, action_sequence, tool_calls, tool_constraint",
        "eval.yaml:9:6: metrics[4].name: there is another metric 'said', which counts; keep one of them",
        suite=f"{SUITE}metrics:\n"
        "  - {name: task_compltion, gate: true}\n"
        "  - {name: trigger_recall, gate: yes}\n"
        "  - {name: behavior_quality, gate: true}\n"
        "  - {name: said, gate: true}\n"
        "  - {name: said, gate: true, threshold: 0.1}\n"
        "graders: [{type: text, name: said, config: {contains: [a]}}]\n",
    ),
    case(
        "negative limits, which others take for none",
        "eval.yaml:2:45: config.workers: is -1, but must be at least 0",
        "eval.yaml:2:63: config.max_attempts: is -1, but must be at least 0",
        "eval.yaml:4:69: graders[0].config.max_tool_calls: is -1, but must be at least 0",
        suite="name: s\nconfig: {executor: mock, model: m, workers: -1, max_attempts: -1}\ntasks: [t.yaml]\n"
        "graders: [{name: g, type: behavior, config: {       max_tool_calls: -1}}]\n",
    ),
    case(
        "tools without a name",
        "eval.yaml:5:57: graders[0].config.required_tools[0]: must not be empty",
        "t.yaml:3:41: expected.behavior.forbidden_tools[0]: must not be empty",
        suite=graded("behavior", "{required_tools: ['']}"),
        task=f"{TASK}expected: {{behavior: {{forbidden_tools: ['']}}}}\n",
    ),
    case(
        "thresholds that no metric can have",
        "eval.yaml:4:46: metrics[0].threshold: is 1.5, but must be at most 1",
        "eval.yaml:5:12: metrics[1].name: warning: the metric 'trigger_accuracy' has no data; it takes trigger_tests.yaml beside the suite",
        "eval.yaml:5:47: metrics[1].threshold: is -0.1, but must be at least 0",
        suite=f"{SUITE}metrics: [{{name: task_completion, threshold: 1.5}},\n"
        "          {name: trigger_accuracy, threshold: -0.1}]\n",
    ),
    case(
        "warnings are errors if they are asked to be",
        "eval.yaml:1:1: graders: 2 tasks have no check: a, b; without one a task passes whatever the agent does; add graders, or expected: to the task",
        "eval.yaml:4:1: colour: unknown key 'colour', ignored; known: adversarial, baseline, canary, caveats, command_mocks, config, description, graders, hooks, inputs, mcp_mocks, metrics, mock, name, range, scenario, schemaVersion, skill, tasks, tasks_from, version",
        suite="name: s\nconfig: {executor: mock, model: m}\ntasks: ['?.task']\ncolour: red\n",
        files={"a.task": "id: a\ninputs: {prompt: hi}\n", "b.task": "id: b\ninputs: {prompt: hi}\n"},
        task=None,
        args=["--warnings-as-errors"],
    ),
]
