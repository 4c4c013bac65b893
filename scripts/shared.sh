# Sourced by setup and test-user: what both do for a user's podman. Defines functions, does nothing by itself.

say() { printf '%-10s %s\n' "$1:" "$2"; }

# has_sub_ids USER: whether USER may map further ids, which rootless containers are made of.
has_sub_ids() {
  local file
  for file in /etc/subuid /etc/subgid; do
    grep -q -E "^($1|$(id -u "$1")):" "$file" 2>/dev/null || return 1
  done
}

# free_sub_ids: the first 65536 ids above every range that is taken, as FIRST-LAST.
free_sub_ids() {
  cat /etc/subuid /etc/subgid 2>/dev/null |
    awk -F: 'BEGIN { free = 100000 } $2 + $3 > free { free = $2 + $3 } END { print free "-" free + 65535 }'
}

# prefer_overlay HOME: podman takes vfs, which copies the image for every container, when it finds no driver named
# and is not sure of overlay. Only for a store that does not exist yet: changing an existing one would hide it.
prefer_overlay() {
  local config="$1/.config/containers/storage.conf"
  if [ -e "$config" ] || [ -e "$1/.local/share/containers/storage/libpod" ]; then return 1; fi
  mkdir -p "$(dirname "$config")"
  printf '[storage]\ndriver = "overlay"\n' >"$config"
}
