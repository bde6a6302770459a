//! CPU lists of the command line: are they lists, and do they agree?

use super::kernel::release;
use super::{CONFIG_READS, CPU_SET_READS, Probe, With};
use crate::cmdline::isolcpus::Isolcpus;
use crate::cmdline::list::{self, Scope};
use crate::cmdline::names::key;
use crate::reading::{Cause, Gap, Many, Reading, Value};
use crate::rule::Set;
use crate::sight::{Notes, Sight};
use punctual_machine::{first_parameter, parameter, parameters, scrub};
use punctual_units::{CpuId, CpuList};

const POSSIBLE: &str = "/sys/devices/system/cpu/possible";
const CMDLINE: &[&str] = &["/proc/cmdline"];

pub(super) const PROBES: &[Probe] = &[
    // Sentences about CPU lists that are none, that contradict each other or the machine.
    Probe {
        name: "cpu-list-conflicts",
        with: &[],
        reads: &[CMDLINE, &[POSSIBLE], CPU_SET_READS, CONFIG_READS],
        run: conflicts,
    },
    // Words, as written.
    Probe { name: "cpu-list-words", with: &[], reads: &[CMDLINE], run: list_words },
    // Sentences about what of isolcpus= the kernel does not take as it was meant.
    Probe { name: "isolcpus-wrong", with: &[], reads: &[CMDLINE, &[POSSIBLE], CONFIG_READS], run: isolcpus_wrong },
    // `yes`, or `no` for flags without `domain`.
    Probe { name: "isolcpus-domain", with: &[], reads: &[CMDLINE, &[POSSIBLE], CONFIG_READS], run: isolcpus_domain },
];

/// Lists that the kernel parses, and systemd's.
const NAMES: &[&str] =
    &["isolcpus", "nohz_full", "rcu_nocbs", "irqaffinity", "kthread_cpus", "workqueue.unbound_cpus", SYSTEMD];
const SYSTEMD: &str = "systemd.cpu_affinity";

struct Lists<'a> {
    line: &'a str,
    scope: Scope,
    /// `None` where the machine is not known.
    possible: Option<&'a CpuList>,
    found: Vec<String>,
}

impl Lists<'_> {
    fn value(&self, name: &str) -> Option<String> {
        // Of these two the kernel takes the first (kernel/sched/isolation.c, housekeeping_setup).
        let is_first = matches!(name, "isolcpus" | "nohz_full");
        if is_first { first_parameter(self.line, name) } else { parameter(self.line, name) }
    }

    /// A list's CPUs; what is wrong with it is added to what was found.
    fn get(&mut self, name: &str) -> Option<CpuList> {
        let value = self.value(name)?;
        let parsed = match name {
            "isolcpus" => {
                let isolcpus = Isolcpus::parse(&value, self.scope);
                self.found.extend(isolcpus.wrong);
                isolcpus.cpus
            }
            // Without a value: "no CPU yet" (kernel/rcu/tree_nocb.h).
            "rcu_nocbs" if value.is_empty() => None,
            // RCU took this word itself before bitmap_parselist() did (kernel/rcu/tree_plugin.h of 5.10).
            "rcu_nocbs" if value.eq_ignore_ascii_case("all") => {
                list::parse(&value, Scope { release: None, ..self.scope }).ok()
            }
            _ => {
                let is_systemd = name == SYSTEMD;
                let list = if is_systemd { list::parse_systemd(&value) } else { list::parse(&value, self.scope) };
                match list {
                    Ok(cpus) if !cpus.is_empty() => Some(cpus),
                    Ok(_) => self.refused(name, &value, "it names no CPU"),
                    Err(why) => self.refused(name, &value, &why),
                }
            }
        }?;
        match self.possible {
            Some(possible) if !parsed.minus(possible).is_empty() => {
                let beyond = parsed.minus(possible);
                self.found.push(format!("{name} names CPU {beyond}, and the machine has only {possible}"));
                None
            }
            _ => Some(parsed),
        }
    }

    fn refused<T>(&mut self, name: &str, value: &str, why: &str) -> Option<T> {
        self.found.push(format!("{name}={} is no CPU list: {why}", scrub(value)));
        None
    }
}

