#!/bin/sh
# Sees to it that there is a Chromium for the tests of reports; without one they are skipped.
# usage: scripts/browser.sh          WAZA_CHROMIUM names another program; installs on Debian and its like, as root
set -eu

found() {
  for name in ${WAZA_CHROMIUM:+"$WAZA_CHROMIUM"} chromium chromium-browser google-chrome google-chrome-stable; do
    command -v "$name" >/dev/null && return
  done
  return 1
}

if found; then
  exit
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "installing chromium" >&2
  export DEBIAN_FRONTEND=noninteractive
  if apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null; then
    exit
  fi
fi
echo "No Chromium: the tests in tests/browser will be skipped. Install chromium or Google Chrome," >&2
echo "or set WAZA_CHROMIUM to the path of one." >&2
