# Runs a Redis or a Valkey, also as a Sentinel: FILE [--sentinel].
# $LOCKCOST_TEXT is FILE's text the first time; later it is the server's own.
set -eu
file=$1
PATH=$PATH:/usr/local/sbin:/usr/sbin:/usr/libexec
server=$(command -v redis-server || command -v valkey-server) || exit 96
if [ ! -e "$file" ]; then
	umask 077
	mkdir -p "${file%/*}"
	printf '%s' "$LOCKCOST_TEXT" >"$file.new"
	mv "$file.new" "$file"
fi
unset LOCKCOST_TEXT
exec "$server" "$@"