/// Why a word was to be part of a list: `isolcpus= 2,3`, `rcu_nocbs:2,3`.
fn stray(word: &str) -> Option<String> {
    let is_list = word.starts_with(|c: char| c.is_ascii_digit() || c == '=')
        && word.chars().all(|c| c.is_ascii_digit() || ",-=:/N".contains(c))
        && word.contains([',', '-', '=']);
    if is_list {
        return Some(format!("`{}` stands alone: a blank ends a parameter", scrub(word)));
    }
    let (name, _) = word.split_once(':').filter(|(name, _)| NAMES.contains(name))?;
    Some(format!("`{}` has `:` where {name}= is meant", scrub(word)))
}

/// A list that a blank ends too early: `isolcpus=2, 3`, `isolcpus=4 ,5`.
fn torn(list: &str, word: &str) -> Option<String> {
    let number = word.trim_start_matches(',');
    // Others stand alone anywhere.
    let alone = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    let of_list = list.split_once('=').is_some_and(|(name, _)| NAMES.contains(&name));
    (of_list && alone && (list.ends_with(',') || word.starts_with(',')))
        .then(|| format!("`{}` stands alone behind `{}`: a blank ends a parameter", scrub(word), scrub(list)))
}

/// What `N` stands for where the machine is not known: one more than any number in the lists.
fn assumed_last(line: &str) -> u32 {
    NAMES.iter().filter_map(|name| parameter(line, name)).map(|value| list::largest(&value)).max().unwrap_or(0) + 1
}

fn scope(sight: &Sight, line: &str, possible: Option<&CpuList>) -> Scope {
    let release = release(sight, &mut Notes::default()).ok().map(|(major, minor, _)| (major, minor));
    let last = possible.and_then(|cpus| cpus.iter().last()).map_or_else(|| assumed_last(line), |CpuId(n)| n);
    Scope { last, release }
}

fn possible(sight: &Sight, notes: &mut Notes) -> Result<CpuList, Gap> {
    let possible = sight.cpu_list(POSSIBLE, notes).map_err(Gap::expected)?;
    if possible.is_empty() { Err(Gap::new(POSSIBLE, Cause::Garbled("CPU"))) } else { Ok(possible) }
}

fn conflicts(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let line = match sight.cmdline() {
        Ok(line) => line,
        Err(gap) => {
            notes.add(&gap.source, gap.cause.describe());
            return Reading::Many(Many::unknown(gap));
        }
    };
    let possible = possible(sight, notes);
    let isolated = sight.set(Set::Isolated, notes);
    let there = possible.as_ref().ok();
    let mut lists = Lists { line: &line, scope: scope(sight, &line, there), possible: there, found: Vec::new() };
    let words = parameters(&line);
    lists.found.extend(words.iter().filter_map(|word| stray(word)));
    lists.found.extend(words.windows(2).filter_map(|pair| torn(pair.first()?, pair.last()?)));
    let of: Vec<(&str, Option<CpuList>)> = NAMES.iter().map(|name| (*name, lists.get(name))).collect();
    let contradictions = contradictions(&line, &of, isolated.as_ref().ok(), there);
    let mut many = Many { items: Vec::new(), missing: possible.as_ref().err().or(isolated.as_ref().err()).cloned() };
    lists.found.into_iter().chain(contradictions).for_each(|text| many.push("", Ok(Value::Text(text))));
    notes.add("CPU lists", Reading::Many(many.clone()).show());
    Reading::Many(many)
}

