#!/bin/bash
# Boards that are network namespaces, each with its own sshd and host name, measured by integrations/ansible. One run is
# killed, and one board is disconnected in mid-run. Writes results/, and reports what happened on standard output. $1:
# punctual, $2: an empty directory, $3: integrations/ansible, $4: ansible-playbook, $5: number of boards, $6: how long
# each measures, s
set -u
punctual=$1 home=$2 role=$3 ansible=$4 boards=$5 seconds=$6
tag=pf$$
mkdir -p "$home" /run/sshd && cd "$home" || exit 2
for key in host user; do ssh-keygen -q -t ed25519 -N '' -f "$key"; done
pids=()
end() {
  for pid in "${pids[@]}"; do kill "$pid" 2> /dev/null; done
  for n in $(seq "$boards"); do ip netns del "$tag-$n" 2> /dev/null; done
  for n in $(seq "$boards"); do umount -l "$home/var/$n" 2> /dev/null; done
}
trap end EXIT
: > known_hosts
printf '[all]\n' > inventory.ini
for n in $(seq "$boards"); do
  ip netns add "$tag-$n" || exit 2
  ip link add "$tag-h$n" type veth peer name eth0 netns "$tag-$n" || exit 2
  ip addr add "10.213.$n.1/30" dev "$tag-h$n" && ip link set "$tag-h$n" up
  ip -n "$tag-$n" addr add "10.213.$n.2/30" dev eth0 && ip -n "$tag-$n" link set eth0 up && ip -n "$tag-$n" link set lo up
  mkdir -p "var/$n"
  printf '%s\n' 'Port 22' "ListenAddress 10.213.$n.2" "HostKey $home/host" "AuthorizedKeysFile $home/user.pub" 'StrictModes no' \
    'UsePAM no' 'PidFile none' 'PermitRootLogin yes' 'MaxStartups 100' 'Subsystem sftp internal-sftp' > "sshd_config.$n"
  # Each board has its own host name and /var/tmp.
  ip netns exec "$tag-$n" unshare --uts --mount sh -c \
    "hostname board-$n; mount --bind '$home/var/$n' /var/tmp; exec /usr/sbin/sshd -D -f '$home/sshd_config.$n'" 2> "sshd.$n.log" &
  pids+=($!)
  echo "10.213.$n.2 $(cat host.pub)" >> known_hosts
  echo "board-$n ansible_host=10.213.$n.2" >> inventory.ini
done
cat >> inventory.ini <<EOF
[all:vars]
ansible_user=root
ansible_python_interpreter=/usr/bin/python3
ansible_ssh_private_key_file=$home/user
ansible_ssh_common_args=-o UserKnownHostsFile=$home/known_hosts -o StrictHostKeyChecking=yes -o IdentitiesOnly=yes -o ForwardAgent=no -o ServerAliveInterval=2 -o ServerAliveCountMax=2
punctual_become=false
EOF
[ -x /usr/bin/python3 ] || sed -i "s|/usr/bin/python3|$(command -v python3)|" inventory.ini
sleep 1
export ANSIBLE_HOST_KEY_CHECKING=True ANSIBLE_RETRY_FILES_ENABLED=False ANSIBLE_ROLES_PATH=$role/roles ANSIBLE_NOCOLOR=1
export ANSIBLE_TIMEOUT=8 ANSIBLE_FORKS=$boards ANSIBLE_LOCAL_TEMP=$home/tmp ANSIBLE_SSH_CONTROL_PATH_DIR=$home/cp
play() {
  "$ansible" -i inventory.ini "$role/measure.yml" -e "punctual_binary=$punctual" -e "punctual_local=$punctual" -e punctual_run=acceptance \
    -e "punctual_duration=${seconds}s" -e punctual_interval=10ms -e "punctual_results_dir=$home/results" -e punctual_look_every=3 \
    -e punctual_patience=120 -e punctual_become=false
}
mkdir -p results tmp cp
play > play.log 2>&1 &
playing=$!
# Waits until all runs have begun. Then one is killed, and another board is disconnected until after its run has ended.
for _ in $(seq 240); do
  begun=$(ls -d var/*/punctual/acceptance/segments 2> /dev/null | wc -l)
  [ "$begun" = "$boards" ] && break
  kill -0 $playing 2> /dev/null || break
  sleep 0.5
done
echo "begun: $begun of $boards"
sleep 5
killed=$((boards - 1)) cut=$boards
# Looks only at the processes in this board's network namespace.
for pid in $(ip netns pids "$tag-$killed"); do
  tr '\0' ' ' < "/proc/$pid/cmdline" 2> /dev/null | grep -q ' measure --quiet' && kill -9 "$pid" && echo "killed: board-$killed"
done
ip link set "$tag-h$cut" down && echo "cut off: board-$cut"
sleep $((seconds + 8))
ip link set "$tag-h$cut" up && echo "back: board-$cut"
wait $playing
echo "ansible-playbook: $?"
cat results/outcomes.txt 2> /dev/null
ls results/fleet.* 2> /dev/null
