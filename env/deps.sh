#!/bin/sh
# Installs what is missing: deps.sh PROGRAM-OR-FILE=PACKAGE...
# With apt where it may, as root or by sudo; else it says what to install.
set -eu

missing=""
for want in "$@"; do
	thing=${want%%=*}
	package=${want#*=}
	case $thing in
	/*) [ -e "$thing" ] && continue ;;
	*) PATH="$PATH:/usr/sbin:/sbin" command -v "$thing" >/dev/null && continue ;;
	esac
	missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
	echo "Missing:$missing (Debian's names). Install them with your system's package manager." >&2
	exit 1
fi
if [ "$(id -u)" = 0 ]; then
	as_root=""
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
	as_root="sudo -n"
else
	echo "Missing:$missing. Run: sudo apt-get install$missing" >&2
	exit 1
fi
echo "Installing:$missing" >&2

# A policy that forbids starting services keeps the packages from running
# servers of their own, which nobody asked for.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
	printf '#!/bin/sh\nexit 101\n' | $as_root tee $policy >/dev/null
	$as_root chmod 755 $policy
	trap '$as_root rm -f $policy' EXIT
fi
$as_root apt-get update -qq
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
