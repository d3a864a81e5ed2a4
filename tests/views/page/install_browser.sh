#!/bin/sh
# Installs what the tests of pages need and pip does not bring: Chromium from Debian's packages, and
# axe-core from npm into a folder that git ignores. Run `make browser`.
set -eu
cd "$(dirname "$0")"

missing=""
command -v chromium >/dev/null || missing="$missing chromium"
command -v npm >/dev/null || missing="$missing npm"
if [ -n "$missing" ]; then
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        echo "make browser: please install$missing; only root on Debian or Ubuntu can do it here." >&2
        exit 1
    fi
    apt-get update --quiet
    # The names of programs and packages are the same.
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive apt-get install --quiet --yes --no-install-recommends $missing
fi

npm ci --ignore-scripts --no-audit --no-fund
