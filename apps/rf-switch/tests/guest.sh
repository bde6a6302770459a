# Runs in a guest with gpio-sim (cargo trials gpio-kernel): sends all 512 codes under each load and records the edges
# with the kernel's tracepoint. BusyBox is the only program there. LOADS: the loads; each gets a file of pulse text.
LOADS=${LOADS:-idle cpu loopback}
mount -t configfs none /sys/kernel/config 2>/dev/null
[ -e /sys/kernel/tracing/trace_clock ] || mount -t tracefs nodev /sys/kernel/tracing || exit 1
chip=/sys/kernel/config/gpio-sim/rf
mkdir $chip && mkdir $chip/bank0 && echo 4 > $chip/bank0/num_lines && echo 1 > $chip/live || exit 1
line=$(cat $chip/bank0/chip_name):0
mkdir -p /tmp/run /var/tmp
code=0
for load in $LOADS; do
  rf-switch --line $line --all-addresses --capture trace --ook /tmp/run/$load.ook \
    --trial $load --count 512 --every 200ms --json > /tmp/run/$load.json || code=1
  echo "$load: $(cat /tmp/run/$load.json)"
done
exit $code
