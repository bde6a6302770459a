# Functions for every step. The guest's init sets up no network, so the first card is brought up here, as the
# distribution would do.
network() {
  # Without udev, nothing loads the driver.
  modprobe virtio_net || return 1
  for card in /sys/class/net/*/device; do
    [ -e "$card" ] || return 1
    name=${card%/device}
    name=${name##*/}
    busybox ip link set "$name" up
    busybox ip addr add 10.0.2.15/24 dev "$name"
    busybox ip route add default via 10.0.2.2
    return 0
  done
}
# Lists every path below /boot, /etc and /lib/modules with its content, mode and owner. GRUB's environment is left out,
# because it has next_entry= after a one-shot boot.
list() {
  find /boot /etc /lib/modules -path /boot/grub/grubenv -prune -o \( -type f -o -type d -o -type l \) -printf '%p %m %u %g %l\n' | sort
  find /boot /etc /lib/modules -path /boot/grub/grubenv -prune -o -type f -print | sort | xargs -d '\n' sha256sum
}
deployed() {
  modprobe i6300esb
  network || return 20
  list > /root/before
  punctual kernel deploy "$lab_kernel" --limit 300s "$@" || return 21
  punctual kernel status
  uname -r > /root/old
  sync
}
lab_kernel=/run/lab/tools/kernel.tar
turn() {
  if grep -q punctual.trial= /proc/cmdline; then
    mark trial
    network
    if punctual kernel verify -D 2s; then
      punctual kernel commit && mark committed && return 0
    fi
    punctual kernel status
    mark kept-waiting
    sleep 3600
    return 1
  fi
  punctual kernel status > /root/status
  cat /root/status
  if [ "$(uname -r)" != "$(cat /root/old)" ]; then
    grep -q 'is committed and running' /root/status && mark runs
    return 0
  fi
  [ -e /root/returned ] && return 0
  grep -q 'returned from' /root/status && mark returned
  : > /root/returned
  punctual kernel rollback || return 22
  list > /root/after
  if diff /root/before /root/after; then mark same; fi
}
