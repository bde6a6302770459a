#!/bin/sh
# Reports the kernel on the card and its drivers. Each line begins with a name.
say() { echo "LOOK $*"; }
say release "$(uname -r)"
say version "$(uname -v)"
say machine "$(uname -m)"
say model "$(tr -d '\0' < /proc/device-tree/model)"
say config "$(zcat /proc/config.gz | grep -c -x -e CONFIG_PREEMPT_RT=y -e CONFIG_EXPERT=y)"
say root "$(awk '$2 == "/" {print $3}' /proc/mounts | tail -n 1)"
for module in spi_bcm2835 spidev i2c_bcm2835 dwc2 usbhid hid_generic xhci_pci genet smsc95xx; do
	modprobe "$module" 2>&1 | sed "s/^/LOOK refused $module /"
done
say modules "$(awk '{print $1}' /proc/modules | sort | tr '\n' ' ')"
# A controller whose supplier is missing is probed again about 10 s after the last module (deferred_probe_timeout).
tries=0
while [ $tries -lt 60 ] && ! [ -e /sys/bus/usb/devices/usb1 ]; do
	tries=$((tries + 1))
	sleep 1
done
say wrong "$(dmesg | grep -c -e 'version magic' -e 'disagrees about')"
say spi "$(ls /sys/class/spi_master | tr '\n' ' ')"
say i2c "$(ls /sys/class/i2c-adapter 2>/dev/null | tr '\n' ' ')"
say usb "$(ls /sys/bus/usb/devices 2>/dev/null | tr '\n' ' ')"
say hid "$(ls /sys/bus/hid/drivers 2>/dev/null | tr '\n' ' ')"
say gpio "$(ls /dev/gpiochip* 2>/dev/null | tr '\n' ' ')"
say mmc "$(ls /dev/mmcblk* 2>/dev/null | tr '\n' ' ')"
say net "$(ls /sys/class/net | tr '\n' ' ')"
say tracers "$(mkdir -p /sys/kernel/tracing; mount -t tracefs t /sys/kernel/tracing 2>/dev/null; cat /sys/kernel/tracing/available_tracers)"
sync
echo LOOK-END
