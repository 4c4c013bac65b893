#!/bin/sh
# Makes a fresh Debian root small and harmless. mmdebstrap runs it as the root of the image's own id range, with the
# image's directory as $1. What goes is listed in the recipe and arrives in two variables, one name or pattern per
# line. Never touches anything outside $1.
set -eu
root=$1

# Not --purge: its scripts would need debconf, which is going too. What they would tidy up is in IMAGE_REMOVE_PATHS.
# A root that was only unpacked never had them.
doomed=
if [ -x "$root/usr/bin/dpkg-query" ]; then
  installed=$(chroot "$root" dpkg-query --show --showformat '${Package}\n')
  doomed=$(printf '%s\n' "$IMAGE_REMOVE_PACKAGES" | grep -Fx "$installed" || true)
fi
if [ -n "$doomed" ]; then
  # shellcheck disable=SC2086 # one argument per package name
  chroot "$root" dpkg --force-remove-essential --force-remove-protected --force-depends --remove $doomed
fi

# A path may be a pattern, expanded inside the image only.
cd "$root"
printf '%s\n' "$IMAGE_REMOVE_PATHS" | while IFS= read -r pattern; do
  # shellcheck disable=SC2086 # the pattern is meant to expand
  rm -rf --one-file-system ./$pattern
done

find . -xdev -perm /6000 -exec chmod a-s {} +
mkdir -p tmp workspace ipc
chmod 1777 tmp workspace
