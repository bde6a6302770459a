# Runs labgrid's test over ssh against this machine. $1: the static binary, $2: the integrations, $3: an empty
# directory, $4: the directory of tools. Exits with 77 if something is missing.
set -euo pipefail
punctual=$1 integrations=$2 work=$3 tools=$4
pytest=$tools/labgrid/bin/pytest
[ -x "$pytest" ] || { echo "python3 -m venv $tools/labgrid && $tools/labgrid/bin/pip install labgrid pytest"; exit 77; }
[ -x /usr/sbin/sshd ] || { echo "apt-get install openssh-server"; exit 77; }
for name in key host; do ssh-keygen -q -t ed25519 -N '' -f "$work/$name"; done
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat > "$work/sshd.conf" <<CONF
Port $port
ListenAddress 127.0.0.1
HostKey $work/host
AuthorizedKeysFile $work/key.pub
StrictModes no
PidFile $work/pid
Subsystem sftp internal-sftp
CONF
mkdir -p /run/sshd
/usr/sbin/sshd -f "$work/sshd.conf"
trap 'kill "$(cat "$work/pid")"' EXIT
cat > "$work/env.yaml" <<YAML
targets:
  main:
    resources:
      NetworkService: {address: 127.0.0.1, port: $port, username: $(id -un)}
    drivers:
      SSHDriver: {keyfile: $work/key}
YAML
cp "$integrations/labgrid/test_latency.py" "$work/"
PUNCTUAL_BINARY=$punctual PUNCTUAL_DURATION=3s PUNCTUAL_CLAIM='max < 30s' timeout 300 \
  "$pytest" -q -p no:cacheprovider --lg-env "$work/env.yaml" "$work/test_latency.py" > "$work/log" 2>&1 || { tail -20 "$work/log"; exit 1; }
echo "labgrid: $(grep -o '1 passed' "$work/log"), over ssh"
# A claim that cannot hold must fail.
if PUNCTUAL_BINARY=$punctual PUNCTUAL_DURATION=2s PUNCTUAL_CLAIM='max < 1ns' timeout 300 \
  "$pytest" -q -p no:cacheprovider --lg-env "$work/env.yaml" "$work/test_latency.py" > "$work/log2" 2>&1; then
  echo "a claim of 1 ns passed"; exit 1
fi
grep -q '1 failed' "$work/log2" || { tail -20 "$work/log2"; exit 1; }
echo "labgrid: a claim that does not hold fails"
