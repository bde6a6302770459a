//! A cpuset partition for each measured CPU, so that a SCHED_DEADLINE thread can be bound to it. The kernel admits a
//! SCHED_DEADLINE thread only if its affinity includes all CPUs of its root domain (sched_setattr(2),
//! dl_task_check_affinity() in kernel/sched/), and each partition has its own root domain
//! (Documentation/admin-guide/cgroup-v2.rst, "Cpuset Interface Files"). The partitions are threaded cgroups below the
//! root of cgroup v2. Threads of a process can be in different cgroups only if the process itself is in the root
//! cgroup, so it is moved there during the measurement.

use crate::error::ProofError;
use crate::methods::write;
use punctual_journal::{Journal, Lease, Undo};
use punctual_rt::monotonic;
use punctual_units::{CpuId, CpuList, Nanos, Policy, Scheduling};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Maximum time to wait until a cgroup is empty: threads that have ended stay in it for a moment.
const PATIENCE: Nanos = Nanos::from_millis(500);

/// Minimum time to wait before a partition is changed. When the last period of an ended deadline thread is over, the
/// kernel subtracts its bandwidth from the root domain to which its CPU then belongs (inactive_task_timer() in
/// kernel/sched/deadline.c). If that is a different root domain by then, its bandwidth underflows, and the kernel
/// admits no more deadline threads to it (EBUSY; observed on an emulated 6.1 kernel on a busy host).
const LAST_PERIOD: Nanos = Nanos::from_millis(100);

/// Partitions of one CPU each. They are removed by [`Partitions::remove`] or on drop, or after kill -9 when the program
/// is started again.
#[derive(Debug)]
pub(crate) struct Partitions {
    folders: BTreeMap<CpuId, PathBuf>,
    /// The cgroup.procs file of the cgroup to which this process belonged before.
    home: Option<PathBuf>,
    lease: Option<Lease>,
}

/// Creates partitions if threads of this policy must be bound to CPUs.
///
/// # Errors
/// Partitions are not possible. The message states the reason.
pub(crate) fn where_needed(
    scheduling: Scheduling,
    asked: Option<&CpuList>,
    cpus: &CpuList,
) -> Result<Option<Partitions>, ProofError> {
    if scheduling.policy() != Policy::Deadline || asked.is_none() {
        return Ok(None);
    }
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").ok();
    let made = keeps_affinities(release.as_deref())
        .and_then(|()| mounted())
        .and_then(|root| Partitions::make(&root, &Journal::of_user(), cpus));
    made.map(Some).map_err(|why| {
        ProofError::Environment(format!(
            "SCHED_DEADLINE threads cannot be pinned to CPU {cpus}: {why}. Leave out --cpus, so that the threads are not pinned, or use SCHED_FIFO (--policy fifo), which needs no partition"
        ))
    })
}

/// Fails on kernels where a partition would change the affinities of other processes.
fn keeps_affinities(release: Option<&str>) -> Result<(), String> {
    punctual_machine::partition_unpins(release).map_or(Ok(()), Err)
}

/// Returns the mount point of the cgroup v2 hierarchy.
fn mounted() -> Result<PathBuf, String> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let mut found = fields.filter(|f| f.get(2) == Some(&"cgroup2")).filter_map(|f| Some(PathBuf::from(f.get(1)?)));
    found.next().ok_or_else(|| "cgroup v2 is not mounted (mount -t cgroup2 none /sys/fs/cgroup)".into())
}

