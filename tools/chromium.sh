#!/usr/bin/env bash
# Makes sure that there is a Chromium for the tests of the page, or says how to get one.
set -euo pipefail
command -v chromium >/dev/null || command -v chromium-browser >/dev/null && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null && exit 0
fi
echo "The tests of the page need Chromium, and there is none; install it (apt-get install chromium) and run this again." >&2
exit 3
