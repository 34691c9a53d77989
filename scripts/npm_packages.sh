#!/bin/sh
# Installs what DIR/package-lock.json pins into DIR/node_modules; does nothing when it is there.
# usage: scripts/npm_packages.sh DIR          needs npm
set -eu
cd "${1:?usage: scripts/npm_packages.sh DIR, where DIR has a package.json and a package-lock.json}"

# The lock is kept beside what came from it, last of all: another lock, or an attempt that broke off, starts anew.
if ! cmp -s package-lock.json node_modules/.installed-lock.json; then
  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2
  cp package-lock.json node_modules/.installed-lock.json
fi