impl Partitions {
    fn make(root: &Path, journal: &Journal, cpus: &CpuList) -> Result<Partitions, String> {
        possible(root, cpus)?;
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let folder = |cpu| (cpu, root.join(format!("punctual-{}-cpu{cpu}", std::process::id())));
        let folders: BTreeMap<CpuId, PathBuf> = cpus.iter().map(folder).collect();
        let control = root.join("cgroup.subtree_control");
        let enabled = read(&control).split_whitespace().any(|name| name == "cpuset");
        // Changes are undone in reverse order.
        let mut undo = Vec::new();
        if !enabled {
            undo.push(Undo::Write { path: control.clone(), text: "-cpuset".into() });
        }
        undo.extend(folders.values().map(|path| Undo::RemoveFolder { path: path.clone() }));
        let lease = journal.lease(undo).map_err(|e| e.to_string())?;
        // If a later step fails, dropping the lease removes the partitions.
        let mut partitions = Partitions { folders, home: None, lease: Some(lease) };
        if !enabled {
            put(&control, "+cpuset")?;
        }
        for (cpu, folder) in &partitions.folders {
            partition(folder, *cpu)?;
        }
        if let Some(home) = home(root, &own) {
            put(&root.join("cgroup.procs"), "0")?;
            partitions.home = Some(home);
        }
        Ok(partitions)
    }

    /// Returns for each CPU the file that moves a thread into its partition.
    pub fn groups(&self) -> BTreeMap<CpuId, PathBuf> {
        self.folders.iter().map(|(cpu, folder)| (*cpu, folder.join("cgroup.threads"))).collect()
    }

    /// Removes the partitions. Their threads must have ended.
    ///
    /// # Errors
    /// Descriptions of what could not be removed.
    pub fn remove(mut self) -> Result<(), Vec<String>> {
        let left = self.leave_partitions();
        let given = self.lease.take().map_or(Ok(()), Lease::give_back);
        match left {
            None => given,
            Some(why) => Err(given.err().into_iter().flatten().chain([why]).collect()),
        }
    }

    /// Waits until the partitions are empty, removes their CPUs, and moves the process back.
    fn leave_partitions(&mut self) -> Option<String> {
        let give_up = monotonic() + PATIENCE;
        let is_empty = |folder: &PathBuf| read(&folder.join("cgroup.threads")).trim().is_empty();
        while !self.folders.values().all(is_empty) && monotonic() < give_up {
            std::thread::sleep(Nanos::from_millis(5).into());
        }
        std::thread::sleep(LAST_PERIOD.into());
        for folder in self.folders.values() {
            // Before 6.2 the CPU of a removed partition is returned with a delay. If the write fails, the partition is
            // removed nevertheless.
            let _ = write(&folder.join("cpuset.cpus.partition"), "member");
        }
        let home = self.home.take()?;
        put(&home, "0").err().map(|why| format!("this process stays in the root cgroup: {why}"))
    }
}

impl Drop for Partitions {
    fn drop(&mut self) {
        if self.lease.is_some() {
            // Errors cannot be reported here. The journal lists partitions that remain.
            let _ = self.leave_partitions();
        }
    }
}

/// Checks that these CPUs can become partitions, and that at least one CPU remains for other tasks.
fn possible(root: &Path, cpus: &CpuList) -> Result<(), String> {
    // Only the root cgroup lacks this file.
    if root.join("cgroup.type").exists() {
        return Err("this is a container: its cgroup is not the machine's root".into());
    }
    if !read(&root.join("cgroup.controllers")).split_whitespace().any(|name| name == "cpuset") {
        return Err("cgroup v2 has no cpuset controller (it is mounted as v1, or CONFIG_CPUSETS is off)".into());
    }
    let free: CpuList = read(&root.join("cpuset.cpus.effective"))
        .parse()
        .map_err(|e| format!("{}: {e}", root.join("cpuset.cpus.effective").display()))?;
    let taken = cpus.minus(&free);
    if !taken.is_empty() {
        return Err(format!("CPU {taken} already belongs to another cpuset partition"));
    }
    match free.minus(cpus).is_empty() {
        true => Err("no CPU would be left for other tasks".into()),
        false => Ok(()),
    }
}

/// Creates a partition and checks that it is valid, because the kernel accepts the write even for an invalid one.
#[expect(clippy::disallowed_methods, reason = "a cgroup")]
fn partition(folder: &Path, cpu: CpuId) -> Result<(), String> {
    fs::create_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    put(&folder.join("cgroup.type"), "threaded")?;
    put(&folder.join("cpuset.cpus"), &cpu.to_string())?;
    let state = folder.join("cpuset.cpus.partition");
    put(&state, "root")?;
    match read(&state).trim() {
        "root" => Ok(()),
        other => Err(format!("the kernel refuses a partition of CPU {cpu}: {other}")),
    }
}

