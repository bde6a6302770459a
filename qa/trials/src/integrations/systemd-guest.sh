# The part of `cargo trials integrations systemd` that runs in the guest, in which systemd is process 1. Each line of
# output is about one kind of check; the first failure ends the script. Drop-ins change only times, options and restarts
# of the units.
set -uo pipefail
watch=punctual-watch.service serve=punctual-serve.service prove=punctual-prove.service timer=punctual-prove.timer
series=/var/lib/punctual-watch
say() { echo "$*" >/dev/ttyS1; }
end() { systemctl poweroff --force --force; sleep 60; }
fail() {
  say "FAILED: $*"
  journalctl --no-pager -o cat -n 40 -u $watch -u $serve -u $prove >/dev/ttyS1 2>&1
  systemctl --no-pager --lines 0 status $watch $serve $prove >/dev/ttyS1 2>&1
  end
}
show() { systemctl show --property "$2" --value "$1"; }
is() { [ "$(show "$1" "$2")" = "$3" ] || fail "$1: $2 is $(show "$1" "$2"), not $3${4:+, $4}"; }
# Waits until a shell command succeeds, for at most this many seconds. The limits allow for an emulator that may get
# half a CPU.
within() {
  local seconds=$1 until=$((SECONDS + $1))
  shift
  while ! eval "$*"; do
    [ $SECONDS -le $until ] || fail "not within $seconds s: $*"
    sleep 0.2
  done
}
# Replaces a unit's drop-in by standard input; an empty one leaves the unit as shipped.
drop_in() {
  rm -rf "/etc/systemd/system/$1.d"
  mkdir -p "/etc/systemd/system/$1.d"
  cat >"/etc/systemd/system/$1.d/check.conf"
  systemctl daemon-reload || fail "systemctl daemon-reload"
  systemctl reset-failed 2>/dev/null
}
ms() { echo $((($(date +%s%N) - $1) / 1000000)); }
now() { date +%s%N; }
journal() { journalctl --no-pager -o cat -u "$1"; }
instances() { ls /sys/kernel/tracing/instances; }
# Checks that every run directory below a directory can be read without a complaint, and prints their number.
whole() {
  local n=0 run
  for run in $(find "$1" -name run.json -printf '%h\n'); do
    punctual report "$run" --json >/tmp/report 2>/tmp/complaints || fail "punctual report $run: code $?, $(cat /tmp/complaints)"
    [ ! -s /tmp/complaints ] || fail "punctual report $run says: $(cat /tmp/complaints)"
    n=$((n + 1))
  done
  echo $n
}
stopped() { # a unit, the Result it must have
  local from
  from=$(now)
  systemctl stop "$1" || fail "systemctl stop $1: code $?"
  took=$(ms "$from")
  is "$1" Result "$2" "after systemctl stop"
  [ "$took" -lt 60000 ] || fail "$1: systemctl stop took $took ms"
}

[ "$(cat /proc/1/comm)" = systemd ] || fail "process 1 is $(cat /proc/1/comm)"
within 120 'systemctl is-active -q sysinit.target && systemctl is-active -q basic.target'
say "systemd $(systemctl --version | sed -n '1s/.*(\(.*\))/\1/p'), $(uname -r), cgroups: $(stat -f -c %T /sys/fs/cgroup)"
systemd-analyze verify --man=no $watch $serve $prove $timer >/tmp/verify 2>&1 && [ ! -s /tmp/verify ] || fail "systemd-analyze verify: $(cat /tmp/verify)"

