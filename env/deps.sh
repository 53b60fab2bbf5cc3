#!/bin/sh
# Installs what is missing: deps.sh PROGRAM-OR-FILE=PACKAGE...
# With apt where it may, as root or by sudo; else it says what to install.
set -eu

# lacking prints the packages of what is not there.
lacking() {
	for want in "$@"; do
		thing=${want%%=*}
		case $thing in
		/*) [ -e "$thing" ] && continue ;;
		*) (PATH="$PATH:/usr/sbin:/sbin" && command -v "$thing" >/dev/null) && continue ;;
		esac
		printf ' %s' "${want#*=}"
	done
}

missing=$(lacking "$@")
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
	echo "Missing:$missing. Run: sudo apt-get update && sudo apt-get install --no-install-recommends$missing" >&2
	exit 1
fi
echo "Installing:$missing" >&2

# The packages bring services of their own, which nobody asked for: a policy
# forbids starting them now, and they are not enabled for the next boot. One
# shell does all that needs root, so that it can take the policy away again
# however long it took. Lists that could not be renewed may do all the same.
$as_root sh -eu -c '
	policy=/usr/sbin/policy-rc.d
	if [ ! -e $policy ] && [ ! -L $policy ]; then
		trap "rm -f $policy" EXIT
		trap "exit 129" HUP
		trap "exit 130" INT
		trap "exit 143" TERM
		printf "#!/bin/sh\nexit 101\n" >$policy
		chmod 755 $policy
	fi
	export DEBIAN_FRONTEND=noninteractive
	apt="apt-get -qq -o DPkg::Lock::Timeout=300"
	$apt update >&2 || echo "Not all package lists could be renewed; going on with those there are." >&2
	$apt install -y --no-install-recommends "$@" >/dev/null
	for package in "$@"; do
		! command -v systemctl >/dev/null || systemctl disable "$package" >/dev/null 2>&1 || :
	done
' sh $missing

still=$(lacking "$@")
if [ -n "$still" ]; then
	echo "Still missing after its installation:$still. Is it in another package on this system?" >&2
	exit 1
fi