/// Returns the cgroup.procs file of a process's cgroup, from /proc/PID/cgroup (cgroups(7)); `None` for the root.
fn home(root: &Path, own: &str) -> Option<PathBuf> {
    let path = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    (!path.is_empty()).then(|| root.join(path).join("cgroup.procs"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn put(path: &Path, text: &str) -> Result<(), String> {
    write(path, text).map_err(|e| format!("cannot write `{text}` to {}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(effective: &str, controllers: &str) -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| fs::write(home.path().join(name), text).unwrap();
        put("cpuset.cpus.effective", effective);
        put("cgroup.controllers", controllers);
        put("cgroup.subtree_control", "cpu\n");
        home
    }

    fn why(root: &tempfile::TempDir, cpus: &str) -> String {
        possible(root.path(), &cpus.parse().unwrap()).unwrap_err()
    }

    #[test]
    fn what_makes_it_impossible_is_named() {
        let good = root("0-3\n", "cpuset cpu io\n");
        assert_eq!(possible(good.path(), &"1-3".parse().unwrap()), Ok(()));
        assert!(why(&good, "0-3").contains("no CPU would be left"));
        assert!(why(&good, "3-4").contains("CPU 4 already belongs to another"));
        assert!(why(&root("0-3\n", "cpu io\n"), "1").contains("no cpuset controller"));
        assert!(why(&root("garbage", "cpuset\n"), "1").contains("cpuset.cpus.effective"));
        fs::write(good.path().join("cgroup.type"), "domain\n").unwrap();
        assert!(why(&good, "1").contains("container"));
    }

    #[test]
    fn a_failure_leaves_nothing_behind() {
        // The new directory has no cgroup.type, because it is not a cgroup.
        let root = root("0-3\n", "cpuset cpu io\n");
        let journal = Journal::at(root.path().join("journal"));
        let error = Partitions::make(root.path(), &journal, &"1".parse().unwrap()).unwrap_err();
        assert!(error.contains("cgroup.type"), "{error}");
        let left: Vec<_> = fs::read_dir(root.path()).unwrap().flatten().map(|e| e.file_name()).collect();
        assert!(!left.iter().any(|name| name.to_string_lossy().starts_with("punctual-")), "{left:?}");
        assert_eq!(fs::read_dir(root.path().join("journal")).unwrap().count(), 0);
    }

    #[test]
    fn the_own_cgroup_is_found_among_those_of_v1() {
        let root = Path::new("/sys/fs/cgroup");
        let own = "3:cpuset:/\n1:name=systemd:/x\n0::/user.slice/user-0.slice/session-1.scope\n";
        let file = "/sys/fs/cgroup/user.slice/user-0.slice/session-1.scope/cgroup.procs";
        assert_eq!(home(root, own), Some(file.into()));
        assert_eq!((home(root, "0::/\n"), home(root, "")), (None, None));
    }

    #[test]
    fn no_process_is_unpinned() {
        let why = keeps_affinities(Some("6.1.0-28-amd64\n")).unwrap_err();
        assert!(why.contains("unpins every other process") && why.contains("Linux 6.1"), "{why}");
        assert!(keeps_affinities(None).is_err());
        assert_eq!(keeps_affinities(Some("6.12.9-rt1\n")), Ok(()));
    }

    #[test]
    fn only_pinned_deadline_threads_need_one() {
        let other = Scheduling::Other { nice: 0 };
        let cpus: CpuList = "1".parse().unwrap();
        assert!(where_needed(other, Some(&cpus), &cpus).unwrap().is_none());
        let (runtime_ns, period_ns) = (Nanos(1), Nanos(2));
        let deadline = Scheduling::Deadline { runtime_ns, deadline_ns: period_ns, period_ns };
        assert!(where_needed(deadline, None, &cpus).unwrap().is_none());
    }
}
