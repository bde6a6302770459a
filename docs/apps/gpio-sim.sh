# rotary-dial and metronome on simulated lines: a script for the guest of docs/gpio-kernel.md. Prints a line a check; exit code 1 where
# one failed. Run with
#   punctual lab boot -k KERNEL --timeout 1200s --put target/release/rotary-dial:/bin/rotary-dial \
#     --put target/release/metronome:/bin/metronome --get /tmp/runs --out OUT --script docs/apps/gpio-sim.sh
code=0
check() {
  if [ "$2" = "$3" ]; then echo "ok      $1: $2"; else echo "FAILED  $1: \`$2\`, expected \`$3\`"; code=1; fi
}
[ -d /sys/kernel/config/gpio-sim ] || mount -t configfs none /sys/kernel/config
sim=/sys/kernel/config/gpio-sim/apps
mkdir $sim $sim/bank0 && echo 8 > $sim/bank0/num_lines && echo 1 > $sim/live || { echo "FAILED  no gpio-sim"; exit 1; }
chip=$(cat $sim/bank0/chip_name)
lines=/sys/devices/platform/$(cat $sim/dev_name)/$chip

# A line that is not there, and one that somebody has.
said=$(rotary-dial --line $chip:99 --to /tmp/none 2>&1 | grep -c "it has 8")
check "absent line" "$said" 1
metronome --line $chip:2 --loads idle --settle 0 --period 35ms -D 8s --quiet > /tmp/busy 2>&1 &
sleep 3
said=$(rotary-dial --line $chip:2 --to /tmp/none 2>&1 | grep -c "in use by \`punctual\`")
check "busy line" "$said" 1
wait

# Dials played on the pull of the line, idle and beside endless loops; each command goes through the FIFO.
dial() {
  mkfifo /tmp/rtp2
  # Held open, so that what is written stays until it is read.
  exec 3<> /tmp/rtp2
  rotary-dial --line $chip:0 --simulate "$1" --play-on $lines/sim_gpio0/pull --to /tmp/rtp2 > /tmp/dial 2>&1
  timeout 1 cat <&3 > /tmp/commands
  exec 3>&-
  rm /tmp/rtp2
  check "dialled $1 $3" "$(tr '\n' ' ' < /tmp/commands)" "$2"
  grep -E "loop|rejected" /tmp/dial
}
dial 421 "d21 " idle
dial 420 "d20 " idle
dial 42h421 "d21 " idle
while :; do :; done &
one=$!
while :; do :; done &
two=$!
dial 421420 "d21 d20 " "under load"
kill $one $two

# Both periods, both policies, three loads; every release and every edge accounted for.
metronome --line $lines/sim_gpio1/pull --listen $chip:1 --compare -D 10s --json --out /tmp/runs > /tmp/metronome 2> /tmp/said
check "metronome's exit code" $? 0
check "measurements" "$(grep -c '"event":"measured"' /tmp/metronome)" 12
check "accounted for" "$(grep -c '"accounted_for":true' /tmp/metronome)" 12
cat /tmp/said
metronome --line $lines/sim_gpio1/pull --listen $chip:1 --compare -D 2s --quiet
exit $code
