# From the dial to the radio: rotary-dial reads a simulated line and writes rtp2, cat copies that to rtp1, and rf-switch
# drives another line of gpio-sim. The kernel's tracepoint shows the edges. BusyBox is the only other program.
mount -t configfs none /sys/kernel/config 2>/dev/null
[ -e /sys/kernel/tracing/trace_clock ] || mount -t tracefs nodev /sys/kernel/tracing || exit 1
sim=/sys/kernel/config/gpio-sim/chain
mkdir $sim && mkdir $sim/bank0 && echo 8 > $sim/bank0/num_lines && echo 1 > $sim/live || exit 1
chip=$(cat $sim/bank0/chip_name)
lines=/sys/devices/platform/$(cat $sim/dev_name)/$chip
mkdir -p /tmp/run /run/punctual /var/tmp
mkfifo -m 600 /run/punctual/rtp1 /run/punctual/rtp2
exec 8<>/run/punctual/rtp1 9<>/run/punctual/rtp2
for number in 421 420; do
  rf-switch --line $chip:0 --capture trace --ook /tmp/run/$number.ook --json > /tmp/run/$number.json 2> /tmp/run/$number.err &
  switch=$!
  cat /run/punctual/rtp2 > /run/punctual/rtp1 &
  wire=$!
  sleep 1
  rotary-dial --line $chip:1 --simulate $number --play-on $lines/sim_gpio1/pull --quiet || echo "dial: $?"
  sleep 2
  kill -TERM $switch
  wait $switch || echo "switch: $?"
  kill $wire
  cat /tmp/run/$number.err | tail -2
done
