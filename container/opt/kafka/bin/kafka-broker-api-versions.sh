#!/bin/sh
# Kafka's command as health checks use it: exit status 0 when the broker answers ApiVersions. `oncelog doctor` says more.
set -eu
case $#,${1-} in
2,--bootstrap-server) address=$2 ;;
1,--bootstrap-server=*) address=${1#*=} ;;
*)
    echo 'kafka-broker-api-versions takes --bootstrap-server HOST:PORT; see oncelog ready --help' >&2
    exit 1
    ;;
esac
oncelog ready --bootstrap "$address" || exit 1
echo "$address serves"
