# Records sections under a load while timerlat measures. SEED, LOAD and US are set before it.
dmesg -n 1
sysctl -w kernel.sched_rt_runtime_us=-1 > /dev/null
forks() { while :; do /bin/true; done; }
files() { while :; do cp /bin/busybox /tmp/b$1; rm /tmp/b$1; ls -lR /proc/self > /dev/null; done; }
pipes() { dd if=/dev/zero bs=64 2>/dev/null | cat > /dev/null; }
holds() { while :; do for k in $KINDS; do echo "$k $US 0" > /dev/hold; usleep $((777 + SEED * 13)); done; done; }
mem() { while :; do dd if=/dev/zero of=/tmp/m bs=4096 count=500 2>/dev/null; done; }
case $LOAD in
  idle) ;;
  fork) forks & ;;
  file) files 1 & files 2 & ;;
  pipe) pipes & ;;
  mem) mem & ;;
  all) forks & files 1 & pipes & mem & ;;
  hold) insmod /hold.ko && KINDS="alpha delta beta epsilon" && holds & ;;
  work) insmod /hold.ko && KINDS="work ipi" && holds & ;;
esac
usleep $((20000 + SEED * 1709))
punctual bound -D 300ms --timerlat --json > /bound.json
true
