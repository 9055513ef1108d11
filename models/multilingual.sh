#!/bin/sh
# Makes the Chinese and English model, once: later runs find it in place or in the cache.
set -eu
exec python3 "$(dirname "$0")/recipe/build.py" multilingual-e5-small
