#!/bin/busybox sh
# The first process. Messages to the host begin with the control character RS.
/bin/busybox --install -s /bin
export PATH=/bin HOME=/root TERM=dumb USER=root
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm /dev/pts
mount -t devpts pts /dev/pts
for folder in /dev/shm /tmp /run; do mount -t tmpfs -o mode=1777 tmp $folder; done
mount -t tracefs trace /sys/kernel/tracing 2>/dev/null
mount -t debugfs debug /sys/kernel/debug 2>/dev/null
mount -t cgroup2 cgroup /sys/fs/cgroup 2>/dev/null
ln -sf /proc/self/fd /dev/fd
hostname @HOSTNAME@
ip link set lo up
say() { printf '\036%s\n' "$*"; }
@MODULES@
@DISK@
@NETWORK@
cd /root
say started
sh /script </dev/null
code=$?
cd /
dmesg -n 1
say "exit $code"
there=
for path in @FETCH@; do [ -e $path ] && there="$there .$path"; done
if [ -n "$there" ]; then
  tar -cf - -C / $there | gzip -1 -n | base64 -w 120 | sed "s/^/$(printf '\036')+/"
fi
say end
sync
# Power-off does not wait for what the UART has not sent yet, which is up to a page; tcsetattr(3) with TCSADRAIN
# does.
stty -echo </dev/console 2>/dev/null
poweroff -f
