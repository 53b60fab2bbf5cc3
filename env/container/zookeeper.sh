# Runs a ZooKeeper: FILE NUMBER
# $LOCKCOST_TEXT is FILE's text, which is in its dataDir; NUMBER is its myid.
set -eu
file=$1
folder=${file%/*}
java=$(command -v java) || exit 95

# Debian's jar names those that it needs, but for one to log with. Apache's has
# them all beside it.
if [ -e /usr/share/java/zookeeper.jar ]; then
	jars=/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar
else
	for jars in /apache-zookeeper-*/lib/zookeeper-[0-9]*.jar /opt/*/lib/zookeeper-[0-9]*.jar /opt/*/*/lib/zookeeper-[0-9]*.jar; do
		[ ! -e "$jars" ] || break
	done
	[ -e "$jars" ] || exit 96
	jars="${jars%/*}/*"
fi

umask 077
mkdir -p "$folder"
printf '%s' "$LOCKCOST_TEXT" >"$file"
echo "$2" >"$folder/myid"
unset LOCKCOST_TEXT
# Without it, logback would log each request.
cat >"$folder/logback.xml" <<'END'
<configuration>
  <appender name="console" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d{HH:mm:ss.SSS} %-5p [%t] %c{0}: %m%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="console"/></root>
</configuration>
END

exec "$java" -Xms256m -Xmx256m -XX:-UsePerfData -Dlogback.configurationFile="$folder/logback.xml" \
	-cp "$jars" org.apache.zookeeper.server.quorum.QuorumPeerMain "$file"