# watch, as shipped.
# systemd forgets a unit that no target wants, and its exit code, as soon as it stops. So it is enabled, as the package recommends.
systemctl enable --quiet --now $watch || fail "systemctl enable --now $watch: code $?"
is $watch ActiveState active
[ -s $series/watch.json ] || fail "$watch is active, and there is no $series/watch.json"
ready=$((($(show $watch ActiveEnterTimestampMonotonic) - $(show $watch ExecMainStartTimestampMonotonic)) / 1000))
[ $ready -gt 0 ] || fail "$watch was active before its process began"
is $watch WatchdogUSec 1min
within 60 "show $watch StatusText | grep -q 'worst wakeup'"
fed=$(show $watch WatchdogTimestampMonotonic)
within 60 "[ \$(show $watch WatchdogTimestampMonotonic) -gt $fed ]"
fed=$((($(show $watch WatchdogTimestampMonotonic) - fed) / 1000))
pid=$(show $watch MainPID)
fifo=$(chrt -a -p "$pid" | grep -c 'SCHED_FIFO')
[ "$fifo" -ge "$(nproc)" ] || fail "$watch has $fifo threads of SCHED_FIFO on $(nproc) CPUs: $(chrt -a -p "$pid")"
[ "$(awk '/^VmLck/ {print $2}' "/proc/$pid/status")" -gt 0 ] || fail "$watch has no locked memory"
is $watch NRestarts 0
! journal $watch | grep '^punctual: ' >/tmp/complaints || fail "$watch complains: $(cat /tmp/complaints)"
stopped $watch success
is $watch ExecMainStatus 143
is $watch ActiveState inactive
n=$(whole $series) || exit
say "watch, as shipped: active after $ready ms, watchdog fed after $fed ms, $fifo threads of FIFO, stopped in $took ms (143, success), $n run whole"

# Without READY=1 it never becomes active.
drop_in $watch <<CONF
[Service]
UnsetEnvironment=NOTIFY_SOCKET
TimeoutStartSec=20
Restart=no
CONF
systemctl start --no-block $watch
within 60 "systemctl show -p MainPID $watch | grep -qv '=0$'"
sleep 5
is $watch ActiveState activating "and nobody said READY=1"
within 60 "[ \$(show $watch ActiveState) = failed ]"
is $watch Result timeout
n=$(whole $series) || exit
say "watch, READY=1 kept from systemd: activating, failed by time-out, $n runs whole"

# Tests what the hardening refuses, where it is in force: in a command that runs before the program, under the same
# restrictions.
echo secret >/home/secret
cat >/usr/local/bin/probe-watch.sh <<'PROBE'
no() { local what=$1; shift; if "$@" 2>/tmp/why; then echo "ALLOWED: $what"; exit 1; fi; echo "refused: $what: $(tail -1 /tmp/why)"; }
no 'writing /etc' touch /etc/probe
no 'writing /usr' touch /usr/probe
no 'writing /var' touch /var/probe
no 'reading /home' cat /home/secret
no 'reading /root' cat /root/check.sh
no 'AF_INET' bash -c 'exec 3<>/dev/tcp/127.0.0.1/22'
no 'the clock' date -s '2000-01-01'
no 'reading the others'"'"' /tmp' cat /tmp/report
touch /var/lib/punctual/probe && rm /var/lib/punctual/probe || { echo 'REFUSED: /var/lib/punctual'; exit 1; }
touch "$STATE_DIRECTORY/probe" && rm "$STATE_DIRECTORY/probe" || { echo 'REFUSED: the state directory'; exit 1; }
mkdir /sys/kernel/tracing/instances/probe && rmdir /sys/kernel/tracing/instances/probe || { echo 'REFUSED: a trace instance'; exit 1; }
chrt -f 99 true || { echo 'REFUSED: FIFO'; exit 1; }
: 3>/dev/cpu_dma_latency || { echo 'REFUSED: /dev/cpu_dma_latency'; exit 1; }
PROBE
mkdir -p /var/lib/prometheus/node-exporter
drop_in $watch <<CONF
[Service]
ExecStartPre=/bin/bash /usr/local/bin/probe-watch.sh
ReadWritePaths=/var/lib/prometheus/node-exporter
Environment="PUNCTUAL_WATCH_OPTIONS=--textfile /var/lib/prometheus/node-exporter/punctual.prom --textfile-every 5s --trace-above 1us"
WatchdogSec=15
RestartSec=1
CONF
from=$(date +%s)
systemctl start $watch || fail "systemctl start $watch with the probes"
refused=$(journalctl -o cat -u $watch --since "@$from" | grep -c '^refused: ')
[ "$refused" = 8 ] || fail "$refused refusals of 8"
within 120 "show $watch StatusText | grep -q '[1-9][0-9]* of [0-9]* new maxima explained'"
[ -n "$(find $series/runs -name '*.dat')" ] || fail "new maxima explained, and no trace in $series/runs"
within 60 "[ -s /var/lib/prometheus/node-exporter/punctual.prom ]"
pid=$(show $watch MainPID)
for line in 'NoNewPrivs:	1' 'Seccomp:	2'; do
  grep -q "^$line" "/proc/$pid/status" || fail "$watch: not '$line' but $(grep "^${line%%:*}" "/proc/$pid/status")"
