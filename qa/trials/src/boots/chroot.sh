# A copy of the guest's disk as a machine of its own, for as long as this process lives: in a mount namespace, with its disk under
# the names it has in the guest, so that grub-mkconfig makes the guest's menu. $1: the copy, $2: a folder, $3: the program.
set -e
loop=$(losetup -f --show "$1")
# This kernel may know no GPT.
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
# It goes with its last user.
losetup -d /dev/vda
cd "$2/root"
mount --bind /dev dev
# The kernel is this machine's: nothing of it is written.
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
