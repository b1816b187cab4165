#!/bin/sh
# Brings Debian's chromium for the browser tests where that is allowed; else they skip and name the line to type.
command -v chromium >/dev/null 2>&1 && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing chromium for the browser tests"
    (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium) >/dev/null 2>&1 \
        || echo "chromium could not be installed; the browser tests will skip"
else
    echo "no chromium on PATH: the browser tests will skip; to run them: sudo apt-get install chromium"
fi
exit 0