done
caps=$(awk '/^CapEff/ {print $2}' "/proc/$pid/status")
# SYS_NICE, IPC_LOCK, DAC_OVERRIDE, SYS_ADMIN, SYSLOG: numbers from linux/capability.h.
wanted=$(printf %016x $((1 << 23 | 1 << 14 | 1 << 1 | 1 << 21 | 1 << 34)))
[ "$caps" = "$wanted" ] || fail "$watch has capabilities $caps, not $wanted"
say "watch, hardened: 8 of 8 refused, 5 of 5 granted, new maximum traced, textfile written; five capabilities, no more"

# First a stopped process, which is a case for the watchdog, then a killed one.
stopped $watch success
sed -i '/^ExecStartPre/d; s/ --trace-above 1us//' "/etc/systemd/system/$watch.d/check.conf"
systemctl daemon-reload
systemctl start $watch || fail "systemctl start $watch"
pid=$(show $watch MainPID)
restarts=$(show $watch NRestarts)
from=$(now)
kill -STOP "$pid"
within 120 "[ \$(show $watch NRestarts) -gt $restarts ] && systemctl is-active -q $watch"
starved=$(ms "$from")
journal $watch | grep -q 'Watchdog timeout (limit 15s)' || fail "restarted, but not by the watchdog"
[ "$(show $watch MainPID)" != "$pid" ] || fail "the same process"
[ ! -d "/proc/$pid" ] || fail "the stopped process is still there"
pid=$(show $watch MainPID)
from=$(now)
kill -KILL "$pid"
within 90 "[ \$(show $watch NRestarts) -gt $((restarts + 1)) ] && systemctl is-active -q $watch"
killed=$(ms "$from")
gaps=$(grep -c '"line": *"gap"' $series/series.jsonl)
[ "$gaps" -ge 4 ] || fail "$gaps gaps reported, and it was started five times"
within 60 "[ \$(instances | wc -l) = 1 ]"

# A CPU that is offline for longer than the watchdog's time must not get the process killed.
stopped $watch success
sed -i 's/--textfile-every 5s/--cpus 1/' "/etc/systemd/system/$watch.d/check.conf"
systemctl daemon-reload
systemctl start $watch || fail "systemctl start $watch --cpus 1"
pid=$(show $watch MainPID)
sleep 3
echo 0 >/sys/devices/system/cpu/cpu1/online || fail "CPU 1 does not go offline"
within 60 "show $watch StatusText | grep -q 'nothing is measured'"
sleep 30
is $watch MainPID "$pid" "after 30 s without its CPU"
runs=$(ls $series/runs | wc -l)
echo 1 >/sys/devices/system/cpu/cpu1/online
within 60 "[ \$(ls $series/runs | wc -l) -gt $runs ]"
is $watch MainPID "$pid" "with its CPU back"
stopped $watch success
[ -z "$(instances)" ] || fail "trace instances are left: $(instances)"
punctual report $series --format html --out /tmp/watch.html || fail "punctual report $series: code $?"
n=$(whole $series) || exit
say "watch, kill -STOP: restarted by the watchdog (15 s) after $starved ms; kill -9: after $killed ms; $gaps gaps reported; its only CPU away for 30 s: the same process; $n runs whole, no trace instance left"
# It keeps running during the following checks.
systemctl start $watch || fail "systemctl start $watch"

