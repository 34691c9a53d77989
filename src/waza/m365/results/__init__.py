"""From what happened in a run to the result document and its reports."""
