# GPIO: tests simulated lines with punctual-gpio-check.
mount -t configfs none /sys/kernel/config
uname -v
/bin/gpio-check
code=$?
echo "memory: $(grep MemAvailable /proc/meminfo); up $(cut -d' ' -f1 /proc/uptime) s"

# UIO: uio_pci_generic with QEMU's edu, a PCI device that raises its interrupt on request (docs/specs/edu.rst): 0x60
# raises, 0x64 acknowledges. The driver masks INTx at each interrupt; bit 10 of the PCI command register unmasks it.
uio() {
  for device in /sys/bus/pci/devices/*; do
    [ "$(cat $device/vendor) $(cat $device/device)" = "0x1234 0x11e8" ] && break
  done
  echo "1234 11e8" > /sys/bus/pci/drivers/uio_pci_generic/new_id || return 1
  [ -c /dev/uio0 ] || { echo "no /dev/uio0"; return 1; }
  bar=$(head -n 1 $device/resource | cut -d' ' -f1)
  exec 3< /dev/uio0
  wanted=1
  while [ $wanted -le 20 ]; do
    printf '\006\000' | dd of=$device/config bs=1 seek=4 conv=notrunc 2>/dev/null
    devmem $((bar + 0x60)) 32 1
    got=$(timeout 10 dd bs=4 count=1 <&3 2>/dev/null | od -A n -t u4 | tr -d ' ')
    devmem $((bar + 0x64)) 32 1
    [ "$got" = $wanted ] || { echo "interrupt $wanted was counted as \`$got\`"; return 1; }
    wanted=$((wanted + 1))
  done
  echo "20 interrupts raised, 20 counted"
}
said=$(uio 2>&1) && word="ok     " || { word="FAILED "; code=1; }
echo "$word uio        $said"
exit $code
