# Makes a copy of the guest's disk look like a machine of its own while this process lives: in a mount namespace, and
# with the disk's names in the guest, so that grub-mkconfig generates the guest's menu. $1: the copy, $2: a directory,
# $3: the program.
set -e
loop=$(losetup -f --show "$1")
# This kernel may not support GPT.
partx -a "$loop" 2> /dev/null || [ -e "/sys/class/block/${loop#/dev/}p2" ]
mkdir -p "$2/dev" "$2/root"
mount -t tmpfs -o mode=755 dev "$2/dev"
cd "$2/dev"
cp -a /dev/null /dev/zero /dev/full /dev/urandom /dev/random /dev/tty .
node() { numbers=$(cat "/sys/class/block/$1/dev") && mknod -m 600 "$2" b "${numbers%:*}" "${numbers#*:}"; }
node "${loop#/dev/}" vda
node "${loop#/dev/}p1" vda1
node "${loop#/dev/}p2" vda2
ln -s /proc/self/fd fd
mkdir -p disk/by-uuid
for part in vda1 vda2; do ln -s "../../$part" "disk/by-uuid/$(blkid -o value -s UUID "$part")"; done
mount --bind "$2/dev" /dev
mount -t ext4 /dev/vda2 "$2/root"
# Detached when the last user is gone.
losetup -d /dev/vda
cd "$2/root"
mount --bind /dev dev
# /proc and /sys show this machine's kernel, so nothing is written there.
mount -t proc proc proc
mount -t sysfs sys sys
mount -t tmpfs tmp tmp
mount -t tmpfs run run
echo "BOOT_IMAGE=/boot/vmlinuz root=/dev/vda2 ro quiet" > run/cmdline
mount --bind run/cmdline proc/cmdline
mount -o remount,bind,ro proc
mount -o remount,bind,ro sys
cp "$3" tmp/punctual
echo ready
exec sleep infinity
