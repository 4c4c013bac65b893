#!/bin/sh
# Puts what the recipe carries of this package, which has been copied to /opt/mcp-sandbox-bridge, into its place: the
# command code-exec, /work for files that stay, and of the package only what that command loads. $1 is the image's directory.
set -eu
cd "$1"

find opt/mcp-sandbox-bridge/dist -type f ! -path '*/dist/cli/main.js' ! -path '*/dist/bundle/*' -delete
find opt/mcp-sandbox-bridge/dist -name '*.map' -delete
find opt/mcp-sandbox-bridge/dist -type d -empty -delete
chown -R 0:0 opt/mcp-sandbox-bridge
chmod -R u=rwX,go=rX opt/mcp-sandbox-bridge

# Of other images.
rmdir workspace ipc
mkdir work
chown 65534:65534 work

mkdir -p usr/lib/code-exec/stand-ins
ln -s /usr/bin/busybox usr/lib/code-exec/stand-ins/ls
ln -s /usr/bin/busybox usr/lib/code-exec/stand-ins/stat
# Not in /usr/local, which is the commands' own.
cat >usr/bin/code-exec <<'SCRIPT'
#!/bin/sh
# gVisor of 2022, which Debian 12 has, refuses what GNU ls and stat ask for (statx with AT_NO_AUTOMOUNT).
ls -d / >/dev/null 2>&1 || export PATH="/usr/lib/code-exec/stand-ins:$PATH"
set -- node /opt/mcp-sandbox-bridge/dist/cli/main.js code-exec "$@"
# The first process has to reap what others leave behind, which Node does not.
[ $$ = 1 ] && exec tini -- "$@"
exec "$@"
SCRIPT
chmod 755 usr/bin/code-exec
chroot . node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)'
