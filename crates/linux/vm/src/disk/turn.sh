# Runs the step that is due in this boot, then restarts, or switches off after the last one. Messages to the host begin
# with the control character RS.
say() { printf '\036%s\n' "$*"; }
# The initramfs mounts /run with noexec.
mount -o remount,exec /run
mount -t tmpfs -o mode=1777 tmp /tmp
mount -t securityfs security /sys/kernel/security 2> /dev/null
mount -t debugfs debug /sys/kernel/debug 2> /dev/null
mount -t tracefs trace /sys/kernel/tracing 2> /dev/null
mount -t cgroup2 cgroup /sys/fs/cgroup 2> /dev/null
hostname lab
busybox ip link set lo up
# The archive's first member is the number of the next step; its content is the second block. It is incremented before
# the step runs, so that a step that ends in a reset is not run again.
number=$(dd if="$steps" bs=512 skip=1 count=1 2> /dev/null | tr -dc 0-9)
printf '%-16s' "$((number + 1))" | dd of="$steps" bs=512 seek=1 conv=notrunc,fsync 2> /dev/null
export PATH=/run/lab/tools:$PATH
say "release $(uname -r)"
say "cmdline $(cat /proc/cmdline)"
say "step $number"
if [ -f "/run/lab/step-$number" ]; then
  cd /root
  sh "/run/lab/step-$number"
  code=$?
  cd /
  there=
  for path in $(cat "/run/lab/fetch-$number"); do [ -e "/$path" ] && there="$there $path"; done
  if [ -n "$there" ]; then
    # shellcheck disable=SC2086 # words
    tar -c -f - -C / $there | gzip -1 -n | base64 -w 120 | sed "s/^/$(printf '\036')+/"
  fi
  say "exit $code"
fi
sync
mount -o remount,ro / 2> /dev/null
# Neither restart nor power-off waits for what the UART has not sent yet, which is up to a page; tcsetattr(3) with
# TCSADRAIN does.
sent() { busybox stty -echo < /dev/console 2> /dev/null; }
if [ -f "/run/lab/step-$((number + 1))" ]; then
  say restart
  sent
  busybox reboot -f
fi
say end
sent
busybox poweroff -f
