use crate::sources::read_trimmed;
use punctual_uapi as uapi;
use punctual_units::{CpuId, CpuList};
use std::path::Path;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    pub online: CpuList,
    /// CPUs that the affinity mask and the cpuset allow.
    pub allowed: CpuList,
    /// For every online CPU that shares its core with another, the CPUs of that core.
    pub siblings: Vec<CpuList>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CpuError {
    #[error("CPU {asked} is not online: this machine has {online}. Write for example --cpus {online}")]
    NotOnline { asked: CpuList, online: CpuList },
    #[error(
        "CPU {asked} is forbidden here: this process may use {allowed} (cpuset or taskset). Start the process in a cgroup whose cpuset.cpus contains that CPU, or write --cpus {allowed}"
    )]
    Forbidden { asked: CpuList, allowed: CpuList },
    #[error("no CPU to measure: write for example --cpus 0-3")]
    None,
}

impl Topology {
    /// Reads the CPUs of this machine, and those that this process may use.
    ///
    /// # Errors
    /// sched_getaffinity(2) failed.
    pub fn read() -> Result<Topology, uapi::Error> {
        let allowed = uapi::affinity(0)?;
        let list = |path: &Path| read_trimmed(path)?.parse::<CpuList>().ok();
        let sys = Path::new("/sys/devices/system/cpu");
        let online = list(&sys.join("online")).unwrap_or_else(|| allowed.clone());
        let mut siblings: Vec<CpuList> = online
            .iter()
            .filter_map(|cpu| list(&sys.join(format!("cpu{cpu}/topology/thread_siblings_list"))))
            .filter(|threads| threads.len() > 1)
            .collect();
        siblings.dedup();
        Ok(Topology { online, allowed, siblings })
    }

    /// Returns the CPUs to measure: the requested CPUs, or all that this process may use.
    ///
    /// # Errors
    /// [`CpuError`]; it lists the CPUs that can be measured.
    pub fn choose(&self, asked: Option<&CpuList>) -> Result<CpuList, CpuError> {
        let usable = self.allowed.and(&self.online);
        let Some(asked) = asked else {
            return if usable.is_empty() { Err(CpuError::None) } else { Ok(usable) };
        };
        let missing = asked.minus(&self.online);
        if !missing.is_empty() {
            return Err(CpuError::NotOnline { asked: missing, online: self.online.clone() });
        }
        let forbidden = asked.minus(&self.allowed);
        if !forbidden.is_empty() {
            return Err(CpuError::Forbidden { asked: forbidden, allowed: usable });
        }
        if asked.is_empty() { Err(CpuError::None) } else { Ok(asked.clone()) }
    }

    /// Returns the CPUs that are not measured and share no core with a measured one; may be empty.
    pub fn housekeeping(&self, measured: &CpuList) -> CpuList {
        let shares_core = |cpu: CpuId| {
            self.siblings.iter().any(|core| core.contains(cpu) && core.iter().any(|other| measured.contains(other)))
        };
        let free = self.allowed.and(&self.online).minus(measured);
        free.iter().filter(|&cpu| !shares_core(cpu)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> CpuList {
        text.parse().unwrap()
    }

    fn laptop() -> Topology {
        Topology { online: list("0-7"), allowed: list("0-5"), siblings: vec![list("0,4"), list("1,5"), list("2,6")] }
    }

    #[test]
    fn what_cannot_be_measured_is_named() {
        let topology = laptop();
        assert_eq!(topology.choose(None), Ok(list("0-5")));
        assert_eq!(topology.choose(Some(&list("1,3"))), Ok(list("1,3")));
        let error = topology.choose(Some(&list("3,9"))).unwrap_err().to_string();
        assert!(error.contains("CPU 9 ") && error.contains("0-7"), "{error}");
        let error = topology.choose(Some(&list("3,6"))).unwrap_err().to_string();
        assert!(error.contains("CPU 6 ") && error.contains("0-5"), "{error}");
        assert_eq!(topology.choose(Some(&CpuList::new())), Err(CpuError::None));
    }

    #[test]
    fn siblings_of_measured_cpus_are_no_housekeeping() {
        let topology = laptop();
        assert_eq!(topology.housekeeping(&list("0")), list("1-3,5"));
        assert_eq!(topology.housekeeping(&list("0-5")), CpuList::new());
    }

    #[test]
    fn this_machine_has_cpus() {
        assert!(!Topology::read().unwrap().choose(None).unwrap().is_empty());
    }
}
