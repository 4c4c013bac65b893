#!/bin/sh
# Puts what the recipe carries of this package, which has been copied to /opt/mcp-sandbox-bridge, into its place: the
# command code-exec, a folder for work, and no source maps. $1 is the image's directory.
set -eu
cd "$1"

find opt/mcp-sandbox-bridge -name '*.map' -delete
mkdir -p usr/local/bin work
cat >usr/local/bin/code-exec <<'SCRIPT'
#!/bin/sh
exec node /opt/mcp-sandbox-bridge/dist/cli/main.js code-exec "$@"
SCRIPT
chmod 755 usr/local/bin/code-exec
chown -R 65534:65534 work
chroot . node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)'
