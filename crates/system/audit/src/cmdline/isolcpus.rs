//! isolcpus= and nohz_full= as the kernel interprets them, in the order of the line: housekeeping_setup() and
//! housekeeping_isolcpus_setup() of kernel/sched/isolation.c (5.10, 6.0, 6.18); before 4.15 isolated_cpu_setup() of
//! kernel/sched/core.c.

use super::list::{self, Release, Scope};
use super::names::{distance, key};
use punctual_machine::{parameters, scrub};
use punctual_units::CpuList;

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Isolcpus {
    pub flags: Vec<String>,
    /// Unknown flags, which the kernel skips.
    pub skipped: Vec<String>,
    /// Why the kernel ignores the parameter, as a sentence.
    pub wrong: Option<String>,
    /// CPUs of the list; `None` if the kernel ignores the parameter.
    pub cpus: Option<CpuList>,
}

/// Flags with the release that introduced them: commits 150dfee95f51 and 11ea68f553e2.
const FLAGS: &[(&str, Release)] = &[("nohz", (4, 15)), ("domain", (4, 15)), ("managed_irq", (5, 6))];

/// Returns a flag with the release that introduced it.
pub(crate) fn since(flag: &str) -> Option<(&'static str, Release)> {
    FLAGS.iter().copied().find(|(name, _)| *name == flag)
}

/// Returns the flag that an unknown one was probably meant to be.
pub(crate) fn meant(flag: &str) -> Option<&'static str> {
    let is_near = |name: &str| distance(flag, name) <= 2 || (flag.len() >= 4 && name.starts_with(flag));
    FLAGS.iter().map(|(name, _)| *name).find(|name| is_near(name))
}

impl Isolcpus {
    pub fn parse(value: &str, scope: Scope) -> Isolcpus {
        if scope.is_before((4, 15)) {
            return Isolcpus::parse_old(value, scope);
        }
        let mut found = Isolcpus::default();
        let mut rest = value;
        while rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
            let (flag, after) = rest.split_once(',').unwrap_or((rest, ""));
            // A flag must be followed by a comma.
            let is_flag = rest.len() > flag.len();
            match FLAGS.iter().find(|(name, _)| *name == flag && is_flag) {
                Some((_, since)) if !scope.is_before(*since) => found.flags.push(flag.to_owned()),
                _ if !flag.chars().all(|c| c.is_ascii_alphabetic() || c == '_') => {
                    return found.ignored(value, &format!("`{}` is not a flag", scrub(flag)));
                }
                Some((name, _)) => {
                    return found.ignored(value, &format!("the flag {name} is supported since Linux 5.6"));
                }
                // Commit 3662daf02350: unknown flags are skipped.
                None if scope.is_before((5, 7)) => {
                    return found.ignored(value, &format!("`{flag}` is not a flag"));
                }
                None if is_flag => found.skipped.push(flag.to_owned()),
                None => {}
            }
            rest = after;
        }
        match list::parse(rest, scope) {
            Err(why) if rest.contains(|c: char| c.is_ascii_lowercase() && c != 'x') => {
                found.ignored(value, &format!("{why} (flags precede the list)"))
            }
            Err(why) => found.ignored(value, &why),
            Ok(cpus) if cpus.is_empty() => found.ignored(value, "it names no CPU"),
            Ok(cpus) if cpus.iter().all(|cpu| cpu.0 > scope.last) => {
                found.ignored(value, "the machine has no such CPU")
            }
            Ok(cpus) => Isolcpus { cpus: Some(cpus), ..found },
        }
    }

    /// isolated_cpu_setup() of kernel/sched/core.c and topology.c (2.6.39 to 4.14) knows no flags; if it rejects a
    /// list, the mask keeps the CPUs before the error.
    fn parse_old(value: &str, scope: Scope) -> Isolcpus {
        let is_flag = FLAGS.iter().any(|(name, _)| value.split(',').next() == Some(*name));
        let (cpus, why) = list::parse_partly(value, scope);
        let is_there = cpus.iter().any(|cpu| cpu.0 <= scope.last);
        let found = Isolcpus::default();
        match why {
            Some(_) if is_flag => found.ignored(value, "flags are supported since Linux 4.15"),
            Some(why) if !is_there => found.ignored(value, &why),
            Some(why) => {
                let wrong = format!("isolcpus={} isolates only CPU {}: {why}", scrub(value), cpus);
                Isolcpus { cpus: Some(cpus), wrong: Some(wrong), ..found }
            }
            None if cpus.is_empty() => found.ignored(value, "it names no CPU"),
            None if !is_there => found.ignored(value, "the machine has no such CPU"),
            None => Isolcpus { cpus: Some(cpus), ..found },
        }
    }

    fn ignored(self, value: &str, why: &str) -> Isolcpus {
        let wrong = format!("isolcpus={} isolates nothing: {why}", scrub(value));
        Isolcpus { cpus: None, wrong: Some(wrong), ..self }
    }

    /// Returns the types that the known flags select; only the domain if there are no flags.
    fn types(&self) -> Vec<Type> {
        let known = [("nohz", Type::Noise), ("domain", Type::Domain), ("managed_irq", Type::ManagedIrq)];
        let given = known.iter().filter(|(name, _)| self.flags.iter().any(|flag| flag == name));
        let given: Vec<Type> = given.map(|(_, of)| *of).collect();
        if given.is_empty() { vec![Type::Domain] } else { given }
    }
}

