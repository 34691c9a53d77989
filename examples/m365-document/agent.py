"""A program as the agent: it reads a prompt on stdin, and answers with JSON that tells of its searches, too."""

import json
import sys

FORM = {
    "response": "Form T-2 [1]",
    "citations": [{"index": 1, "source": "https://intranet.example/forms"}],
    "diagnostics": {
        "retrieval_executions": [
            {"capability": "OneDriveAndSharePoint", "queries": [{"queryString": "travel form abroad"}]}
        ]
    },
}
ANSWERS = {
    "trip abroad": FORM,
    "missed my train": {"response": "Yes, the desk pays it back if you hand in a form."},
    "one sentence": {"response": "Hand in form R-1 within a week, please."},
}

prompt = sys.stdin.read()
print(json.dumps(next(answer for text, answer in ANSWERS.items() if text in prompt)))
