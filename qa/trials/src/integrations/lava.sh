# lava-run boots a guest, runs the test definition, and reads its signals. $1: the static binary, $2: the integrations,
# $3: an empty directory, $4: a kernel image, $5: a static BusyBox. Exits with 77 if something is missing.
set -euo pipefail
punctual=$1 integrations=$2 work=$3 kernel=$4 busybox=$5
for program in lava-run qemu-system-x86_64 cpio; do
  command -v $program >/dev/null || { echo "apt-get install lava-dispatcher qemu-system-x86 cpio"; exit 77; }
done
root=$work/root
mkdir -p "$root"/{bin,proc,sys,dev,tmp,root}
install -m 755 "$busybox" "$root/bin/busybox"
for name in $("$root/bin/busybox" --list); do ln -sfn busybox "$root/bin/$name"; done
install -m 755 "$busybox" "$root/bin/busybox.tmp" && mv "$root/bin/busybox.tmp" "$root/bin/busybox"
install -m 755 "$punctual" "$root/bin/punctual"
cat > "$root/init" <<'INIT'
#!/bin/sh
export PATH=/bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp
mount -t tracefs trace /sys/kernel/tracing
exec setsid cttyhack sh -c 'while :; do PS1="/ # " sh -i; done'
INIT
chmod 755 "$root/init"
(cd "$root" && find . | cpio --quiet -o -H newc | gzip -1) > "$work/initramfs.gz"
cp "$kernel" "$work/kernel"

cat > "$work/device.yaml" <<'DEVICE'
device_type: qemu
hostname: qemu-1
available_architectures: [amd64]
memory: 512
constants:
  posix: {lava_test_sh_cmd: /bin/sh, lava_test_results_dir: /lava-%s, lava_test_shell_file: "~/.bashrc"}
  kernel-start-message: "Linux version [0-9]"
  default-shell-prompt: "lava-test: # "
  shutdown-message: "The system is going down"
  spawn_maxread: 1
  failure_retry: 1
  boot_retry: 1
actions:
  deploy: {methods: {image: {parameters: {guest: {interface: virtio, driveid: lavatest}}}}}
  boot:
    methods:
      qemu:
        parameters:
          command: qemu-system-x86_64
          boot_options: {boot_order: c, media_type: disk}
          options: ["-nographic", "-m 512", "-smp 2", "-accel tcg", "-monitor none", "-net none"]
          extra: []
timeouts:
  actions: {}
  connections: {lava-test-shell: {minutes: 5}}
DEVICE
python3 - "$integrations/lava" "$work" > "$work/job.yaml" <<'PY'
import sys, yaml
folder, work = sys.argv[1:]
job = yaml.safe_load(open(folder + "/qemu.yaml"))
images = job["actions"][0]["deploy"]["images"]
images["kernel"]["url"], images["ramdisk"]["url"] = "file://%s/kernel" % work, "file://%s/initramfs.gz" % work
job["actions"][2]["test"]["definitions"][0]["repository"] = yaml.safe_load(open(folder + "/punctual.yaml"))
yaml.safe_dump(job, sys.stdout)
PY
timeout 900 lava-run --device "$work/device.yaml" --job-id 1 --output-dir "$work/out" "$work/job.yaml" > "$work/log" 2>&1 ||
  { tail -5 "$work/log"; exit 1; }
# Checks LAVA's own results of this definition, not what was printed.
python3 - "$work/log" <<'PY'
import json, sys
lines = [line for line in open(sys.argv[1]) if '"lvl": "results"' in line]
ours = [line for line in lines if '"definition": "0_punctual"' in line]
cases = [line for line in ours if '"measurement"' not in line]
assert '"result": "pass"' in lines[-1] and '"case": "job"' in lines[-1], lines[-1]
assert any('"case": "run-verdict"' in line for line in ours), "no verdict among LAVA's results"
assert all('"result": "pass"' in line for line in ours), [line for line in ours if '"result": "pass"' not in line]
print("lava-run: the job passed, %d outcomes and %d measurements taken" % (len(cases), len(ours) - len(cases)))
PY
