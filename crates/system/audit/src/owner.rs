//! The owner of a task: unit, package, purpose, and its share of a CPU.

use crate::sight::Sight;
use crate::tasks::Task;
use punctual_machine::{Machine, Read};

/// Files that [`Owner::of`] reads, except package lists: those are read only on a live machine, because they would make
/// snapshots large.
pub(crate) const READS: &[&str] = &["/proc/*/cgroup", "/proc/*/exe", "/proc/*/task/*/schedstat", "/proc/uptime"];

/// Programs known to run at real-time priority: name (`*` at the end for any suffix), package, purpose.
const KNOWN: &[(&str, &str, &str)] = &[
    ("multipathd", "multipath-tools", "checks the paths of multipath storage"),
    ("pipewire*", "pipewire", "the desktop's sound and video"),
    ("wireplumber", "wireplumber", "manages PipeWire's devices"),
    ("data-loop.*", "pipewire", "PipeWire's processing"),
    ("pulseaudio", "pulseaudio", "the desktop's sound"),
    ("alsa-sink-*", "pulseaudio", "a sound card's output"),
    ("alsa-source-*", "pulseaudio", "a sound card's input"),
    ("jackd", "jackd2", "the sound server"),
    ("jackdbus", "jackd2", "the sound server"),
    ("rtkit-daemon", "rtkit", "grants real-time priority; its watchdog runs above its clients"),
    ("corosync", "corosync", "the cluster's membership: RR 99 so that a busy node is not evicted"),
    ("dlm_controld", "dlm-controld", "the cluster's locks"),
    ("sanlock", "sanlock", "leases on shared storage"),
    ("wdmd", "sanlock", "feeds the hardware watchdog"),
    ("watchdog", "watchdog", "feeds the hardware watchdog"),
    ("chronyd", "chrony", "sets the clock"),
    ("ntpd", "ntpsec", "sets the clock"),
    ("ptp4l", "linuxptp", "sets the network card's clock"),
    ("phc2sys", "linuxptp", "synchronises the system clock to the network card's"),
    ("ts2phc", "linuxptp", "synchronises the network card's clock to a pulse"),
    ("stalld", "stalld", "boosts starving tasks"),
    ("rasdaemon", "rasdaemon", "logs hardware errors"),
    ("asterisk", "asterisk", "telephony; -p requests real-time priority"),
    ("lttng-consumerd", "lttng-tools", "writes traces"),
    ("cyclictest", "rt-tests", "measures wakeup latency"),
    ("oslat", "rt-tests", "measures interruptions of a busy loop"),
    ("cyclicdeadline", "rt-tests", "measures deadline scheduling"),
    ("signaltest", "rt-tests", "measures signals"),
    ("hwlatdetect", "rt-tests", "detects firmware interruptions"),
    ("rtla", "rtla", "measures with the kernel's tracers"),
    ("jitterdebugger", "jitterdebugger", "measures wakeup latency"),
    ("punctual", "punctual", "measures or monitors wakeup latency"),
    ("timerlatu/*", "rtla", "measures with the timerlat tracer"),
    ("stress-ng*", "stress-ng", "generates load"),
    ("rtapi_app*", "linuxcnc-uspace", "LinuxCNC's real-time part"),
    ("CPU */KVM", "qemu", "a guest's CPU"),
    ("qemu-system-*", "qemu", "a guest"),
    ("gamescope*", "gamescope", "a compositor"),
    ("kwin_wayland", "kwin", "the desktop's compositor"),
    ("gnome-shell", "gnome-shell", "the desktop"),
];

const PACKAGES: &str = "/var/lib/dpkg/info";

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Owner {
    unit: Option<String>,
    package: Option<String>,
    what: Option<&'static str>,
    time: Option<String>,
}

impl Owner {
    pub fn of(sight: &Sight, task: &Task) -> Owner {
        let machine = sight.machine;
        let program = machine.read(&format!("/proc/{}/exe", task.pid));
        let known = known(&task.name, program.text());
        let package = program.text().and_then(|path| sight.package(path));
        Owner {
            unit: machine.read(&format!("/proc/{}/cgroup", task.pid)).text().and_then(unit),
            package: package.or_else(|| known.map(|(_, package, _)| (*package).to_owned())),
            what: known.map(|(.., what)| *what),
            time: time(sight, task),
        }
    }

