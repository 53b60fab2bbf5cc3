#!/bin/sh
# Unpacks programs of another suite into a folder, and installs nothing:
#
#	unpack.sh DIR SUITE[,SUITE...] PACKAGE...
#
# The packages, and the libraries that they depend on down to libc, come from
# the mirror that this system's apt uses, of the first SUITE that it has. apt
# keeps what it needs for that in a folder of its own, and nothing of the
# system's changes. DIR/bin/NAME starts the program NAME with those libraries
# and their own dynamic loader, so that the suite may be newer than the system.
# Where DIR is there already nothing is done; it appears when it is complete.
set -eu

usage="usage: unpack.sh DIR SUITE[,SUITE...] PACKAGE..."
dir=${1:?$usage}
suites=${2:?$usage}
: "${3:?$usage}"
shift 2
[ ! -d "$dir" ] || exit 0

for program in apt-get apt-cache dpkg-deb; do
	command -v $program >/dev/null || { echo "No $program: $dir can only be made on Debian or Ubuntu." >&2; exit 1; }
done
mkdir -p "$(dirname "$dir")"
dir=$(cd "$(dirname "$dir")" && pwd)/$(basename "$dir")
# What was cut off by SIGKILL stays beside it, and goes an hour later.
find "$(dirname "$dir")" -maxdepth 1 -name "$(basename "$dir").partial.*" -mmin +60 -exec rm -rf {} +
work=$(mktemp -d "$dir.partial.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# The mirror of the system's own suite, and the key that signs it.
codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' "Codename: $codename" 'Component: main' | sed 1q)
key=$(apt-get indextargets --format '$(SIGNED_BY)' 'Created-By: Packages' "Codename: $codename" 'Component: main' | sed 1q)
[ -n "$mirror" ] || { echo "apt's configuration has no mirror of the suite \"$codename\"." >&2; exit 1; }
case $key in
/*) signed="[signed-by=$key]" ;;
*) signed="" ;; # apt's trusted keys
esac

# apt as if nothing were installed, knowing one suite.
mkdir -p "$work/state/lists/partial" "$work/cache/archives/partial" "$work/debs"
: >"$work/status"
private() {
	command=$1
	shift
	"$command" -q -o Dir::State="$work/state" -o Dir::State::status="$work/status" -o Dir::Cache="$work/cache" \
		-o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=/dev/null \
		-o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null \
		-o APT::Sandbox::User= -o Acquire::Retries=2 -o Acquire::Languages=none "$@"
}

# has_suite renews the private lists from one suite. Ubuntu has servers in
# universe; what has no such component only warns.
has_suite() {
	echo "deb $signed $mirror $1 main universe" >"$work/sources.list"
	private apt-get update >"$work/log" 2>&1 && private apt-cache show "$2" >/dev/null 2>&1
}

found=""
for suite in $(echo "$suites" | tr , ' '); do
	if has_suite "$suite" "$1"; then
		found=$suite
		break
	fi
done
[ -n "$found" ] || {
	echo "The mirror that apt uses has no $1 in any of the suites $suites; apt says:" >&2
	cat "$work/log" >&2
	exit 1
}
echo "Unpacking $* of $found into $dir" >&2

# Of what they depend on only libraries matter to a program that is started by
# hand, not users, services and the like.
libraries=$(private apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts \
	--no-breaks --no-replaces --no-enhances "$@" | grep -E '^lib[a-z0-9.+-]*$' | sort -u)
(cd "$work/debs" && private apt-get download "$@" $libraries >"$work/log" 2>&1) || { cat "$work/log" >&2; exit 1; }
mkdir -p "$work/tree/root" "$work/tree/bin"
for package in "$work"/debs/*.deb; do
	dpkg-deb -x "$package" "$work/tree/root"
done

loader=$(cd "$work/tree/root" && find . -type f -name 'ld-linux*.so*' | sed 1q)
[ -n "$loader" ] || { echo "The packages bring no dynamic loader." >&2; exit 1; }
libs=$(basename "$(dirname "$loader")")
root=$dir/root
for program in "$work"/tree/root/usr/bin/*; do
	name=$(basename "$program")
	cat >"$work/tree/bin/$name" <<END
#!/bin/sh
exec "$root/${loader#./}" --library-path "$root/usr/lib/$libs:$root/lib/$libs" "$root/usr/bin/$name" "\$@"
END
	chmod 755 "$work/tree/bin/$name"
done
mv -T "$work/tree" "$dir" 2>/dev/null || [ -d "$dir" ] # another was faster
