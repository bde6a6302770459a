# Builds and runs the image, then the Job's pod. $1: the static binary, $2: the integrations, $3: an empty directory.
# Exits with 77 if something is missing.
set -euo pipefail
punctual=$1 integrations=$2 work=$3
command -v podman >/dev/null || { echo "apt-get install podman runc"; exit 77; }
mkdir "$work/context" "$work/out"
cp "$punctual" "$work/context/punctual"

# A sandbox may not let root raise limits, so the limits that podman would raise are set lower.
export CONTAINERS_CONF=$work/containers.conf
cat > "$CONTAINERS_CONF" <<CONF
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
runtime = "$(command -v runc >/dev/null && echo runc || echo crun)"
CONF
name=punctual-check-$$
trap 'podman pod rm -f $name >/dev/null 2>&1; podman rmi -f $name >/dev/null 2>&1' EXIT
podman build -q -f "$integrations/oci/Containerfile" -t "$name" "$work/context" >/dev/null 2>&1

# In cgroup v1, real-time threads need a budget in their own group.
parent=/sys/fs/cgroup/cpu/libpod_parent/cpu.rt_runtime_us realtime=()
podman run --rm --network none "$name" --version >"$work/version" 2>/dev/null
if [ -e "$parent" ]; then
  echo 900000 > "$parent"
  realtime=(--cpu-rt-runtime 800000)
fi
podman run --rm --network none "${realtime[@]}" --cap-drop ALL --cap-add SYS_NICE --cap-add IPC_LOCK \
  -v "$work/out:/out" "$name" measure --duration 3s --claim 'max < 30s' --out /out/run >"$work/text" 2>"$work/errors" ||
  { cat "$work/text" "$work/errors"; exit 1; }
grep -q 'at FIFO 90' "$work/text"
"$punctual" report "$work/out/run" --json >/dev/null
echo "$(cat "$work/version"): image built, 3 s at FIFO 90 with two capabilities and nothing else"

# The pod of the Job, as Kubernetes would create it. podman 4 supports no Jobs, and does not expand variables in
# arguments.
python3 - "$integrations/kubernetes/job.yaml" "$name" "$work" > "$work/pod.yaml" <<'PY'
import sys, yaml
job, name, work = sys.argv[1:]
pod = yaml.safe_load(open(job))["spec"]["template"]
pod.update(apiVersion="v1", kind="Pod", metadata={"name": name})
container = pod["spec"]["containers"][0]
values = {e["name"]: e["value"] for e in container["env"]}
values.update(LATENCY_TEST_RUNTIME="2", MAXIMUM_LATENCY="30000000")
for key, value in values.items():
    container["args"] = [a.replace("$(%s)" % key, value) for a in container["args"]]
container.update(image="localhost/%s:latest" % name, imagePullPolicy="Never")
pod["spec"]["volumes"][0]["hostPath"]["path"] = work + "/pod"
yaml.safe_dump(pod, sys.stdout)
PY
mkdir "$work/pod"
podman play kube --network none "$work/pod.yaml" >/dev/null 2>&1
code=$(podman wait "$name-punctual" 2>/dev/null)
podman logs "$name-punctual" >"$work/pod.log" 2>&1
"$punctual" report "$work/pod/run" --json >/dev/null || { cat "$work/pod.log"; exit 1; }
# In cgroup v1, a pod's group has no real-time budget. Then an ordinary thread is measured, which is not a pass, and is
# reported.
case $code in
  0) echo "the Job's pod: 2 s, exit code 0" ;;
  1 | 3) grep -q 'CONFIG_RT_GROUP_SCHED' "$work/pod.log" || { cat "$work/pod.log"; exit 1; }
    echo "the Job's pod: 2 s, exit code $code: no real-time share in its cgroup (v1)" ;;
  *) cat "$work/pod.log"; exit 1 ;;
esac