    /// Describes a task and its owner, such as
    /// `multipathd (RR 99, pid 144; unit multipathd.service, package multipath-tools: checks …; 0.30 % of a CPU)`.
    pub fn describe(&self, task: &Task) -> String {
        let shown = task.show();
        let mut parts: Vec<String> = Vec::new();
        parts.extend(self.unit.as_ref().map(|unit| format!("unit {unit}")));
        parts.extend(self.package.as_ref().map(|package| format!("package {package}")));
        let mut about = parts.join(", ");
        match self.what {
            Some(what) => about = format!("{about}: {what}"),
            None if self.package.is_none() => about = format!("{about} unknown program").trim_start().to_owned(),
            None => {}
        }
        let all = [Some(about).filter(|about| !about.is_empty()), self.time.clone()];
        let rest: String = all.into_iter().flatten().map(|part| format!("; {part}")).collect();
        format!("{}{rest})", shown.trim_end_matches(')'))
    }
}

/// Looks up the task's name, then the name of its program, because a thread's name may differ from that of its program.
/// proc(5): ` (deleted)` marks a program that has been replaced.
fn known(task: &str, program: Option<&str>) -> Option<&'static (&'static str, &'static str, &'static str)> {
    let file = program.and_then(|path| path.trim_end().trim_end_matches(" (deleted)").rsplit('/').next());
    [Some(task), file].into_iter().flatten().find_map(|one| KNOWN.iter().find(|(name, ..)| fits(name, one)))
}

fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        Some((before, after)) => {
            name.len() >= before.len() + after.len() && name.starts_with(before) && name.ends_with(after)
        }
        // The kernel keeps 15 characters of a name.
        None => name == pattern || (name.len() == 15 && pattern.starts_with(name)),
    }
}

/// Returns the innermost systemd unit of a control group: cgroups(7), systemd.unit(5).
fn unit(groups: &str) -> Option<String> {
    let is_managed = |line: &&str| line.starts_with("0::") || line.contains(":name=systemd:");
    let mut paths = groups.lines().filter(is_managed).filter_map(|line| line.splitn(3, ':').nth(2));
    let is_unit = |part: &&str| part.ends_with(".service") || part.ends_with(".scope");
    let unit = paths.find_map(|path| path.rsplit('/').find(is_unit))?;
    Some(unit.chars().filter(|c| !c.is_control()).take(80).collect())
}

/// Returns the Debian package of a program, from the lists that dpkg-query(1) reads. Since the merge of /usr a list may
/// name a program without `/usr`.
pub(crate) fn package(machine: &dyn Machine, program: &str) -> Option<String> {
    let program = program.trim_end().trim_end_matches(" (deleted)");
    if program.starts_with(LOCAL) || !PLACES.iter().any(|place| program.starts_with(place)) {
        return None;
    }
    let lists = machine.list(PACKAGES);
    let names = [program, program.strip_prefix("/usr").unwrap_or(program)].map(str::as_bytes);
    let lists = lists.names()?.iter().filter(|name| name.ends_with(".list"));
    // Most packages have the same name as their program.
    let file = program.rsplit('/').next().unwrap_or(program);
    let alike = |list: &&String| common(list, file) >= file.len().min(ALIKE);
    let (first, rest): (Vec<&String>, Vec<&String>) = lists.partition(alike);
    let list = first.into_iter().chain(rest).find(|list| has_line(machine, &format!("{PACKAGES}/{list}"), names))?;
    list.strip_suffix(".list")?.split(':').next().map(str::to_owned)
}

/// Folders in which packages install programs (Debian policy, 9.1 and 10.1): for programs in other folders, the package
/// lists (about a thousand) are not searched.
const PLACES: &[&str] = &["/usr/", "/bin/", "/sbin/", "/lib", "/opt/", "/etc/", "/var/"];
const LOCAL: &str = "/usr/local/";

/// If the names of a package and of the program share a prefix of at least this length, the package is tried first.
const ALIKE: usize = 4;

fn common(one: &str, other: &str) -> usize {
    one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count()
}

/// Number of bytes of a package's list that are read at once. Most lists are shorter; some have several megabytes.
const CHUNK: usize = 16 << 10;

fn has_line(machine: &dyn Machine, path: &str, lines: [&[u8]; 2]) -> bool {
    let (mut offset, mut rest) = (0, Vec::new());
    loop {
        let Read::Known(bytes) = machine.read_part(path, offset, CHUNK) else { return false };
        let is_last = bytes.len() < CHUNK;
        offset += bytes.len() as u64;
        rest.extend(bytes);
        if is_last {
            return rest.split(|byte| *byte == b'\n').any(|line| lines.contains(&line));
        }
        // A list without any line end is invalid.
        let Some(end) = rest.iter().rposition(|byte| *byte == b'\n') else { return false };
        if rest[..end].split(|byte| *byte == b'\n').any(|line| lines.contains(&line)) {
            return true;
        }
        rest.drain(..=end);
    }
}

