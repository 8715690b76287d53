#!/bin/sh
# Deletes files of installed packages that the gateway does not need: the Node from npm, source maps, types,
# TypeScript (Node runs none in packages), documentation and tests. Licences are kept.
set -eu
cd "$1"
rm -rf node-linux-* .bin
find . -type f \( -name '*.map' -o -name '*.ts' -o -name '*.mts' -o -name '*.cts' -o -name '*.flow' \
  -o -name '*.tsbuildinfo' \) -delete
find . -type f \( -iname '*.md' -o -iname '*.markdown' \) \
  ! -iname '*licen*' ! -iname '*notice*' ! -iname '*copying*' -delete
# Only at the top level of a package: a nested folder of such a name may contain code.
find . -type d \( -path './*/*' -o -path './@*/*/*' \) ! -path './*/*/*/*' \
  \( -name test -o -name tests -o -name __tests__ -o -name docs -o -name example -o -name examples \
  -o -name benchmark -o -name benchmarks -o -name coverage -o -name .github \) \
  -exec sh -c 'for folder; do [ ! -e "${folder%/*}/package.json" ] || rm -rf "$folder"; done' sh {} +
find . -type d -empty -delete
