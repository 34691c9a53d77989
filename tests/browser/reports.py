"""Reports to look at: documents with every status and awkward text, run by `waza m365 run`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.program import strict_json, waza, write_tree

HOSTILE = (
    "</pre></style></script><script>window.pwned = 1</script><style>body{display:none}</style>"
    "<img src=http://127.0.0.1:9/x onerror=pwned=1><svg onload=pwned=1> \x1b[31m\u202e \"'&amp;"
)
LINK = "javascript:pwned=1"
ARABIC = "ما هي مدة تجديد جواز السفر؟"
FAR = "far" * 400 + "\nline" * 60  # a word that no line can hold, and lines that no screen can

# The judge's verdicts, by what is in the question; the last one is for all others.
JUDGE: list[dict[str, Any]] = [
    {
        "match": "laptop",
        "reply": {"score": 2, "reason": "It names the form, but says nothing of the approval."},
    },
    {"match": "onerror", "reply": {"score": 1, "reason": HOSTILE}},
    {"match": "مدة", "reply": {"score": 4, "reason": "الإجابة كاملة."}},
    {"reply": {"score": 4, "reason": "The response answers the question and stays with the subject."}},
]

MIXED: list[dict[str, Any]] = [
    {
        "prompt": "Which form do I need for a trip abroad?",
        "response": "For trips abroad you need form T-2 [1]. Your manager signs it before you book [2].",
        "expected_response": "You need form T-2 for trips abroad. Your manager signs it before you book.",
        "context": "Trips abroad: form T-2, signed by the manager before anything is booked.",
        "citations": [
            {"index": 1, "text": "Travel policy, section 4", "source": "https://example.org/policy#4"},
            {"index": 2, "source": LINK},
        ],
        "evaluators": {"Citations": {"citation_format": "bracket"}, "Coherence": {}},
    },
    {
        "prompt": "How do I order a new laptop?",
        "response": "Please fill in form L-1.\n\n- keyboard layout\n- size\n\tof the screen",
        "expected_response": "Fill in form L-1 and let your manager approve it; it takes five days.",
    },
    {
        "prompt": "Where is the meeting?",
        "response": "In room 5, second floor.",
        "expected_response": "In room 5, second floor.",
        "evaluators": {"ExactMatch": {}, "RetrievalQuery": {"capability": "Rooms", "selector": "first"}},
    },
    {"prompt": "Is the canteen open on Friday?", "expected_response": "Yes, until two."},
    {
        "name": "a refund, from the first question to the end",
        "description": "The agent keeps the subject although the user changes the words.",
        "turns": [
            {
                "prompt": f"I missed my train, number {number}.",
                "response": f"Sorry to hear that. Number {number} can be refunded.",
                "expected_response": f"Number {number} can be refunded. Sorry to hear that.",
            }
            for number in (1, 2, 3)
        ],
    },
    {
        "name": "a conversation that breaks off",
        "turns": [
            {"prompt": "Book a room.", "response": "Booked.", "expected_response": "It is booked."},
            {"prompt": "And for Monday?", "expected_response": "Booked as well."},
            {"prompt": "Thanks.", "response": "You are welcome.", "expected_response": "Welcome."},
        ],
    },
    {
        "prompt": ARABIC,
        "response": "عشرة أيام عمل. استخدم النموذج T-2.",
        "expected_response": "عشرة أيام عمل.",
    },
    {
        "prompt": f"What about <img src=x onerror=pwned=1>?\n{'Please be brief. ' * 12}",
        "response": HOSTILE,
        "expected_response": HOSTILE,
        "context": HOSTILE,
        "citations": [{"index": 1, "text": HOSTILE, "source": LINK}],
        "evaluators": {"ExactMatch": {}},
    },
    {
        "prompt": "Say it: 日本語 👩‍💻 Ω",
        "response": f"日本語 👩‍💻 Ω {FAR}",
        "expected_response": f"日本語 👩‍💻 {FAR}",
    },
    {"prompt": "Say nothing.", "response": "", "expected_response": "."},
]
STATUSES = ["pass", "fail", "partial", "error", "pass", "error", "pass", "fail", "pass", "partial"]


def many(count: int) -> list[dict[str, Any]]:
    """Items of which every fifth fails and every seventh has no response."""
    return [
        {
            "prompt": f"What is the cost centre of project {number}?",
            "expected_response": f"It is {number}, as of this year." if number % 5 else "Ask the controller.",
            **({"response": f"It is {number}, as of this year."} if number % 7 else {}),
        }
        for number in range(1, count + 1)
    ]


class Report(NamedTuple):
    """An HTML file, and the items of the document that it shows."""

    file: Path
    items: list[dict[str, Any]]

    def statuses(self) -> list[str]:
        return [item.get("status") or item["summary"]["overall_status"] for item in self.items]


def report(root: Path, items: list[dict[str, Any]], **evaluators: dict[str, Any]) -> Report:
    """Let PartialMatch and these evaluators judge the recorded responses of items."""
    document = {
        "schemaVersion": "1.7.0",
        "metadata": {"name": "Travel desk", "description": "What people ask the travel desk in a week."},
        "default_evaluators": {"PartialMatch": {}, **evaluators},
        "items": items,
    }
    write_tree(root, {"evals.json": json.dumps(document), "judge.json": json.dumps(JUDGE)})
    flags = ["--agent", "recorded", "--judge", "mock:judge.json", "-o", "report.html", "-o", "report.json"]
    ended = waza("m365", "run", "evals.json", *flags, cwd=root)
    assert ended.code == 1, ended.err
    result = strict_json((root / "report.json").read_text(encoding="utf-8"))
    return Report(root / "report.html", result["items"])
