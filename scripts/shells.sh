#!/bin/sh
# Sees to it that there are zsh and fish for the tests of completion; without them these are skipped.
# usage: scripts/shells.sh           installs on Debian and its like, as root
set -eu

missing=""
for name in zsh fish; do
  command -v "$name" >/dev/null || missing="$missing $name"
done
if [ -z "$missing" ]; then
  exit
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "installing$missing" >&2
  export DEBIAN_FRONTEND=noninteractive
  # shellcheck disable=SC2086 # several names
  if apt-get update -qq && apt-get install -y -qq --no-install-recommends $missing >/dev/null; then
    exit
  fi
fi
echo "No$missing: the tests of completion in these shells will be skipped." >&2
