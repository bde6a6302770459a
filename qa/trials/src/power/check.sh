# Records what is on each disk after a power cut, in files named after the disk.
mkdir /facts /disk
for device in /dev/vd?; do
  name=/facts/$(basename $device)
  mount -t @FS@ $device /disk || { echo "mount $?" > $name; continue; }
  (
    cd /disk && within
    there undo --list --json > $name.list 2> $name.said; echo "list $?"
    echo "etc $(sum)"
    for run in /disk/runs/*; do
      [ -e $run ] || continue
      there report /runs/$(basename $run) --json > /tmp/report 2> /tmp/said
      echo "run $(basename $run) $? $(sha256sum < /tmp/report | cut -c1-16) $(tail -n 1 /tmp/said)"
    done
    there undo --json > $name.undo 2>> $name.said; echo "undo $?"
    echo "after $(sum)"
    there undo --list --json > $name.left 2>> $name.said; echo "left $?"
  ) > $name
  for folder in tmp run dev sys proc bin; do umount -l /disk/$folder; done
  umount /disk
done
exit 0
