#!/bin/sh
# Tells dpkg that packages are there which others ask for and nothing in the image uses (compilers, toolkits), so that
# they are not even downloaded. mmdebstrap runs it before it installs what the recipe names; trim.sh takes the entries
# out again. $1 is the image's directory, IMAGE_STAND_INS holds one name per line.
set -eu

printf '%s\n' "$IMAGE_STAND_INS" | while IFS= read -r package; do
  printf 'Package: %s\nStatus: install ok installed\nVersion: 99:999\nArchitecture: all\nMulti-Arch: foreign\n' "$package"
  printf 'Maintainer: none\nDescription: stands in for a package that the image does without\n\n'
done >>"$1/var/lib/dpkg/status"
