# A machine that can be reached over ssh until the host restarts it, and that reports on its console how far a
# deployment has come.
tools=/run/lab/tools
modprobe i6300esb
network || exit 30
if [ ! -e /root/before ]; then
  tar -x --no-same-owner -f $tools/packages.tar -C / && ldconfig || exit 31
  echo 'sshd:x:105:65534::/run/sshd:/usr/sbin/nologin' >> /etc/passwd
  list > /root/before.new && sync && mv /root/before.new /root/before && sync
fi
mkdir -p /run/sshd
printf '%s\n' "HostKey $tools/host" "AuthorizedKeysFile $tools/user.pub" 'StrictModes no' 'UsePAM no' 'PidFile none' \
  'PermitRootLogin yes' 'MaxStartups 100' > /run/sshd/config
/usr/sbin/sshd -D -e -f /run/sshd/config &
there() { for path in "$@"; do [ -e "$path" ] && return 0; done; return 1; }
stage_of() {
  stage=
  [ -e "$1" ] || return
  while read -r line || [ -n "$line" ]; do
    for stage in placing placed armed committed removing; do
      case $line in *'"stage":'*"\"$stage\""*) return ;; esac
    done
  done < "$1"
  stage=recorded
}
# Starts no processes: in the emulator, each would slow the deployment down.
at() {
  remote=/root/.cache/punctual/remote deploy=/var/lib/punctual/deploy
  # Until the deployment's command runs, what an earlier deployment left says nothing about this one.
  if ! there $remote/jobs/deploy*; then
    if there $remote/up/*.tar; then now=sent
    elif there $remote/up/*.tar.part; then now=package
    elif there $remote/up/*punctual; then now=program-there
    elif there $remote/up/*.part; then now=program
    else now=nothing; fi
    return
  fi
  stage_of $deploy/record.json
  if there $remote/jobs/deploy*/code; then now=done
  elif [ "$stage" != placing ] && [ -n "$stage" ]; then now=$stage
  elif there /boot/punctual/.*.punctual/initrd.img; then now=initramfs
  elif there /boot/punctual/.*.punctual && ! there /lib/modules/.*.punctual; then now=hooks
  elif there /boot/punctual/.*.punctual; then now=boot-files
  elif there /lib/modules/.*.punctual; then now=modules
  elif [ -n "$stage" ]; then now=$stage
  elif [ -d $deploy/staging ]; then now=unpacking
  else now=started; fi
}
(
  before=
  while :; do
    at
    [ "$now" = "$before" ] || mark "at $now"
    before=$now
    sleep 0.4
  done
) &
# The host calls this over ssh. Restarts as an init would, but does not stop services one by one.
cat > $tools/restart <<'END'
#!/bin/sh
trap '' TERM HUP
sleep 1
kill -TERM -1
sleep 1
sync
mount -o remount,ro /
busybox reboot -f
END
chmod 755 $tools/restart
mark up
trap '' TERM
while :; do sleep 3600; done
