use super::{Notes, Sight};
use crate::reading::{Cause, Gap, Known, Value};
use crate::rule::Set;
use punctual_units::CpuList;

const ONLINE: &str = "/sys/devices/system/cpu/online";
const ISOLATED: &str = "/sys/devices/system/cpu/isolated";
const TICKLESS: &str = "/sys/devices/system/cpu/nohz_full";

/// File with the CPUs of isolated cpuset partitions (Documentation/admin-guide/cgroup-v2.rst), since Linux 6.7.
const PARTITIONS: &str = "/sys/fs/cgroup/cpuset.cpus.isolated";

/// Folder of control groups. Partitions are groups at this level and the next; the parent of a partition is a
/// partition.
const GROUPS: &str = "/sys/fs/cgroup";

impl Sight<'_> {
    pub fn set(&self, set: Set, notes: &mut Notes) -> Result<CpuList, Gap> {
        match set {
            Set::Measured => self.measured(),
            Set::Online => self.online(notes),
            Set::Isolated => self.isolated(notes),
            Set::Housekeeping => {
                let isolated = self.isolated(notes)?;
                Ok(self.online(notes)?.minus(&isolated))
            }
            // Without NO_HZ_FULL neither the file nor such a CPU exists. But if no file about CPUs can be read, its
            // absence proves nothing.
            Set::Tickless => {
                self.online(&mut Notes::default())?;
                self.cpu_list(TICKLESS, notes).or_else(|gap| gap.empty_if_absent())
            }
        }
    }

    /// Returns the requested CPUs. If none were requested and no given file lists the CPUs, "all of them" is undefined.
    pub(super) fn measured(&self) -> Result<CpuList, Gap> {
        if !self.context.cpus.is_empty() {
            return Ok(self.context.cpus.clone());
        }
        match self.cpu_list(ONLINE, &mut Notes::default()) {
            Err(gap) if gap.is_not_given() => Err(gap),
            _ => Ok(CpuList::new()),
        }
    }

    /// Returns the online CPUs: there is always at least one.
    fn online(&self, notes: &mut Notes) -> Result<CpuList, Gap> {
        let online = self.cpu_list(ONLINE, notes).map_err(Gap::expected)?;
        if online.is_empty() { Err(Gap::new(ONLINE, Cause::Garbled("CPU"))) } else { Ok(online) }
    }

    pub(super) fn set_text(&self, set: Set, notes: &mut Notes) -> Known {
        let cpus = self.set(set, notes)?;
        Ok(Value::Text(if cpus.is_empty() { "none".to_owned() } else { cpus.to_string() }))
    }

    /// Returns CPUs without load balancing: isolated at boot by isolcpus=, or since then in isolated partitions.
    fn isolated(&self, notes: &mut Notes) -> Result<CpuList, Gap> {
        let known = self.isolated.get_or_init(|| {
            let at_boot = self.cpu_list(ISOLATED, &mut Notes::default()).map_err(Gap::expected)?;
            let since = match self.cpu_list(PARTITIONS, &mut Notes::default()) {
                Err(gap) if gap.cause == Cause::Absent => self.isolated_partitions()?,
                other => other?,
            };
            Ok(at_boot.iter().chain(since.iter()).collect())
        });
        match known {
            Ok(cpus) => notes.add(format!("{ISOLATED}, {PARTITIONS}"), or_none(cpus)),
            Err(gap) => notes.add(&gap.source, gap.cause.describe()),
        }
        known.clone()
    }

    /// Finds isolated partitions one by one: Linux 6.1 to 6.6 have them, but no list of them.
    fn isolated_partitions(&self) -> Result<CpuList, Gap> {
        let names = |folder: &str| match self.names(folder) {
            Err(gap) if matches!(gap.cause, Cause::Absent | Cause::Failed(20)) => Ok(Vec::new()),
            other => other,
        };
        let mut found = CpuList::new();
        let mut folders = vec![GROUPS.to_owned()];
        for depth in 0..2 {
            for folder in std::mem::take(&mut folders) {
                for name in names(&folder)? {
                    let group = format!("{folder}/{name}");
                    let state = self.text(&format!("{group}/cpuset.cpus.partition"), &mut Notes::default());
                    // The group may not exist, or lack the controller. `isolated invalid (…)` is not a partition.
                    match state.as_deref() {
                        Ok("isolated") => {
                            let cpus =
                                self.cpu_list(&format!("{group}/cpuset.cpus.effective"), &mut Notes::default())?;
                            found = found.iter().chain(cpus.iter()).collect();
                        }
                        Ok("root") => {}
                        _ => continue,
                    }
                    if depth == 0 {
                        folders.push(group);
                    }
                }
            }
        }
        Ok(found)
    }

    pub fn cpu_list(&self, path: &str, notes: &mut Notes) -> Result<CpuList, Gap> {
        let text = self.text(path, notes)?;
        // The kernel prints this for a mask it never allocated (%*pbl of NULL).
        let text = if text == "(null)" { "" } else { &text };
        text.parse().map_err(|_| Gap::new(path, Cause::Garbled("CPU list")))
    }
}

fn or_none(cpus: &CpuList) -> String {
    if cpus.is_empty() { "none".to_owned() } else { cpus.to_string() }
}

impl Gap {
    /// Returns an empty list if the file is absent, for files whose absence means that there are no such CPUs.
    fn empty_if_absent(self) -> Result<CpuList, Gap> {
        if self.cause == Cause::Absent { Ok(CpuList::new()) } else { Err(self) }
    }
}
