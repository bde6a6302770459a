# Runs `punctual new` in a bare Debian root with one language's compiler, punctual and punctual-rt-dev, until the loop prints its statistics.
# Then runs what the project's CI runs: `punctual check`, which must pass, and `prove --app`, which must find the loop's cycles.
# $1: the program, $2: the integrations, $3: an empty directory, $4: the directory of tools. Exits with 77 if something is missing.
set -euo pipefail
punctual=$1 root=$2/.. work=$3 tools=$4
suite=bookworm
for program in mmdebstrap dpkg-deb unshare; do
  command -v $program >/dev/null || { echo "apt-get install mmdebstrap dpkg util-linux"; exit 77; }
done
deb=$(ls "$root"/dist/punctual-rt-dev_*_"$(dpkg --print-architecture)".deb 2>/dev/null | tail -1) || true
[ -n "$deb" ] || { echo "no package: cargo xtask rt-dev"; exit 77; }

image() { # name, packages: prints the path of a root, which is kept
  local file=$tools/new/$suite-$1.tar
  if [ ! -e "$file" ]; then
    mkdir -p "$tools/new"
    mmdebstrap --quiet --format=tar --variant=minbase --include="$2" --aptopt='Apt::Install-Recommends "false"' --dpkgopt='path-exclude=/usr/share/doc/*' \
      --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' $suite "$file.new" >"$work/log" 2>&1 ||
      { tail -5 "$work/log"; exit 1; }
    mv "$file.new" "$file"
  fi
  echo "$file"
}

try() { # language, image, the loop's path, the command that builds it
  local system=$work/$1 begun
  mkdir "$system"
  tar -xf "$2" -C "$system" --exclude='./dev/*'
  install -m 755 "$punctual" "$system/usr/bin/punctual"
  cp "$deb" "$system/tmp/dev.deb"
  local mounts="mount --make-rprivate / && mount -t proc proc \$0/proc && mount -t sysfs sysfs \$0/sys && mount --rbind --make-rslave /dev \$0/dev"
  if [ "$1" = rust ]; then
    # Debian's Rust is too old for the library, so this machine's Rust and cargo's registry are used.
    local home=${CARGO_HOME:-$HOME/.cargo} sysroot
    sysroot=$(rustc --print sysroot)
    mkdir -p "$system/opt/rust" "$system/root/.cargo/registry"
    mounts="$mounts && mount --bind $sysroot \$0/opt/rust && mount --bind $home/registry \$0/root/.cargo/registry"
  fi
  begun=$(date +%s%N)
  inside "dpkg --install /tmp/dev.deb >/dev/null && cd /tmp && punctual new my-loop --lang $1 && cd my-loop && $4 && $3 2" ||
    { echo "$1:"; tail -20 "$work/said"; exit 1; }
  local took=$((($(date +%s%N) - begun) / 1000000000)) figures
  grep -q '^second 2: ' "$work/said" && figures=$(grep '^2000 releases: ' "$work/said") || { echo "$1 prints no statistics:"; tail -20 "$work/said"; exit 1; }
  [ $took -le 60 ] || { echo "$1 took $took s, more than 60"; exit 1; }
  echo "$1: $took s from nothing to $figures"
  inside "cd /tmp/my-loop && punctual check --duration 5s -- $3 10 1" || { echo "$1 does not pass the check:"; cat "$work/said"; exit 1; }
  echo "   $(grep -m1 '^PASS' "$work/said")"
  # Whether the loop is late depends on the machine.
  inside "cd /tmp/my-loop && punctual prove --app '$3 0 1' --claim 'late(my-loop) = 0' --load idle --duration 3s --out run || [ \$? -ne 2 -a \$? -ne 4 ]" ||
    { echo "$1: no proof:"; cat "$work/said"; exit 1; }
  grep -q 'idle, my-loop' "$work/said" || { echo "$1: prove --app does not find the loop:"; cat "$work/said"; exit 1; }
  echo "   $(grep -m1 'idle, my-loop' "$work/said")"
}

# Runs commands in the root $system with its $mounts. Not in a PID namespace of its own, because traces contain the IDs
# of the initial one.
inside() {
  unshare --mount sh -c "$mounts && exec chroot \$0 /usr/bin/env -i HOME=/root PATH=/opt/rust/bin:/usr/bin:/bin:/usr/sbin:/sbin \
    CARGO_NET_OFFLINE=true sh -ec \"\$1\"" "$system" "$1" >"$work/said" 2>&1
}

try c "$(image c gcc,libc6-dev)" ./my-loop "sh build.sh"
try cpp "$(image cpp g++)" ./my-loop "sh build.sh"
try rust "$(image c gcc,libc6-dev)" target/release/my-loop "cargo build --release --quiet"
