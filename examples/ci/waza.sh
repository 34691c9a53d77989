#!/bin/sh
# Checks skills and agents, runs a suite, and writes its reports into a directory, on any machine where waza is installed.
# usage: waza.sh EVAL.YAML REPORTS [BASELINE.JSON]
# With a baseline the gate decides whether a run with failed tasks passes. Exit codes are those of waza.
set -eu
suite=$1
reports=$2
baseline=${3:-}

waza check --offline --fail-on=error
waza preflight -- "$suite"

code=0
waza run --reporter="junit:$reports/junit.xml" --output="$reports/results.json" -- "$suite" || code=$?
if [ "$code" -gt 1 ]; then  # it did not run, or was interrupted
  exit "$code"
fi
waza report --output "$reports/report.html" -- "$reports/results.json"
if [ -n "$baseline" ]; then
  waza gate --baseline="$baseline" --current="$reports/results.json" --max-regression-pct=5
else
  exit "$code"
fi
