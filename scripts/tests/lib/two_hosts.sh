#!/usr/bin/env bash
# two_hosts.sh CUT COMMAND...: runs a command on a host of its own, "alpha" (10.77.1.1), with a network
# to another one, "beta" (10.77.1.2): network namespaces with the files of this machine. $BETA, the file
# CUT.beta, is a program that runs "$BETA HOST COMMAND..." there, as mpirun asks of a remote shell. When a
# file CUT appears the link goes down. All processes of both hosts end with the command or with this
# script; "left: NAME" on stdout names each that did not end within five seconds by itself. Status 77: no
# namespaces can be made here.
set -euo pipefail
if [ "${TWO_HOSTS-}" = "" ]; then
  export TWO_HOSTS=made
  for user in "" "--user --map-root-user"; do
    # shellcheck disable=SC2086 # none, or two words
    if unshare $user --net --uts --pid --fork --mount-proc --kill-child true 2> /dev/null; then
      exec unshare $user --net --uts --pid --fork --mount-proc --kill-child "$0" "$@"
    fi
  done
  exit 77
fi

cut=$1
shift
unshare --net --uts sleep 100000 &
beta=$!
while [ "$(readlink /proc/$beta/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do sleep 0.05; done
export BETA
BETA=$(realpath "$cut").beta
printf '#!/bin/sh\nshift\nexec nsenter -t %s --net --uts sh -c "$*"\n' $beta > "$BETA"
chmod +x "$BETA"
"$BETA" beta hostname beta
hostname alpha
ip link add alpha type veth peer name beta netns $beta
ip link set lo up
ip address add 10.77.1.1/24 dev alpha
ip link set alpha up
"$BETA" beta "ip link set lo up && ip address add 10.77.1.2/24 dev beta && ip link set beta up"

"$@" &
command=$!
while kill -0 $command 2> /dev/null; do
  if [ -e "$cut" ]; then
    ip link set alpha down
    break
  fi
  sleep 0.05
done
status=0
wait $command || status=$?
left() {
  cat /proc/[0-9]*/comm 2> /dev/null | grep -vx -e bash -e sh -e cat -e grep -e sed -e sleep || true
}
for _ in {1..50}; do
  [ -n "$(left)" ] || break
  sleep 0.1
done
left | sed 's/^/left: /'
exit $status
