#!/bin/sh
# strip-comments.sh FILE ...: takes the lines out of JavaScript that hold only a comment: pages download it. Comments beside
# code stay.
set -eu
for file; do
    sed -i.commented -e '/^[[:space:]]*\/\*\*$/,/\*\/$/d' -e '/^[[:space:]]*\/\*\* .*\*\/$/d' -e '/^[[:space:]]*\/\/ /d' "$file"
    rm "$file.commented"
done
