#!/bin/sh
# Builds actionlint, which tests check workflow files with, from the versions that tests/actionlint/go.sum pins.
# usage: scripts/actionlint.sh PROGRAM          needs Go 1.25 or newer; does nothing when it is there and as pinned
set -eu
program=${1:?usage: scripts/actionlint.sh PROGRAM, the path of the file to write}
lock=$(dirname "$0")/../tests/actionlint/go.sum

if cmp -s "$lock" "$program.sum"; then
  exit
fi
if ! command -v go >/dev/null; then
  echo "No Go: workflow files will not be checked by actionlint. Install Go 1.25 or newer." >&2
  exit
fi
go build -C "$(dirname "$lock")" -o "$(cd "$(dirname "$program")" && pwd)/$(basename "$program")" \
  github.com/rhysd/actionlint/cmd/actionlint
cp "$lock" "$program.sum"