/// Activities that are kept off certain CPUs (enum hk_type of include/linux/sched/isolation.h, those of nohz_full= as
/// one).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    Noise,
    Domain,
    ManagedIrq,
}

/// The effect of a line's isolcpus= and nohz_full=.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Isolation {
    /// Each type with its CPUs and the word that sets them.
    of: Vec<(Type, CpuList, String)>,
    /// Sentences about parameters that the kernel ignores because of their form.
    pub wrong: Vec<String>,
    /// Names of parameters that the kernel ignores because of another one, each with a sentence.
    pub overruled: Vec<(String, String)>,
    /// Words that stand where flags belong, but are not flags.
    pub skipped: Vec<String>,
}

impl Isolation {
    /// Returns the effect of a command line. `possible` is `None` if the machine is unknown. `noise` is true if the
    /// kernel is built with NO_HZ_FULL, as far as known.
    pub fn of(line: &str, scope: Scope, possible: Option<&CpuList>, noise: bool) -> Isolation {
        let mut found = Isolation::default();
        for word in parameters(line) {
            let Some((_, value)) = word.split_once('=') else { continue };
            match key(&word).as_str() {
                "isolcpus" => {
                    let own = Isolcpus::parse(value, scope);
                    let types = own.types();
                    if scope.is_before((4, 15)) && own.cpus.is_none() {
                        found.clear(&word, &types);
                    }
                    found.wrong.extend(own.wrong);
                    found.skipped.extend(own.skipped);
                    match own.cpus {
                        Some(_) if !noise && types.contains(&Type::Noise) => found.wrong.push(format!(
                            "`{}` isolates nothing: this kernel is built without NO_HZ_FULL, which the flag nohz needs",
                            scrub(&word)
                        )),
                        Some(cpus) => found.add(&word, &types, cpus, scope, possible),
                        None => {}
                    }
                }
                "nohz_full" if noise => match list::parse(value, scope) {
                    Ok(cpus) if !cpus.is_empty() => found.add(&word, &[Type::Noise], cpus, scope, possible),
                    _ => {}
                },
                _ => {}
            }
        }
        found
    }

    /// Discards the CPUs of earlier isolcpus= parameters: before Linux 4.15 each isolcpus= clears the mask, even one
    /// that is rejected.
    fn clear(&mut self, word: &str, types: &[Type]) {
        if let Some((_, cpus, _)) = self.of.iter().find(|(of, ..)| types.contains(of)) {
            let text = format!("`{}` also cancels the earlier isolcpus= of CPU {}", scrub(word), cpus);
            self.overruled.push((key(word), text));
        }
        self.of.retain(|(of, ..)| !types.contains(of));
    }

    fn add(&mut self, word: &str, types: &[Type], cpus: CpuList, scope: Scope, possible: Option<&CpuList>) {
        let there = |cpus: &CpuList| possible.map_or_else(|| cpus.clone(), |possible| cpus.and(possible));
        let mut set: Vec<Type> = types.to_vec();
        if scope.is_before((4, 15)) {
            // Each type has a separate mask, which the last parameter overwrites.
            let before = self.of.iter().find(|(of, old, _)| types.contains(of) && *old != cpus);
            if let Some((_, _, old)) = before {
                let (name, new, old) = (key(word), scrub(word), scrub(old));
                let text = format!("Linux before 4.15 uses the last {name}=: `{new}`, not `{old}`");
                self.overruled.push((name, text));
            }
            self.of.retain(|(of, ..)| !types.contains(of));
        } else {
            // Until 5.17 all types shared one mask (commit 04d4e665a609), and a parameter that differed from it was
            // ignored entirely.
            let is_one = scope.is_before((5, 18));
            let old = self.of.iter().find(|(of, old, _)| (is_one || types.contains(of)) && there(old) != there(&cpus));
            if let Some((_, _, old)) = old {
                let text = format!("`{}` is ignored: the kernel uses the earlier `{}`", scrub(word), scrub(old));
                let more = ", and until Linux 5.17 isolcpus= and nohz_full= must name the same CPUs";
                let is_other = is_one && key(word) != key(old);
                self.overruled.push((key(word), text + if is_other { more } else { "" }));
                return;
            }
            set.retain(|of| !self.of.iter().any(|(known, ..)| known == of));
        }
        self.of.extend(set.into_iter().map(|of| (of, cpus.clone(), word.to_owned())));
    }

    pub fn overruled_of(&self, name: &str) -> impl Iterator<Item = &String> {
        self.overruled.iter().filter(move |(of, _)| of == name).map(|(_, text)| text)
    }

    fn cpus(&self, wanted: Type) -> Option<&CpuList> {
        self.of.iter().find(|(of, ..)| *of == wanted).map(|(_, cpus, _)| cpus)
    }

