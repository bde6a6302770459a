# Tests the units of packaging/ and integrations/systemd under a systemd that is process 1 of a guest. $1: the static
# binary, $2: the integrations, $3: an empty directory, $4: a kernel image, $5: a static BusyBox, $6: the directory of
# tools, $7: the script for the guest, $8…: the applications' programs. Exits with 77 if something is missing.
set -euo pipefail
punctual=$1 integrations=$2 work=$3 kernel=$4 busybox=$5 tools=$6 check=$7
shift 7
suite=bookworm
for program in mmdebstrap qemu-system-x86_64 cpio; do
  command -v $program >/dev/null || { echo "apt-get install mmdebstrap qemu-system-x86 cpio"; exit 77; }
done
# Debian's smallest root with systemd, as its packages install it. Created once, and again if the file is deleted.
image=$tools/systemd/$suite.tar
if [ ! -e "$image" ]; then
  mkdir -p "$tools/systemd"
  mmdebstrap --quiet --variant=minbase --include=systemd,systemd-sysv --aptopt='Apt::Install-Recommends "false"' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    $suite "$work/root.tar" >"$work/log" 2>&1 || { tail -5 "$work/log"; exit 1; }
  mv "$work/root.tar" "$image"
fi

# Files that are added where the package installs them; the two examples where an administrator would.
extra=$work/extra
mkdir -p "$extra"/{usr/bin,usr/lib/systemd/system,usr/lib/tmpfiles.d,etc/systemd/system/multi-user.target.wants,root}
install -m 755 "$punctual" "$extra/usr/bin/punctual"
install -m 644 "$integrations"/../packaging/punctual-{watch,serve}.service "$extra/usr/lib/systemd/system/"
install -m 644 "$integrations/../packaging/punctual.tmpfiles" "$extra/usr/lib/tmpfiles.d/punctual.conf"
install -m 644 "$integrations"/systemd/punctual-prove.{service,timer} "$extra/etc/systemd/system/"
install -m 755 -Dt "$extra/usr/local/bin" "$@"
install -m 644 -t "$extra/etc/systemd/system" "$integrations"/../apps/*/systemd/*.{service,socket}
install -m 755 "$check" "$extra/root/check.sh"
cat > "$extra/etc/systemd/system/check.service" <<'UNIT'
[Unit]
After=systemd-tmpfiles-setup.service sysinit.target
[Service]
ExecStart=/bin/bash /root/check.sh
Environment=HOME=/root
UNIT
ln -s ../check.service "$extra/etc/systemd/system/multi-user.target.wants/check.service"
# Without udev no device ever appears to systemd, so nothing may wait for the console's.
for unit in getty.target serial-getty@ttyS0.service; do ln -s /dev/null "$extra/etc/systemd/system/$unit"; done

# systemd calls pivot_root(2) for each of these units, which is not possible in an initramfs, so the root is a separate
# tmpfs.
boot=$work/boot
mkdir -p "$boot"/{bin,dev,proc,root}
install -m 755 "$busybox" "$boot/bin/busybox"
cp "$image" "$boot/root.tar"
tar -C "$extra" --owner=0 --group=0 -cf "$boot/extra.tar" etc usr root
cat > "$boot/init" <<'INIT'
#!/bin/busybox sh
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox mount -t tmpfs -o mode=755,size=80% root /root
for file in root extra; do /bin/busybox tar -x -f /$file.tar -C /root && /bin/busybox rm /$file.tar; done
/bin/busybox umount /dev
exec /bin/busybox switch_root /root /lib/systemd/systemd
INIT
chmod 755 "$boot/init"
(cd "$boot" && find . | cpio --quiet -o -H newc) > "$work/initramfs"
rm -r "$boot"

# systemd 252 mounts only cgroup v2. The results come through the second serial port. A kernel that dies of a spurious
# breakpoint is booted once more, and this is reported: `lab` in qa/trials/src/lab/mod.rs explains why.
for try in 1 2; do
  : > "$work/said"
  timeout --kill-after=5 1500 qemu-system-x86_64 -accel tcg -m 1536 -smp 2 -nodefaults -display none -monitor none -nic none -no-reboot \
    -serial "file:$work/console" -serial "file:$work/said" -kernel "$kernel" -initrd "$work/initramfs" \
    -append "console=ttyS0 panic=-1 systemd.show_status=0" >"$work/qemu" 2>&1 || { tail -5 "$work/qemu"; echo "the guest did not end"; }
  [ $try = 1 ] && grep -q 'Oops: int3: ' "$work/console" || break
  echo "once more: $(grep -m 1 'Oops: int3: ' "$work/console" | tr -d '\r')"
done
tr -d '\r' < "$work/said" > "$work/text"
if ! grep -qx PASSED "$work/text"; then
  cat "$work/text"
  echo "the console's last words:"
  tail -15 "$work/console"
  exit 1
fi
grep -vx PASSED "$work/text"
