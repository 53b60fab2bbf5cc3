#!/bin/sh
# Builds the etcd of go.mod into the cache, unless it is there: it has no
# package on every system, and the one it has is an old one on many.
set -eu

folder=${XDG_CACHE_HOME:-$HOME/.cache}/lockcost/bin
version=$(go list -m -f '{{.Version}}' go.etcd.io/etcd/server/v3)
etcd=$folder/etcd-$version
[ ! -x "$etcd" ] || exit 0

mkdir -p "$folder"
echo "Building etcd $version, once: up to some minutes" >&2
# Under a name of its own until it is whole, as somebody else may build it too.
unfinished=$folder/unfinished-etcd-$$
trap 'rm -f "$unfinished"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
CGO_ENABLED=0 go build -o "$unfinished" go.etcd.io/etcd/server/v3
mv "$unfinished" "$etcd"
