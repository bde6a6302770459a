#!/bin/sh
# In a fresh root, installs the package, uses it, and purges it. Prints a line for each step; the last line is the
# result.
set -u
deb=$1
failed=0
export LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin

step() { # what the step shows, then the command
    shows=$1
    shift
    if "$@" >/tmp/step.log 2>&1; then echo "ok      $shows"; else
        echo "FAILED  $shows (exit code $?)"
        sed 's/^/          /' /tmp/step.log | tail -20
        failed=1
    fi
}

# Lists every file with its kind, mode, owner and size, except those that dpkg and man-db write for themselves.
list() {
    find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /run/lock \) -prune -o \
        ! -path '/var/log/dpkg.log' ! -path '/var/lib/dpkg/*-old' ! -path '/var/lib/dpkg/status' ! -path '/var/lib/dpkg/lock*' \
        ! -path '/var/lib/dpkg/triggers/*' ! -path '/var/cache/man*' ! -path '/var/cache/ldconfig*' ! -path '/etc/*-' ! -path /run/adduser \
        ! -type d -printf '%y %m %u:%g %s %p\n' -o -type d ! -path '/var/cache/man*' -printf '%y %m %u:%g %p\n' | sort
    cat /etc/group /etc/gshadow /etc/passwd
}

# Exit codes 0, 1 (a claim fails) and 3 (inconclusive) are verdicts. On an emulated machine any of them is possible.
proved() {
    punctual prove --duration 5s --out /tmp/run
    case $? in 0 | 1 | 3) ;; *) return 1 ;; esac
    grep -q '"complete": *true' /tmp/run/run.json && test -s /tmp/run/report.html
}

page() {
    for name in punctual punctual-prove punctual-bench-nqueens; do
        man -P cat "$name" >/tmp/page || return 1
        grep -q '^SYNOPSIS' /tmp/page || return 1
    done
}

units() { # each program that a unit starts exists
    for unit in /usr/lib/systemd/system/punctual-serve.service /usr/lib/systemd/system/punctual-watch.service \
        /usr/lib/systemd/system/rf-switch.service /usr/lib/systemd/system/rotary-dial.service; do
        program=$(sed -n 's/^ExecStart=\([^ ]*\).*/\1/p' "$unit")
        test -x "$program" || return 1
    done
}

copy_is_the_groups() {
    test "$(stat -c '%a %U:%G' /usr/libexec/punctual/punctual)" = '750 root:punctual' &&
        getcap /usr/libexec/punctual/punctual | grep -q 'cap_ipc_lock,cap_sys_nice=ep' &&
        test -z "$(getcap /usr/bin/punctual)"
}

list >/tmp/before
step "the package installs" dpkg --install "$deb"
step "punctual says its version" punctual --version
step "the copy with rights is the group's, the other has none" copy_is_the_groups
step "units start programs that are there" units
step "bash reads its completions" bash -n /usr/share/bash-completion/completions/punctual
step "manual pages open" page
step "rf-switch shows its help" rf-switch --help
step "rotary-dial shows its help" rotary-dial --help
step "metronome shows its help" metronome --help
step "punctual prove --duration 5s ends with a report" proved

# Runs as an ordinary user, with limits that cannot replace capabilities.
as() { # options for groups, then arguments
    groups=$1
    shift
    rm -rf /tmp/as && mkdir -m 777 /tmp/as
    prlimit --memlock=65536:65536 --rtprio=0:0 setpriv --reuid 54321 --regid 54321 $groups env HOME=/tmp/as \
        punctual measure -D 500ms --out /tmp/as/run "$@"
    # 3: the measurement is too short, or not as requested. The caller examines the run.
    case $? in 0 | 3) ;; *) return 1 ;; esac
}
member_has_fifo() {
    as "--groups $(getent group punctual | cut -d: -f3)" && grep -q '"policy": *"fifo"' /tmp/as/run/run.json &&
        ! grep -q 'could not be locked' /tmp/as/run/run.json
}
other_user_is_refused() {
    as --clear-groups && grep -q '"policy": *"other"' /tmp/as/run/run.json && grep -q CAP_SYS_NICE /tmp/as/run/run.json
}
if [ "${EMULATED:-}" = 1 ]; then
    echo "NOT TESTED  members of the group measure with FIFO: an emulator gives no file capabilities (binfmt_misc without C)"
else
    step "a member of the group measures with FIFO and locked memory" member_has_fifo
    step "another user reads what is missing" other_user_is_refused
fi

step "the package is purged" dpkg --purge punctual
list >/tmp/after
step "nothing is left, nothing else changed" diff /tmp/before /tmp/after
rm -rf /tmp/run /tmp/as
exit $failed
