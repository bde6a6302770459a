//! CPU numbers and CPU lists in the kernel's format.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// Number of a logical CPU, as in `/sys/devices/system/cpu/cpuN`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct CpuId(pub u32);

impl fmt::Display for CpuId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A set of CPUs. It is parsed and printed in the kernel's cpulist format (`0-3,8`, also `0-15:2/4`), see "cpu lists"
/// in Documentation/admin-guide/kernel-parameters.rst.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CpuList(BTreeSet<CpuId>);

/// Maximum number of CPUs that Linux supports (range of CONFIG_NR_CPUS in arch/x86/Kconfig). A larger number is taken
/// to be a typo.
const MAX_CPUS: u32 = 8192;

/// Maximum number of comma-separated parts of a CPU list. It is enough to list each CPU separately; a longer list would
/// only take time to parse.
const MAX_PARTS: usize = MAX_CPUS as usize;

impl CpuList {
    pub fn new() -> CpuList {
        CpuList::default()
    }

    pub fn contains(&self, cpu: CpuId) -> bool {
        self.0.contains(&cpu)
    }

    /// Returns the CPUs in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = CpuId> + '_ {
        self.0.iter().copied()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn insert(&mut self, cpu: CpuId) {
        self.0.insert(cpu);
    }

    /// Returns the CPUs in `self` that are not in `other`.
    pub fn minus(&self, other: &CpuList) -> CpuList {
        CpuList(self.0.difference(&other.0).copied().collect())
    }

    pub fn and(&self, other: &CpuList) -> CpuList {
        CpuList(self.0.intersection(&other.0).copied().collect())
    }
}

impl FromIterator<CpuId> for CpuList {
    fn from_iter<T: IntoIterator<Item = CpuId>>(iter: T) -> Self {
        CpuList(iter.into_iter().collect())
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cpus: Vec<u32> = self.0.iter().map(|c| c.0).collect();
        for (i, run) in cpus.chunk_by(|a, b| a + 1 == *b).enumerate() {
            let comma = if i == 0 { "" } else { "," };
            match run {
                [one] => write!(f, "{comma}{one}")?,
                [first, .., last] => write!(f, "{comma}{first}-{last}")?,
                [] => {}
            }
        }
        Ok(())
    }
}

#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a CPU list ({why}): write it as, for example, 0-3,8")]
pub struct CpuListError {
    text: String,
    why: &'static str,
}

impl FromStr for CpuList {
    type Err = CpuListError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fail = |why| CpuListError { text: text.trim().into(), why };
        if text.trim().is_empty() {
            return Ok(CpuList::default());
        }
        let mut cpus = Vec::new();
        for (at, part) in text.trim().split(',').enumerate() {
            if at == MAX_PARTS {
                return Err(fail("it has more than 8192 parts"));
            }
            let (range, stride) = part.split_once(':').map_or((part, None), |(r, s)| (r, Some(s)));
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let number = |s: &str| s.trim().parse::<u32>().map_err(|_| fail("a CPU is not a number"));
            let (first, last) = (number(first)?, number(last)?);
            let (used, group) = match stride {
                None => (1, 1),
                Some(s) => {
                    let (used, group) = s
                        .split_once('/')
                        .ok_or_else(|| fail("a stride must be written as USED/GROUP, for example 0-15:2/4"))?;
                    (number(used)?, number(group)?)
                }
            };
            if last < first {
                return Err(fail("a range ends before it begins"));
            }
            if last >= MAX_CPUS {
                return Err(fail("no Linux machine has more than 8192 CPUs"));
            }
            if used == 0 || group == 0 || used > group {
                return Err(fail("the stride is invalid"));
            }
            if cpus.len() <= last as usize {
                cpus.resize(last as usize + 1, false);
            }
            let range = cpus.get_mut(first as usize..=last as usize).into_iter().flatten();
            range.zip(0..).filter(|(_, at)| at % group < used).for_each(|(cpu, _)| *cpu = true);
        }
        let listed = (0..).zip(cpus).filter(|(_, is_listed)| *is_listed);
        Ok(CpuList(listed.map(|(cpu, _)| CpuId(cpu)).collect()))
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for CpuList {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "CpuList".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "description": "CPUs in the kernel's list format, for example 0-3,8"})
    }
}

impl Serialize for CpuList {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CpuList {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

crate::debug_as_display!(CpuListError);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_the_kernels_lists() {
        let list = |s: &str| s.parse::<CpuList>().unwrap().iter().map(|c| c.0).collect::<Vec<_>>();
        assert_eq!(list("0-3,8\n"), [0, 1, 2, 3, 8]);
        assert_eq!(list("0-10:2/4"), [0, 1, 4, 5, 8, 9]);
        assert_eq!(list(""), Vec::<u32>::new());
        for bad in ["a", "3-1", "0-99999999", "1,,2", "0-4:0/2", "0-4:2", "-1"] {
            assert!(bad.parse::<CpuList>().is_err(), "{bad}");
        }
    }

    /// Without the limit, parsing 600,000 repetitions of all CPUs would take minutes.
    #[test]
    fn a_long_list_is_refused_at_once() {
        assert!("0-8191,".repeat(600_000).parse::<CpuList>().is_err());
        assert_eq!("0-8191,".repeat(4000).trim_end_matches(',').parse::<CpuList>().unwrap().len(), 8192);
    }

    proptest! {
        #[test]
        fn text_and_set_agree(cpus in proptest::collection::btree_set(0u32..300, 0..40)) {
            let list: CpuList = cpus.iter().copied().map(CpuId).collect();
            prop_assert_eq!(list.to_string().parse::<CpuList>().unwrap(), list);
        }

        #[test]
        fn any_text_is_answered(text in "[0-9,:/ -]*") {
            let _ = text.parse::<CpuList>();
        }
    }
}
