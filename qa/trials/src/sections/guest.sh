# Runs each kind on CPU 1 while `punctual measure` records with stacks; then a control run in which nothing is held.
dmesg -n 1
insmod /hold.ko || exit 9
sysctl -w kernel.sched_rt_runtime_us=-1 > /dev/null
mkdir -p /res
record() {
  punctual measure --duration "$2" --period 1ms --cpus 1 --trace always --trace-events stacks --load idle --no-context --out "/out/$1" --quiet > /dev/null 2>&1 &
  run=$!
}
explained() {
  punctual explain "/out/$1" --json -n 50 > "/res/$1.json"
  rm -rf "/out/$1"
}
for kind in alpha beta gamma delta epsilon ipi work stop; do
  # IPIs and the stopper's work are sent from the other CPU.
  cpu=2
  case $kind in ipi) cpu=1 ;; esac
  for n in 1 2 3; do
    record "$kind-$n" 4s
    i=0
    while kill -0 "$run" 2> /dev/null && [ "$i" -lt 40 ]; do
      i=$((i + 1))
      taskset "$cpu" sh -c "echo $kind $((200 + (i * 7 + n * 3) % 18 * 100)) 1 > /dev/hold"
      sleep 0.11
    done
    wait "$run"
    cat /dev/hold > "/res/$kind-$n.log"
    cat /dev/hold > /dev/null
    explained "$kind-$n"
  done
done
record control 6s
taskset 2 sh -c 'while :; do :; done' &
spins=$!
wait "$run"
kill "$spins"
explained control
