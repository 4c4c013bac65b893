#!/bin/sh
# Makes the first figure quick: matplotlib looks at every font once and keeps the list in a cache, which a fresh
# sandbox never has. It is told to keep the list with its own data, and the list is made here. $1 is the image's
# directory.
set -eu
cd "$1"

for module in usr/lib/python3*/dist-packages/matplotlib/font_manager.py; do
  sed -i 's/mpl\.get_cachedir(), f"fontlist-/mpl.get_data_path(), f"fontlist-/' "$module"
  grep -q 'mpl\.get_data_path(), f"fontlist-' "$module"
  chroot . python3 -m compileall -q -f --invalidation-mode unchecked-hash "/$module"
done
# The order of sets would make each build's list another.
chroot . env MPLCONFIGDIR=/tmp/matplotlib MPLBACKEND=Agg PYTHONHASHSEED=0 \
  python3 -c 'import matplotlib.pyplot, scipy.linalg, pandas, openpyxl, PIL.Image'
rm -rf tmp/matplotlib
test -s usr/share/matplotlib/mpl-data/fontlist-*.json