/// `known`: the CPUs that the machine says are isolated.
fn contradictions(
    line: &str,
    lists: &[(&str, Option<CpuList>)],
    known: Option<&CpuList>,
    possible: Option<&CpuList>,
) -> Vec<String> {
    let of = |name: &str| lists.iter().find(|(n, _)| *n == name).and_then(|(_, list)| list.as_ref());
    let mut found = Vec::new();
    let asked = of("isolcpus");
    let isolated: CpuList =
        asked.iter().flat_map(|list| list.iter()).chain(known.iter().flat_map(|l| l.iter())).collect();
    if possible.is_some_and(|possible| !isolated.is_empty() && possible.minus(&isolated).is_empty()) {
        found.push("every CPU is isolated: none is left for the rest of the system".to_owned());
    }
    if isolated.contains(CpuId(0)) {
        found.push("CPU 0 is isolated, which keeps time and boots the others".to_owned());
    }
    // Without isolcpus= the CPUs may be those of a cpuset partition.
    let is_known = asked.is_some() || known.is_some();
    if let Some(tickless) = of("nohz_full").filter(|list| is_known && !list.minus(&isolated).is_empty()) {
        found.push(format!("nohz_full has CPU {}, which isolcpus leaves out", tickless.minus(&isolated)));
    }
    found.extend(without_effect(line));
    // isolcpus=nohz makes its CPUs tickless as nohz_full= does (kernel/sched/isolation.c, housekeeping_setup).
    let by_flag = parameter(line, "isolcpus").is_some_and(|value| value.split(',').any(|flag| flag == "nohz"));
    let tickless = of("nohz_full").into_iter().chain(asked.filter(|_| by_flag));
    let tickless: CpuList = tickless.flat_map(|list| list.iter()).collect();
    found.extend(asked.and_then(|asked| offloaded(asked, of("rcu_nocbs")?, &tickless)));
    for name in ["irqaffinity", "kthread_cpus", SYSTEMD, "workqueue.unbound_cpus"] {
        if let Some(list) = of(name).filter(|list| !list.and(&isolated).is_empty()) {
            found.push(format!("{name} has CPU {}, which is isolated", list.and(&isolated)));
        }
    }
    found
}

/// What another word of the line makes inert: without nohz the tick is never stopped (kernel/time/tick-sched.c,
/// tick_nohz_full_update_tick), without offloaded CPUs no thread polls.
fn without_effect(line: &str) -> Vec<String> {
    let given = |name: &str| parameter(line, name).is_some();
    let is_off = parameter(line, "nohz").is_some_and(|value| matches!(value.as_str(), "off" | "0" | "n" | "N"));
    let mut found = Vec::new();
    if is_off && given("nohz_full") {
        found.push("nohz=off leaves nohz_full without effect".to_owned());
    }
    found
}

/// CPUs of nohz_full= are offloaded, too (kernel/rcu/tree_nocb.h, rcu_init_nohz).
fn offloaded(asked: &CpuList, nocbs: &CpuList, tickless: &CpuList) -> Option<String> {
    let (lacks, more) = (asked.minus(nocbs), nocbs.minus(asked));
    let left = lacks.minus(tickless);
    match (left.is_empty(), lacks.is_empty() || more.is_empty()) {
        (false, _) => {
            Some(format!("rcu_nocbs leaves out CPU {left}, which isolcpus isolates: its callbacks run there"))
        }
        (true, false) => Some(format!("rcu_nocbs has CPU {more}, which isolcpus does not isolate")),
        (true, true) => None,
    }
}

fn isolcpus(sight: &Sight, notes: &mut Notes) -> Result<Option<Isolcpus>, Gap> {
    let line = sight.cmdline().inspect_err(|gap| notes.add(&gap.source, gap.cause.describe()))?;
    let Some(value) = first_parameter(&line, "isolcpus") else { return Ok(None) };
    notes.add("/proc/cmdline isolcpus", scrub(&format!("isolcpus={value}")));
    let possible = possible(sight, &mut Notes::default()).ok();
    Ok(Some(Isolcpus::parse(&value, scope(sight, &line, possible.as_ref()))))
}

fn isolcpus_wrong(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let mut many = Many::default();
    match isolcpus(sight, notes) {
        Ok(found) => {
            found.into_iter().flat_map(|found| found.wrong).for_each(|text| many.push("", Ok(Value::Text(text))));
        }
        Err(gap) => many.missing = Some(gap),
    }
    Reading::Many(many)
}

fn isolcpus_domain(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    match isolcpus(sight, notes) {
        Ok(Some(found)) => Reading::word(if found.has_domain() { "yes" } else { "no" }),
        Ok(None) => Reading::gap(Gap::new("/proc/cmdline isolcpus", Cause::Absent)),
        Err(gap) => Reading::gap(gap),
    }
}

/// The words of the command line that are about CPU lists.
fn list_words(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let mut many = Many::default();
    match sight.cmdline() {
        Ok(line) => {
            let is_one = |word: &&String| NAMES.contains(&key(word).as_str()) || stray(word).is_some();
            parameters(&line).iter().filter(is_one).for_each(|word| many.push("", Ok(Value::Text(scrub(word)))));
            notes.add("/proc/cmdline: CPU lists", Reading::Many(many.clone()).show());
        }
        Err(gap) => {
            notes.add(&gap.source, gap.cause.describe());
            many.missing = Some(gap);
        }
    }
    Reading::Many(many)
}
