# Runs the workflow with act on this machine, as an unprivileged user with sudo, like a runner's user. $1: the static binary, $2: the
# integrations, $3: an empty directory, $4: the directory of tools. Exits with 77 if something is missing.
#
# Nothing is downloaded: act copies the work tree in place of actions/checkout, and removes the copy as that user. The stand-in for
# actions/upload-artifact copies each path, and fails if one is missing. The workflow's duration (30 minutes), loads (all) and claim are changed.
set -euo pipefail
punctual=$1 integrations=$2 work=$3 tools=$4
act=$tools/act/act
[ -x "$act" ] || { echo "GOBIN=$tools/act go install github.com/nektos/act@latest (Go: apt-get install golang)"; exit 77; }
for program in git sudo setpriv unshare; do
  command -v $program >/dev/null || { echo "apt-get install git sudo util-linux"; exit 77; }
done
[ "$(id -u)" = 0 ] || { echo "as root: the runner's user, sudo's rules and /usr/local/bin are set up in a mount namespace"; exit 77; }

mkdir -p "$work"/{upload,repo/.github/workflows,home,store,bin}
cat > "$work/upload/action.yml" <<YAML
name: upload-artifact
inputs:
  name: {required: true}
  path: {required: true}
runs:
  using: composite
  steps:
    - run: |
        rm -rf "$work/store/\$NAME" && mkdir "$work/store/\$NAME"
        while read -r path; do [ -z "\$path" ] || cp -r "\$GITHUB_WORKSPACE/\$path" "$work/store/\$NAME/"; done <<< "\$PATHS"
      shell: bash
      env:
        NAME: \${{ inputs.name }}
        PATHS: \${{ inputs.path }}
YAML
cp "$punctual" "$work/bin/punctual"
cp "$act" "$work/bin/act"
echo 'nobody ALL=(root) NOPASSWD: ALL' > "$work/sudoers"
chmod 440 "$work/sudoers"
chmod 755 "$work"/.. "$work" "$work"/bin/*
( cd "$work/repo" && git init -q -b main )
chown -R nobody "$work"/{repo,home,store}

# $1: a name for the log, $2: the claim.
pushed() {
  local name=$1 claim=$2 workflow=$work/repo/.github/workflows/latency.yml
  sed -e 's/--duration 30m/--duration 6s --load idle,cpu/' -e "s/max < 100us/$claim/" "$integrations/github/latency.yml" > "$workflow"
  [ "$(diff "$integrations/github/latency.yml" "$workflow" | grep -c '^>')" = 1 ] || { echo "the workflow has other words: it was not changed"; return 99; }
  unshare --mount bash -euc '
    work=$1
    mount --bind "$work/sudoers" /etc/sudoers
    mount --bind "$work/bin" /usr/local/bin
    cd "$work/repo"
    as() { setpriv --reuid nobody --regid nogroup --clear-groups env -i HOME="$work/home" PATH=/usr/local/bin:/usr/bin:/bin "$@"; }
    as git add -A
    as git -c user.name=a -c user.email=a@example.org commit -q --allow-empty -m push
    as timeout 600 act push --bind -P rt=-self-hosted \
      --local-repository actions/upload-artifact@v4="$work/upload"
  ' bash "$work" > "$work/$name.log" 2>&1
}
taken() { # $1: whether the claim holds or fails
  local store=$work/store/latency
  "$punctual" report "$store/run" --json >/dev/null || { echo "the artifact holds no run"; return 1; }
  python3 - "$store/junit.xml" "$1" <<'PY'
import sys, xml.etree.ElementTree as tree
suites = tree.parse(sys.argv[1]).getroot().iter("testsuite")
failures = sum(int(suite.get("failures")) for suite in suites)
assert (failures > 0) == (sys.argv[2] == "fails"), "junit.xml has %d failures" % failures
PY
}
pushed pass 'max < 30s' || { tail -30 "$work/pass.log"; exit 1; }
grep -q 'Job succeeded' "$work/pass.log" || { tail -30 "$work/pass.log"; exit 1; }
taken holds
echo "$("$act" --version): a claim that holds: the job succeeded, run and junit.xml taken"
if pushed fail 'max < 1ns'; then echo "a claim of 1 ns passed"; exit 1; fi
for words in 'Job failed' 'Failure - Main Prove' 'Success - Main As JUnit'; do
  grep -q "$words" "$work/fail.log" || { tail -30 "$work/fail.log"; exit 1; }
done
[ "$(grep -c ' Failure - Main ' "$work/fail.log")" = 1 ] || { grep 'Failure - Main' "$work/fail.log"; exit 1; }
! grep 'permission denied' "$work/fail.log" || exit 1
taken fails
echo "a claim that does not hold: the job failed, in Prove alone; run and junit.xml taken"
