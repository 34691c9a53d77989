#!/bin/sh
# Installs the Copilot runtime that DIR/package-lock.json pins, unpacks it once, and prints the path of its program.
# usage: scripts/runtime.sh DIR          needs npm; does nothing when all is there
set -eu
cd "${1:?usage: scripts/runtime.sh DIR, where DIR has a package.json and a package-lock.json}"

# npm picks one package for this system; its program unpacks the runtime proper into a cache directory.
installed() { echo "$PWD"/node_modules/@github/copilot-*/copilot; }
unpacked() { find "$PWD/cache" -name copilot-runtime -type f; }

# The lock is kept beside what came from it, last of all: another lock, or an attempt that broke off, starts anew.
if ! cmp -s package-lock.json cache/package-lock.json; then
  rm -rf cache && mkdir cache
  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2
  XDG_CACHE_HOME="$PWD/cache" COPILOT_AUTO_UPDATE=false "$(installed)" --version >&2
  cp package-lock.json cache/
fi

# The place inside the cache is not documented. The installed program is slower, and does as well.
found=$(unpacked)
echo "${found:-$(installed)}"