    /// Returns the CPUs onto which the scheduler balances no tasks.
    pub fn domain(&self) -> Option<&CpuList> {
        self.cpus(Type::Domain)
    }

    pub fn tickless(&self) -> Option<&CpuList> {
        self.cpus(Type::Noise)
    }

    /// Returns the CPUs of flag `managed_irq`.
    pub fn managed(&self) -> Option<&CpuList> {
        self.cpus(Type::ManagedIrq)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &str, release: Option<Release>) -> Isolcpus {
        Isolcpus::parse(value, Scope { last: 7, release, bits: None })
    }

    fn cpus(value: &str, release: Option<Release>) -> Option<String> {
        read(value, release).cpus.map(|cpus| cpus.to_string())
    }

    #[test]
    fn flags_stand_before_the_list() {
        assert_eq!(cpus("managed_irq,domain,4-N", None).as_deref(), Some("4-7"));
        assert!(read("managed_irq,2-3", None).types() == [Type::ManagedIrq]);
        for value in ["2-3,domain", "domain,managed_irq", "", "0xc", "3-2", "2,3\u{201d}", "all", "N", "dom\u{e4}n,1"] {
            let found = read(value, None);
            assert!(found.cpus.is_none() && found.wrong.is_some(), "{value}: {found:?}");
        }
    }

    #[test]
    fn unknown_flags_are_skipped_since_5_7() {
        let skipped = read("manged_irq,domain,2-3", None);
        assert_eq!(skipped.cpus.as_ref().map(CpuList::to_string).as_deref(), Some("2-3"));
        assert_eq!(skipped.skipped, ["manged_irq"]);
        assert_eq!(
            (meant("manged_irq"), meant("managed"), meant("cpus")),
            (Some("managed_irq"), Some("managed_irq"), None)
        );
        assert_eq!(cpus("manged_irq,domain,2-3", Some((5, 4))), None);
        assert_eq!(cpus("managed_irq,domain,2-3", Some((5, 4))), None);
        assert_eq!(cpus("domain,2-3", Some((5, 4))).as_deref(), Some("2-3"));
        assert_eq!(cpus("domain,2-3", Some((4, 14))), None);
    }

    #[test]
    fn before_4_15_what_precedes_a_mistake_counts_and_each_isolcpus_clears_the_mask() {
        let partly = read("2-3,domain", Some((4, 14)));
        assert!(partly.wrong.is_some_and(|why| why.contains("isolates only CPU 2-3")));
        assert_eq!(cpus("2-3,domain", Some((4, 14))).as_deref(), Some("2-3"));
        assert_eq!(all("isolcpus=2-3 isolcpus=nohz,domain,3", (2, 6)), ["", "", ""]);
        assert_eq!(all("isolcpus=2-3 isolcpus=1,x", (4, 4)), ["1", "", ""]);
        assert_eq!(all("isolcpus=2-3 isolcpus=1,x", (4, 15)), ["2-3", "", ""]);
    }

    /// Lists the CPUs that a line isolates: from the domain, from managed interrupts, and from the tick.
    fn all(line: &str, release: Release) -> [String; 3] {
        let found = Isolation::of(line, Scope { last: 7, release: Some(release), bits: None }, None, true);
        [found.domain(), found.managed(), found.tickless()]
            .map(|cpus| cpus.map_or_else(String::new, CpuList::to_string))
    }

    #[test]
    fn of_several_the_first_counts_since_4_15() {
        assert_eq!(all("isolcpus=2 isolcpus=3", (6, 12)), ["2", "", ""]);
        assert_eq!(all("isolcpus=2 isolcpus=3", (4, 14)), ["3", "", ""]);
        assert_eq!(all("nohz_full=2 nohz_full=3", (6, 12)), ["", "", "2"]);
    }

    #[test]
    fn flags_of_several_add_up_where_the_cpus_are_the_same() {
        for line in ["isolcpus=domain,2-3 isolcpus=managed_irq,2-3", "isolcpus=managed_irq,2,3 isolcpus=domain,2-3"] {
            for release in [(5, 10), (6, 12)] {
                assert_eq!(all(line, release), ["2-3", "2-3", ""], "{line}");
            }
        }
        let line = "isolcpus=domain,2-3 isolcpus=managed_irq,2";
        assert_eq!(all(line, (6, 12)), ["2-3", "2", ""]);
        assert_eq!(all(line, (5, 10)), ["2-3", "", ""]);
    }

    #[test]
    fn until_5_17_nohz_full_must_match() {
        assert_eq!(all("isolcpus=2-3 nohz_full=3", (6, 12)), ["2-3", "", "3"]);
        assert_eq!(all("isolcpus=2-3 nohz_full=3", (5, 15)), ["2-3", "", ""]);
        assert_eq!(all("nohz_full=3 isolcpus=2-3", (5, 15)), ["", "", "3"]);
        assert_eq!(all("nohz_full=3 isolcpus=2-3", (4, 9)), ["2-3", "", "3"]);
        assert_eq!(all("isolcpus=nohz,domain,2-3", (5, 15)), ["2-3", "", "2-3"]);
    }
}