# serve
cat >/usr/local/bin/probe-serve.sh <<'PROBE'
no() { local what=$1; shift; if "$@" 2>/tmp/why; then echo "ALLOWED: $what"; exit 1; fi; echo "refused: $what: $(tail -1 /tmp/why)"; }
[ "$(id -u)" != 0 ] || { echo "ALLOWED: root"; exit 1; }
no 'reading the others'"'"' /tmp' cat /tmp/report
no 'writing /etc' touch /etc/probe
no 'reading /home' cat /home/secret
no '/dev/ttyS0' ls /dev/ttyS0
no 'FIFO' chrt -f 1 true
PROBE
# As shipped: it does not start without a secret, and with one it asks for it.
systemctl start $serve 2>/dev/null && fail "$serve starts without a secret"
systemctl stop $serve
install -d -m 700 /etc/punctual
(umask 077; head -c 32 /dev/urandom | base64 >/etc/punctual/serve.secret)
systemctl reset-failed $serve
systemctl start $serve || fail "systemctl start $serve: code $?"
within 60 "journal $serve | grep -q 'listening on 0.0.0.0'"
exec 3<>/dev/tcp/127.0.0.1/7375 || fail "$serve takes no connection"
printf 'PUNCTUAL-LOAD/1 hello\n' >&3
read -r -t 30 -u 3 version answer token
[ "$version $answer" = 'PUNCTUAL-LOAD/1 challenge' ] || fail "$serve answers: $version $answer"
exec 3>&-
stopped $serve success
# Below, the protocol is tested without a secret, on the loopback interface.
drop_in $serve <<CONF
[Service]
ExecStart=
ExecStart=/usr/bin/punctual serve
ExecStartPre=/bin/bash /usr/local/bin/probe-serve.sh
CONF
systemctl enable --quiet --now $serve || fail "systemctl enable --now $serve: code $?"
within 60 "journal $serve | grep -q 'listening on 127.0.0.1'"
refused=$(journal $serve | grep -c '^refused: ')
[ "$refused" = 5 ] || fail "$serve: $refused refusals of 5"
caps=$(awk '/^CapEff/ {print $2}' "/proc/$(show $serve MainPID)/status")
[ "$caps" = 0000000000000000 ] || fail "$serve has capabilities $caps"
# The network load does not accept loopback as a network, so this script speaks its protocol
# (crates/measurement/loads/src/wire.rs).
exec 3<>/dev/tcp/127.0.0.1/7375 || fail "$serve takes no connection"
printf 'PUNCTUAL-LOAD/1 hello\n' >&3
read -r -t 30 -u 3 version answer token
[ "$version $answer" = 'PUNCTUAL-LOAD/1 ok' ] || fail "$serve answers: $version $answer"
printf 'E\0\0\0\0\0\0\4ping' >/tmp/frame
dd if=/tmp/frame bs=64 count=1 status=none >&3
timeout 30 head -c 12 <&3 | cmp - /tmp/frame || fail "$serve does not echo a frame"
exec 4<>/dev/udp/127.0.0.1/7375
{ printf "$(printf %s "$token" | sed 's/../\\x&/g')"; printf pong; } >/tmp/datagram
dd if=/tmp/datagram bs=64 count=1 status=none >&4
timeout 30 head -c 20 <&4 | cmp - /tmp/datagram || fail "$serve does not echo a datagram"
echo 'of a stranger, without a token' >&4
[ -z "$(timeout 3 head -c 1 <&4 | tr -d '\0')" ] || fail "$serve answers a stranger's datagram"
exec 3>&- 4>&-
within 60 "journal $serve | grep -q ' disconnected after [1-9][0-9]* bytes'"
kill -KILL "$(show $serve MainPID)"
within 60 "[ \$(show $serve NRestarts) -gt 0 ] && systemctl is-active -q $serve"
# Until it listens, it has no handler for SIGTERM.
within 60 "(: </dev/tcp/127.0.0.1/7375) 2>/dev/null"
stopped $serve success
is $serve ExecMainStatus 0
say "serve: no start without a secret, which it then asks for; 5 of 5 refused, no capability, TCP and UDP echoed, a stranger not answered, restarted after kill -9, stopped in $took ms (0)"

