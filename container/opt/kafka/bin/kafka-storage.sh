#!/bin/sh
# The broker formats its directory when it starts, with the id in CLUSTER_ID: there is nothing to do but to make up ids.
set -eu
refuse() {
    echo "kafka-storage: $1" >&2
    exit 1
}
case ${1-} in
random-uuid) head -c 16 /dev/urandom | base64 | tr '+/' '__' | cut -c -22 ;;
format)
    case $* in
    *--add-scram*) refuse '--add-scram makes no user here; when the broker runs, oncelog user set does' ;;
    esac
    ;;
*) refuse 'takes format or random-uuid' ;;
esac
