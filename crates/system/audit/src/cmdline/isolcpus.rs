//! isolcpus=[flag,…]list: housekeeping_isolcpus_setup(), kernel/sched/isolation.c.

use super::list::{self, Release, Scope};
use punctual_machine::scrub;
use punctual_units::CpuList;

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Isolcpus {
    pub flags: Vec<String>,
    /// What is not as meant, each a sentence.
    pub wrong: Vec<String>,
    /// `None` where the kernel ignores the parameter.
    pub cpus: Option<CpuList>,
}

/// Flags with the release that brought them: commits 150dfee95f51 and 11ea68f553e2.
const FLAGS: &[(&str, Release)] = &[("nohz", (4, 15)), ("domain", (4, 15)), ("managed_irq", (5, 6))];

impl Isolcpus {
    pub fn parse(value: &str, scope: Scope) -> Isolcpus {
        let mut found = Isolcpus::default();
        let mut rest = value;
        let is_before = |release: Release| scope.release.is_some_and(|this| this < release);
        if is_before((4, 15)) && rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return found.ignored(value, "flags are known since Linux 4.15");
        }
        while rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
            let (flag, after) = rest.split_once(',').unwrap_or((rest, ""));
            // A flag without a comma behind it is none.
            let is_flag = rest.len() > flag.len();
            match FLAGS.iter().find(|(name, _)| *name == flag && is_flag) {
                Some((_, since)) if !is_before(*since) => found.flags.push(flag.to_owned()),
                _ if !flag.chars().all(|c| c.is_ascii_alphabetic() || c == '_') => {
                    return found.ignored(value, &format!("`{}` is no flag", scrub(flag)));
                }
                Some((name, _)) => return found.ignored(value, &format!("the flag {name} is known since Linux 5.6")),
                // Commit 3662daf02350: unknown flags are skipped.
                None if is_before((5, 8)) => {
                    return found.ignored(value, &format!("`{flag}` is no flag"));
                }
                None if is_flag => {
                    found.wrong.push(format!("the kernel skips `{flag}`, which is no flag of isolcpus="))
                }
                None => {}
            }
            rest = after;
        }
        match list::parse(rest, scope) {
            Err(why) => found.ignored(value, &why),
            Ok(cpus) if cpus.is_empty() => found.ignored(value, "it names no CPU"),
            Ok(cpus) => Isolcpus { cpus: Some(cpus), ..found },
        }
    }

    fn ignored(mut self, value: &str, why: &str) -> Isolcpus {
        self.wrong.push(format!("isolcpus={} isolates nothing: {why}", scrub(value)));
        Isolcpus { cpus: None, ..self }
    }

    /// Without flags the domain is meant.
    pub fn has_domain(&self) -> bool {
        self.flags.is_empty() || self.flags.iter().any(|flag| flag == "domain")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &str, release: Option<Release>) -> Isolcpus {
        Isolcpus::parse(value, Scope { last: 7, release })
    }

    fn cpus(value: &str, release: Option<Release>) -> Option<String> {
        read(value, release).cpus.map(|cpus| cpus.to_string())
    }

    #[test]
    fn flags_stand_before_the_list() {
        assert_eq!(cpus("managed_irq,domain,4-N", None).as_deref(), Some("4-7"));
        assert!(read("2-3", None).has_domain() && !read("managed_irq,2-3", None).has_domain());
        for value in ["2-3,domain", "domain,managed_irq", "", "0xc", "3-2", "2,3\u{201d}", "all", "N", "dom\u{e4}n,1"] {
            let found = read(value, None);
            assert!(found.cpus.is_none() && !found.wrong.is_empty(), "{value}: {found:?}");
        }
    }

    #[test]
    fn unknown_flags_are_skipped_since_5_8() {
        let skipped = read("manged_irq,domain,2-3", None);
        assert_eq!(skipped.cpus.as_ref().map(CpuList::to_string).as_deref(), Some("2-3"));
        assert!(skipped.wrong.iter().any(|text| text.contains("manged_irq")));
        assert_eq!(cpus("manged_irq,domain,2-3", Some((5, 4))), None);
        assert_eq!(cpus("managed_irq,domain,2-3", Some((5, 4))), None);
        assert_eq!(cpus("domain,2-3", Some((5, 4))).as_deref(), Some("2-3"));
        assert_eq!(cpus("domain,2-3", Some((4, 14))), None);
    }
}