/// Returns the task's CPU time during the window or, without a window, since the task started
/// (Documentation/scheduler/sched-stats.rst).
fn time(sight: &Sight, task: &Task) -> Option<String> {
    let path = format!("/proc/{}/task/{}/schedstat", task.pid, task.tid);
    let ran = |machine: &dyn Machine| machine.read(&path).text()?.split_whitespace().next()?.parse::<u64>().ok();
    let uptime =
        |machine: &dyn Machine| machine.read("/proc/uptime").text()?.split_whitespace().next()?.parse::<f64>().ok();
    let now = ran(sight.machine)?;
    let over = sight.before().and_then(|before| {
        let seconds = uptime(sight.machine)? - uptime(before.machine)?;
        let share = now.checked_sub(ran(before.machine)?)? as f64 / 1e7 / seconds;
        (seconds > 0.0).then(|| format!("{share:.2} % of a CPU in {seconds:.0} s"))
    });
    over.or_else(|| Some(format!("{:.1} s on CPUs so far", now as f64 / 1e9)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use punctual_machine::Recorded;

    #[test]
    fn a_program_is_found_across_the_parts_of_a_long_list() {
        let mut machine = Recorded::default();
        let long: String = (0..9_000).map(|n| format!("/usr/share/doc/file-{n}\n")).collect();
        assert!(long.len() > 3 * CHUNK);
        machine.set("/var/lib/dpkg/info/docs.list", Read::Known(format!("{long}/bin/last").into_bytes()));
        machine.set("/var/lib/dpkg/info/noise.list", Read::Known(vec![b'x'; 2 * CHUNK]));
        for n in [0, 1, 2_700, 2_800, 5_555, 8_999] {
            let found = package(&machine, &format!("/usr/share/doc/file-{n}"));
            assert_eq!(found.as_deref(), Some("docs"), "{n}");
        }
        assert_eq!(package(&machine, "/usr/bin/last").as_deref(), Some("docs"));
        for none in ["/usr/share/doc/file", "/usr/share/doc/file-9000", "x"] {
            assert_eq!(package(&machine, none), None, "{none}");
        }
    }

    #[test]
    fn units_are_the_innermost() {
        assert_eq!(unit("0::/system.slice/multipathd.service").as_deref(), Some("multipathd.service"));
        let desktop = "0::/user.slice/user-1000.slice/user@1000.service/session.slice/pipewire.service";
        assert_eq!(unit(desktop).as_deref(), Some("pipewire.service"));
        let old = "4:cpu:/x.service\n1:name=systemd:/system.slice/jackd.service\n0::/";
        assert_eq!(unit(old).as_deref(), Some("jackd.service"));
        assert_eq!(unit("0::/user.slice/user-0.slice/session-2.scope/deeper").as_deref(), Some("session-2.scope"));
        assert_eq!(unit("0::/"), None);
    }

    #[test]
    fn packages_are_found_with_and_without_usr() {
        let mut machine = Recorded::default();
        let list = b"/.\n/sbin\n/sbin/multipathd\n".to_vec();
        machine.set("/var/lib/dpkg/info/multipath-tools:amd64.list", Read::Known(list));
        assert_eq!(package(&machine, "/usr/sbin/multipathd").as_deref(), Some("multipath-tools"));
        assert_eq!(package(&machine, "/usr/sbin/multipath"), None);
        assert_eq!(package(&machine, "/usr/sbin/multipathd (deleted)").as_deref(), Some("multipath-tools"));
        assert_eq!(package(&machine, "/usr/local/sbin/multipathd"), None);
    }

    #[test]
    fn names_fit_their_pattern() {
        assert!(fits("CPU */KVM", "CPU 3/KVM") && fits("multipathd", "multipathd") && !fits("watchdog", "watchdogd"));
        assert!(fits("lttng-consumerd", "lttng-consumerd") && fits("qemu-system-*", "qemu-system-x86"));
    }

    #[test]
    fn a_thread_is_known_by_its_program() {
        let package = |task, program| known(task, program).map(|(_, package, _)| *package);
        assert_eq!(package("measure/0", Some("/usr/bin/punctual")), Some("punctual"));
        assert_eq!(package("measure/0", Some("/usr/bin/punctual (deleted)")), Some("punctual"));
        assert_eq!(package("stress-ng-cpu", Some("/usr/bin/punctual")), Some("stress-ng"));
        assert_eq!(package("measure/0", Some("/opt/measure")), None);
        assert_eq!(package("measure/0", None), None);
    }

    proptest! {
        #[test]
        fn any_group_is_answered(text in ".{0,80}") {
            let _ = unit(&text);
        }
    }
}
