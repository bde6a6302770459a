# Fixes, undoes and measures on the disk of @FS@ until its time is over, and marks the start and the end of each on the
# disk.
mkdir /facts /disk && mount -t @FS@ /dev/vda /disk && cd /disk || exit 9
mkdir -p bin proc sys dev run tmp runs var/lib etc/sysctl.d && cp /etc/passwd /etc/group etc/ && sync
within
sum > /facts/etc
n=0
# Does not flush, because that would also save what punctual did not sync.
mark() {
  n=$((n + 1))
  printf '%-512s' "MARK $*" | /usr/bin/dd of=/dev/vda bs=512 count=1 seek=$((@END@ + n)) oflag=direct conv=notrunc 2> /dev/null ||
    { echo "mark $*: $?"; exit 8; }
}
end=$(($(cut -d. -f1 /proc/uptime) + @SECONDS@)) i=0
while [ "$(cut -d. -f1 /proc/uptime)" -lt $end ]; do
  i=$((i + 1))
  mark fix $i; there audit --for dedicated-core --look-again 0s --persist --fix @RULES@ > /facts/fix 2>&1; mark fixed $i $?
  mark measure $i; there prove -D 300ms -l idle --trace always @SYNC@ -q --out /runs/$i; mark measured $i $?
  there report /runs/$i --json > /tmp/report 2> /dev/null; echo "run $i $? $(sha256sum < /tmp/report | cut -c1-16)" >> /facts/runs
  mark undo $i; there undo > /facts/undo 2>&1; mark undone $i $?
  there undo --list > /facts/list 2>&1
done
echo "$i rounds"
