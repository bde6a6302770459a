#!/bin/bash
# Deploys over ssh into a mount namespace that has its own /boot, /etc/default/grub, /lib/modules and /var/lib/punctual. The controller and its
# ssh are killed at a random time. The default boot entry must then be unchanged, a second deployment must succeed, and a rollback must restore
# every byte.
# $1: punctual, $2: kernel.tar, $3: number of runs, $4: an empty directory on a disk (not tmpfs), $5: roots of crates/system/boot
set -u
punctual=$1 kernel=$2 runs=$3 home=$4 roots=$5
mkdir -p "$home"/{boot,modules,state,ssh,default,home} /run/sshd /lib/modules /var/lib/punctual /etc/default
cp -a "$roots/debian-12-grub/boot/." "$home/boot/"
cp -a "$roots/debian-12-grub/etc/default/." "$home/default/"
grep -oE '^\s*linux\s+\S+' "$home/boot/grub/grub.cfg" | while read -r _ image; do echo old > "$home/boot/${image##*/}"; done
sed 's/$/ /' "$roots/debian-12-grub/proc/cmdline" > "$home/cmdline"
mount --make-rprivate /
mount --bind "$home/boot" /boot
mount --bind "$home/modules" /lib/modules
mount --bind "$home/state" /var/lib/punctual
mount --bind "$home/default" /etc/default
mount --bind "$home/cmdline" /proc/cmdline
[ -d /etc/initramfs-tools ] && mkdir -p "$home/none" && mount -t tmpfs none /etc/initramfs-tools && umount /etc/initramfs-tools
cd "$home/ssh" || exit 2
for key in host user; do ssh-keygen -q -t ed25519 -N '' -f "$key"; done
port=$((20000 + RANDOM % 20000))
printf '%s\n' "Port $port" 'ListenAddress 127.0.0.1' "HostKey $PWD/host" "AuthorizedKeysFile $PWD/user.pub" 'StrictModes no' \
  'UsePAM no' 'PidFile none' 'PermitRootLogin yes' 'MaxStartups 100' > sshd_config
echo "[127.0.0.1]:$port $(cat host.pub)" > known_hosts
printf '%s\n' "IdentityFile $PWD/user" 'IdentitiesOnly yes' "UserKnownHostsFile $PWD/known_hosts" > config
/usr/sbin/sshd -D -f "$PWD/sshd_config" 2> log &
sshd=$!
trap 'kill $sshd' EXIT
sleep 1
on="--target ssh://127.0.0.1:$port --ssh-config $PWD/config"
deploy() { "$punctual" kernel deploy "$kernel" $on --manual-recovery --skip processor --skip space; }
list() { cd "$home" && find boot modules default -type f -exec sha256sum {} + | grep -v ' boot/grub/grubenv$' | sort; find boot modules default | sort; cd - > /dev/null; }
list > "$home/before"
# Duration of one deployment, including the transfer of the program and the package.
rm -rf ~/.cache/punctual/remote
begun=$(date +%s%N)
deploy > "$home/first" 2>&1 || { cat "$home/first"; exit 1; }
whole=$((($(date +%s%N) - begun) / 1000000))
"$punctual" kernel rollback $on > /dev/null || exit 1
list > "$home/after"
cmp -s "$home/before" "$home/after" || { diff "$home/before" "$home/after"; exit 1; }
echo "a whole deployment: $whole ms"
armed=0 partly=0
for run in $(seq "$runs"); do
  # A controller that dies while sending leaves a partial upload. Removed in every second run, so that uploads are
  # interrupted too.
  [ $((run % 2)) = 0 ] && rm -rf ~/.cache/punctual/remote/up
  at=$((RANDOM * 32768 + RANDOM))
  at=$((at % (whole + whole / 5)))
  setsid "$punctual" kernel deploy "$kernel" $on --manual-recovery --skip processor --skip space > "$home/cut" 2>&1 &
  controller=$!
  sleep "$(printf '%d.%03d' $((at / 1000)) $((at % 1000)))"
  kill -9 -- -"$controller" 2> /dev/null
  wait "$controller" 2> /dev/null
  # The default entry must be the previous one, and an armed trial must be complete.
  grep -q 'set default' /boot/grub/custom.cfg 2> /dev/null && { echo "run $run at $at ms: the default changed"; exit 1; }
  cmp -s /boot/grub/grub.cfg "$roots/debian-12-grub/boot/grub/grub.cfg" || { echo "run $run: grub.cfg changed"; exit 1; }
  if grep -q '^next_entry=punctual' /boot/grub/grubenv; then
    armed=$((armed + 1))
    image=$(sed -n 's/^\tlinux\t\(\S*\).*/\1/p' /boot/grub/custom.cfg)
    [ -s "/boot/${image#/boot/}" ] || [ -s "$image" ] || { echo "run $run at $at ms: armed without its image"; exit 1; }
  fi
  [ -e /var/lib/punctual/deploy/record.json ] && partly=$((partly + 1))
  deploy > "$home/second" 2>&1 || { echo "run $run at $at ms: the second deployment:"; cat "$home/second"; exit 1; }
  "$punctual" kernel rollback $on > "$home/back" 2>&1 || { echo "run $run: rollback:"; cat "$home/back"; exit 1; }
  list > "$home/after"
  cmp -s "$home/before" "$home/after" || { echo "run $run at $at ms:"; diff "$home/before" "$home/after"; exit 1; }
done
echo "$runs of $runs: old kernel by default, second deployment through, every byte as before ($partly with a record, $armed armed at the cut)"
