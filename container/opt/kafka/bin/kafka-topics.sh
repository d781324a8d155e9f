#!/bin/sh
# Kafka's command, as far as health checks and start scripts go: --list, --describe, --create, --delete. `oncelog topic` does more.
set -eu
refuse() {
    echo "kafka-topics: $1; see oncelog topic --help" >&2
    exit 1
}
action='' topic='' left=$#
while [ "$left" -gt 0 ]; do
    name=$1 value=${2-}
    shift
    left=$((left - 1))
    case $name in
    --list | --create | --describe | --delete)
        action=${name#--}
        continue
        ;;
    --if-not-exists | --if-exists)
        set -- "$@" "$name"
        continue
        ;;
    --exclude-internal) continue ;;
    --*=*) value=${name#*=} name=${name%%=*} ;;
    *)
        [ "$left" -gt 0 ] || refuse "$name needs a value or is not known here"
        shift
        left=$((left - 1))
        ;;
    esac
    case $name in
    --bootstrap-server) set -- "$@" "--bootstrap=$value" ;;
    --topic) topic=$value ;;
    --partitions | --replication-factor | --config) set -- "$@" "$name=$value" ;;
    *) refuse "$name is not known here" ;;
    esac
done
case $action in
list) names=$(oncelog topic list --internal --format json "$@") || exit 1 ;;
create | delete)
    [ -n "$topic" ] || refuse "--$action needs --topic"
    oncelog topic "$action" "$@" -- "$topic" || exit 1
    ;;
describe) oncelog topic describe "$@" ${topic:+"$topic"} || exit 1 ;;
*) refuse 'name one of --list, --describe, --create, --delete' ;;
esac
[ "$action" != list ] || printf '%s\n' "$names" | sed -n 's/^ *"name": "\(.*\)",$/\1/p'
