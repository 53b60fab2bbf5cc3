# Runs a MariaDB or a MySQL with its data in a folder: FOLDER OPTION...
# The first time it makes the system tables, with no account that has no
# password, and has the server run the statements of $LOCKCOST_TEXT.
set -eu
folder=$1
shift
PATH=$PATH:/usr/local/sbin:/usr/sbin:/usr/libexec
server=$(command -v mariadbd || command -v mysqld) || exit 96
set -- --no-defaults --user=root --datadir="$folder/data" --tmpdir="$folder/tmp" \
	--socket="$folder/socket" --pid-file="$folder/pid" "$@"
text=$LOCKCOST_TEXT
unset LOCKCOST_TEXT

case $("$server" --no-defaults --version) in
*MariaDB*)
	# As mariadb-install-db does, which needs programs of another package;
	# without the texts of HELP and the views of sys, which take most of its time.
	share=$("$server" --no-defaults --user=root --verbose --help 2>/dev/null |
		sed -n 's/^character-sets-dir  *//p')
	share=$(dirname "$share")
	tables() {
		printf '%s;\n' 'CREATE DATABASE mysql' 'USE mysql' 'SET @auth_root_socket=NULL'
		for f in system_tables performance_tables system_tables_data; do
			cat "$share/mariadb_$f.sql" 2>/dev/null || cat "$share/mysql_$f.sql"
		done
		echo "DELETE FROM global_priv WHERE User <> 'mariadb.sys';"
		echo 'DELETE FROM proxies_priv;'
	}
	make() {
		tables >"$folder/tables.sql"
		"$server" "$@" --bootstrap --log-warnings=0 --enforce-storage-engine= \
			--max-allowed-packet=8M <"$folder/tables.sql"
		rm "$folder/tables.sql"
	}
	;;
*)
	set -- "$@" --loose-mysqlx=OFF --secure-file-priv=NULL
	make() { "$server" "$@" --initialize-insecure; }
	text="DROP USER 'root'@'localhost';
$text"
	;;
esac

if [ ! -e "$folder/made" ]; then
	umask 077
	mkdir -p "$folder/data" "$folder/tmp"
	make "$@"
	printf '%s' "$text" >"$folder/first.sql"
	: >"$folder/made"
	set -- "$@" --init-file="$folder/first.sql"
else
	rm -f "$folder/first.sql"
fi
exec "$server" "$@"
