# The disk is the root directory of the tested program; other programs come from the initramfs.
within() { for folder in bin proc sys dev run tmp; do mount --rbind /$folder /disk/$folder; done; }
there() { chroot /disk /bin/punctual "$@"; }
sum() { { find /disk/etc -exec stat -c '%n %a' {} +; find /disk/etc -type f -exec sha256sum {} +; } | sort | sha256sum | cut -c1-16; }
