#!/bin/sh
# Makes the class-data archive that lets a node start without parsing and verifying its classes.
# $1: the archive; the rest: the JVM flags that nodes run with, since an archive is of use only to the same flags.
# An image without an archive works, but starts slower: so trouble here is written down and does not fail the build.
set -u
archive=$1
shift
work=/tmp/archive
config=/opt/highwater/archive.properties
libs='/opt/kafka/libs/*'
logging="-Dlog4j2.configurationFile=/opt/highwater/log4j2.properties -Dlog4j.configuration=file:/opt/highwater/log4j.properties"

give_up() {
    echo "highwater: no class-data archive: $1"
    tail -n 5 "$work/node.log" 2>/dev/null
    echo "$1" >/opt/highwater/no-archive
    rm -rf "$work" "$archive"
    exit 0
}

mkdir -p "$work"
# shellcheck disable=SC2086  # the logging options are two words
java "$@" $logging -cp "$libs" kafka.tools.StorageTool format \
    --cluster-id highwaterArchive000000 --config "$config" >"$work/node.log" 2>&1 || give_up "format failed"

# shellcheck disable=SC2086
java "$@" -Xmx512m -XX:ArchiveClassesAtExit="$archive" $logging -cp "$libs" kafka.Kafka "$config" \
    >"$work/node.log" 2>&1 &
node=$!
waited_s=0
until grep -q 'Kafka Server started' "$work/node.log"; do
    kill -0 "$node" 2>/dev/null || give_up "the node died"
    [ "$waited_s" -lt 60 ] || give_up "the node did not start in 60 s"
    sleep 1
    waited_s=$((waited_s + 1))
done

# Some records, so that the classes which store and serve them are in the archive too. It is worth having without.
timeout 30 java "$@" -cp "$libs" org.apache.kafka.tools.ProducerPerformance --topic warm --num-records 200 \
    --record-size 100 --throughput -1 --producer-props bootstrap.servers=127.0.0.1:9092 acks=all \
    || echo "highwater: no records were produced while the archive was made"

kill -TERM "$node"
wait "$node"
[ -s "$archive" ] || give_up "the node left no archive"
java "$@" -Xshare:on -XX:SharedArchiveFile="$archive" -cp "$libs" kafka.tools.StorageTool random-uuid \
    >"$work/node.log" 2>&1 || give_up "the JVM refuses the archive"
rm -rf "$work"
