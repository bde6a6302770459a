#!/bin/sh
# Runs once in a guest, as root of the new system. Does what the packages' own scripts would have done, as far as
# booting needs it.
set -e
export PATH=/usr/sbin:/usr/bin LC_ALL=C
# An ordinary user unpacked the files and therefore owns them.
find / -xdev ! -user 0 -exec chown -h 0:0 {} +
ldconfig
cp /usr/share/base-passwd/passwd.master /etc/passwd
cp /usr/share/base-passwd/group.master /etc/group
ln -sf mawk /usr/bin/awk
echo lab > /etc/hostname
mkdir -p /boot/efi /boot/grub
mkfs.vfat -n ESP /dev/vda1 > /dev/null
mount -t vfat /dev/vda1 /boot/efi
cat > /etc/fstab <<EOF
UUID=$(blkid -s UUID -o value /dev/vda2) / ext4 errors=remount-ro 0 1
UUID=$(blkid -s UUID -o value /dev/vda1) /boot/efi vfat umask=0077 0 1
EOF
# The initramfs contains only what the disk needs, because the loader reads all of it through emulated firmware.
sed -i 's/^MODULES=.*/MODULES=list/; s/^COMPRESS=.*/COMPRESS=gzip/' /etc/initramfs-tools/initramfs.conf
printf '%s\n' virtio_pci virtio_blk crc32c_generic ext4 > /etc/initramfs-tools/modules
for release in $(ls /lib/modules); do
  depmod "$release"
  update-initramfs -c -k "$release"
done
# The file that the package grub-efi-amd64 would install.
sed 's/^GRUB_TIMEOUT=.*/GRUB_TIMEOUT=0/; s/^GRUB_CMDLINE_LINUX=.*/GRUB_CMDLINE_LINUX="console=ttyS0,115200"/; s/^#GRUB_TERMINAL=.*/GRUB_TERMINAL=console/' \
  /usr/share/grub/default/grub > /etc/default/grub
mkdir -p /etc/default/grub.d
# grub-mkconfig names the root by its UUID only if udev has made this link, as it will have in the booted system.
mkdir -p /dev/disk/by-uuid
for part in vda1 vda2; do ln -sf "../../$part" "/dev/disk/by-uuid/$(blkid -s UUID -o value "/dev/$part")"; done
grub-install --target=x86_64-efi --efi-directory=/boot/efi --removable --no-nvram
update-grub
[ -s /boot/grub/grubenv ] || grub-editenv /boot/grub/grubenv create
umount /boot/efi
