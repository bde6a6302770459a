#!/bin/sh
# The first process of a guest that boots from its own disk. Unpacks what the host has written to the disk `steps`, and
# leaves the rest to it.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin HOME=/root TERM=dumb USER=root LC_ALL=C
exec < /dev/null > /dev/console 2>&1
mountpoint -q /proc || mount -t proc proc /proc
mountpoint -q /sys || mount -t sysfs sys /sys
mountpoint -q /run || mount -t tmpfs -o mode=755 run /run
mount -o remount,rw /
for disk in /sys/block/vd*; do
  [ "$(cat "$disk/serial" 2> /dev/null)" = steps ] && steps=/dev/${disk##*/}
done
export steps
mkdir -p /run/lab
tar -x -f "$steps" -C /run/lab
exec sh /run/lab/turn