# Two measurements on the same CPUs would both be inconclusive.
stopped $watch success
# prove, started three times by its timer, under two loads: a claim that holds, one that fails, and one that is
# undecided.
next=$(systemctl start $timer && systemctl list-timers --no-pager $timer | sed -n 2p)
case $next in *Sun*) ;; *) fail "$timer, as shipped, is next due: $next" ;; esac
systemctl stop $timer
shipped=$(sed -n 's/^ExecStart=//p' /etc/systemd/system/$prove)
proved() { # exit code, Result, ActiveState, claim
  drop_in $prove <<CONF
[Service]
ExecStart=
ExecStart=${shipped/--duration 1h/--duration 9s} --load idle,cpu $4
CONF
  drop_in $timer <<CONF
[Timer]
OnCalendar=
OnActiveSec=2s
AccuracySec=100ms
RandomizedDelaySec=0
CONF
  local before
  before=$(show $prove InvocationID)
  systemctl start $timer || fail "systemctl start $timer"
  within 60 "[ \"\$(show $prove InvocationID)\" != '$before' ] && [ -n \"\$(show $prove InvocationID)\" ]"
  is $prove ActiveState activating
  # Waits through "deactivating" as well, while ExecStopPost= runs.
  within 240 "show $prove ActiveState | grep -qv activating"
  is $prove ExecMainStatus "$1" "with $4"
  is $prove Result "$2" "with $4"
  is $prove ActiveState "$3" "with $4"
  [ -n "$(show $timer LastTriggerUSec)" ] || fail "$timer was not what started it"
  systemctl stop $timer
}
proved 0 success inactive "--claim 'max < 30s'"
proved 1 exit-code failed "--claim 'max < 1ns'"
proved 3 exit-code failed "--claim 'P(>30s) < 1e-9 @95%%'"
# With punctual-watch running, which is stopped meanwhile and started again.
systemctl start $watch || fail "systemctl start $watch"
proved 0 success inactive "--claim 'max < 30s'"
within 60 "[ \"\$(show $watch ActiveState)\" = active ]"
systemctl stop $watch
n=$(whole /var/lib/punctual-prove) || exit
[ "$n" = 4 ] || fail "$n run directories in /var/lib/punctual-prove, not 4"
punctual history >/tmp/history || fail "punctual history: code $?"
known=$(grep -c "$(uname -r | cut -c1-10)" /tmp/history)
[ "$known" = 4 ] || fail "the history knows $known runs, not 4: $(cat /tmp/history)"
say "prove, by its timer: 0 inactive, 1 and 3 failed (exit-code); $n runs whole, $known in the history"

# The applications, on simulated lines.
applications='metronome.service rf-switch.service rotary-dial.service dial-to-switch.service'
systemd-analyze verify --man=no $applications rf-switch.socket >/tmp/verify 2>&1 && [ ! -s /tmp/verify ] || fail "systemd-analyze verify: $(cat /tmp/verify)"
mkdir -p /etc/default
echo METRONOME_OPTIONS="--line sim --compare -D 2s --settle 200ms --period 10ms" >/etc/default/metronome
systemctl start metronome || fail "systemctl start metronome: code $?, $(journal metronome)"
n=$(whole /var/lib/metronome) || exit
[ "$n" = 2 ] || fail "metronome: $n run directories, not 2: $(journal metronome)"
for run in $(find /var/lib/metronome -name run.json -printf '%h\n'); do
  punctual report "$run" --json >/tmp/report
  ! grep -q load-did-not-run /tmp/report || fail "metronome: a load did not run: $(cat /tmp/report)"
done
echo RF_SWITCH_LINE=sim >/etc/default/rf-switch
printf '[[line]]\nat = "sim"\n' >/etc/rotary-dial.toml
systemctl start rf-switch.socket rotary-dial dial-to-switch || fail "systemctl start rf-switch.socket rotary-dial dial-to-switch: code $?"
echo d21 >/run/punctual/rtp1
within 60 "systemctl is-active -q rf-switch"
for unit in rf-switch rotary-dial; do
  pid=$(show $unit.service MainPID)
  within 30 "chrt -a -p $pid | grep -q SCHED_FIFO"
  caps=$(awk '/^CapEff/ {print $2}' "/proc/$pid/status")
  [ "$caps" = "$(printf %016x $((1 << 23 | 1 << 14)))" ] || fail "$unit has capabilities $caps"
done
# Commands that have not been read yet survive the daemon, which ends after the frame that it is sending.
for unit in dial-to-switch.service rotary-dial.service rf-switch.service; do stopped $unit success; done
within 60 "journal rf-switch | grep -q ' 1 accepted'"
systemctl stop rf-switch.socket
say "applications: metronome $n runs whole; rf-switch started by its FIFO, rotary-dial: FIFO, two capabilities, stopped"

figures=
for unit in $watch $serve $prove $applications; do
  figure=$(systemd-analyze security --no-pager $unit | sed -n 's/.*exposure level for .*: \([0-9.]*\) .*/\1/p')
  [ -n "$figure" ] || fail "systemd-analyze security $unit: no figure"
  awk "BEGIN {exit !($figure <= 3.0)}" || [ $unit = $prove ] || fail "systemd-analyze security $unit: $figure"
  figures="$figures ${unit%.service} $figure"
done
say "systemd-analyze security (10 is worst):$figures"
say PASSED
end
