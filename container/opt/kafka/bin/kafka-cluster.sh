#!/bin/sh
# Kafka's command as health checks use it: `kafka-cluster cluster-id --bootstrap-server HOST:PORT`.
set -eu
case $#,${1-},${2-} in
3,cluster-id,--bootstrap-server) address=$3 ;;
2,cluster-id,--bootstrap-server=*) address=${2#*=} ;;
*)
    echo 'kafka-cluster takes cluster-id --bootstrap-server HOST:PORT; see oncelog doctor --help' >&2
    exit 1
    ;;
esac
id=$(oncelog doctor --bootstrap "$address" --format json | sed -n 's/.*: cluster \([^, ]*\), .*/\1/p' | head -n 1)
[ -n "$id" ] || {
    echo "kafka-cluster: $address does not serve" >&2
    exit 1
}
echo "Cluster ID: $id"
