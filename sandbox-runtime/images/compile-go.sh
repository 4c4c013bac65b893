#!/bin/sh
# Compiles Go's standard library ahead, into a cache that no run can write, and leaves of Go only what compiles
# programs. IMAGE_ENV holds the image's environment, one NAME=value per line: the cache counts only for the flags in it.
# Fails when a program would find the cache of no use. $1 is the image's directory.
set -eu
cd "$1"

# cgo, cover, vet, pprof and the like serve other commands than `go build`.
find usr/lib/go-*/pkg/tool -type f ! -name asm ! -name buildid ! -name compile ! -name link -delete
find usr/share/go-*/src -name '*_test.go' -delete
find usr/share/go-*/src -name testdata -prune -exec rm -rf {} +
# An index in the cache knows the sources by their times, which must be those that the image will have.
find usr/share/go-*/src -newermt "@$SOURCE_DATE_EPOCH" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +

in_image() {
  (
    IFS='
'
    # shellcheck disable=SC2086 # one argument per line
    exec chroot . env -i HOME=/tmp TZ=UTC $IMAGE_ENV "$@"
  )
}
cache=$(in_image printenv GOCACHE)
in_image go build std

# All that a program may still cost is one package of its own.
mkdir tmp/check
cp -a ".$cache" tmp/check/cache
cat >tmp/check/main.go <<'GO'
package main

import (
	"fmt"
	"net/http"
)

func main() { fmt.Println(http.StatusText(http.StatusOK)) }
GO
in_image env GOCACHE=/tmp/check/cache go build -x -o /tmp/check/main /tmp/check/main.go 2>tmp/check/commands || {
  tail tmp/check/commands >&2
  exit 1
}
test "$(grep -c '/compile ' tmp/check/commands)" = 1
test "$(chroot . /tmp/check/main)" = OK

# How a program of one file is compiled and linked without the go command (harness/go_program.py). What it may import is the
# standard library, but for what only the library itself may.
alone=$cache/alone
mkdir ".$alone"
in_image env GOCACHE=/tmp/check/cache sh -c \
  'cd /tmp/check && go mod init main && go build -mod=mod -ldflags=-w -x -o main .' 2>tmp/check/commands
in_image go list -export -f '{{if .Export}}packagefile {{.ImportPath}}={{.Export}}{{end}}' std >".$alone/all"
grep -v -E '^packagefile (vendor/|internal/|[^=]*/internal[/=])' ".$alone/all" >".$alone/importable"
grep '^modinfo ' tmp/check/commands >>".$alone/all"
language=$(grep -o -m 1 -E -e '-lang=go[0-9.]+' tmp/check/commands)
tools=$(in_image go env GOTOOLDIR)
cat >".$alone/plan.json" <<JSON
{
  "flags": "$(in_image printenv GOFLAGS)",
  "goroot": "$(in_image go env GOROOT)",
  "module": "$(sed -z 's/\n/\\n/g' tmp/check/go.mod)",
  "compile": [
    "$tools/compile", "-p=main", "$language", "-complete", "-dwarf=false", "-nolocalimports", "-pack",
    "-goversion=$(in_image go env GOVERSION)", "-importcfg=$alone/importable"
  ],
  "link": ["$tools/link", "-buildmode=exe", "-w", "-importcfg=$alone/all"]
}
JSON
rm -rf tmp/check tmp/.config

# No build of the image is to differ from another: when an entry was made stands in its last column.
rm -f ".$cache/README" ".$cache/trim.txt" ".$cache/testexpire.txt"
find ".$cache" -name '*-a' -exec sed -i -E "s/.{20}\$/$(printf '%20d' "${SOURCE_DATE_EPOCH}000000000")/" {} +
chmod -R a+rX,go-w ".$cache"
# Go from 1.20 on fails where it cannot write when it last looked for old entries. It removes none that it cannot.
ln -s /tmp/go-build-trim.txt ".$cache/trim.txt"
