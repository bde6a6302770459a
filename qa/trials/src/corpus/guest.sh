mkdir -p /results /var/tmp
echo root:x:0:0:root:/root:/bin/sh > /etc/passwd
hostname > /etc/hostname
for program in /corpus/*/*; do
	kind=${program%/*}
	name=/results/${kind##*/}-${program##*/}
	# Standard error is a pipe, as under a test runner.
	timeout 120 punctual check --json --duration 4s -- "$program" 2>&1 >"$name.json" | cat >"$name.err"
	echo "$program"
done
