//! CPU lists of the command line: syntax, and agreement with each other.

use super::cmdline::built;
use super::kernel::{backports, release};
use super::offload::{NOCBS_CHECKED, offload_list, offloaded_partly, polls_for_nobody};
use super::open_lists::{in_any_machine, least_last, shown};
use super::{CONFIG_READS, CPU_SET_READS, Probe, With};
use crate::cmdline::isolcpus::{self, Isolation, Isolcpus};
use crate::cmdline::list::{self, Release, Scope};
use crate::cmdline::names::key;
use crate::cmdline::{built::Built, values};
use crate::reading::{Cause, Gap, Many, Reading, Value};
use crate::rule::Set;
use crate::sight::{Notes, Sight};
use punctual_machine::{first_parameter, parameter, parameters, scrub};
use punctual_units::{CpuId, CpuList};

const POSSIBLE: &str = "/sys/devices/system/cpu/possible";
const CMDLINE: &[&str] = &["/proc/cmdline"];

pub(super) const PROBES: &[Probe] = &[
    // Sentences about CPU lists that are invalid or contradict each other or the machine.
    Probe {
        name: "cpu-list-conflicts",
        with: &[],
        reads: &[CMDLINE, &[POSSIBLE], CPU_SET_READS, CONFIG_READS],
        run: conflicts,
    },
    // `yes` if isolcpus= isolates CPU 0, else `no`.
    Probe { name: "boot-cpu-isolated", with: &[], reads: ISOLCPUS, run: boot_cpu },
    // The words as they are written.
    Probe { name: "cpu-list-words", with: &[], reads: &[CMDLINE], run: list_words },
    // Sentences about isolcpus= that the kernel ignores.
    Probe { name: "isolcpus-wrong", with: &[], reads: ISOLCPUS, run: isolcpus_wrong },
    // Sentences about parts of isolcpus= whose effect differs from what was intended, and about that effect.
    Probe { name: "isolcpus-doubtful", with: &[], reads: ISOLCPUS, run: isolcpus_doubtful },
    // The CPUs that isolcpus= excludes from load balancing, or `none`; absent without isolcpus=.
    Probe { name: "isolcpus-domain", with: &[], reads: ISOLCPUS, run: isolcpus_domain },
    // The latest flag of isolcpus= with its release, such as `managed_irq since Linux 5.6`; absent without flags, or if the
    // release of the kernel is known.
    Probe { name: "isolcpus-since", with: &[], reads: ISOLCPUS, run: isolcpus_since },
];

pub(super) const ISOLCPUS: &[&[&str]] = &[CMDLINE, &[POSSIBLE], CONFIG_READS];

/// Parameters whose lists the kernel parses, and one whose list systemd parses.
pub(super) const NAMES: &[&str] =
    &["isolcpus", "nohz_full", "rcu_nocbs", "irqaffinity", "workqueue.unbound_cpus", SYSTEMD];
const SYSTEMD: &str = "systemd.cpu_affinity";

/// Begins the reason of a sentence about a list that its parameter rejects.
const REFUSED: &str = " is rejected: ";

struct Lists<'a> {
    sight: &'a Sight<'a>,
    line: &'a str,
    scope: Scope,
    /// The machine's possible CPUs; `None` if they are unknown.
    possible: Option<&'a CpuList>,
    isolation: Isolation,
    found: Vec<String>,
}

impl Lists<'_> {
    /// Returns the CPUs of the list `name`, and records errors in that list.
    fn get(&mut self, name: &str) -> Option<CpuList> {
        // Of several nohz_full=, the first one counts (kernel/sched/isolation.c, housekeeping_setup).
        let is_first = name == "nohz_full" && !self.scope.is_before((4, 15));
        let value = if is_first { first_parameter(self.line, name) } else { parameter(self.line, name) }?;
        // If the kernel lacks the parameter, nothing rejects its list.
        let (is_out, is_in) = match built(self.sight, name) {
            Some((found, _)) => (found == Built::Out, found == Built::In),
            None => (false, true),
        };
        if is_out && name != "isolcpus" {
            return None;
        }
        let parsed = match name {
            "isolcpus" => {
                self.found.extend(self.isolation.wrong.clone());
                let sets = [self.isolation.domain(), self.isolation.managed()];
                let cpus: CpuList = sets.into_iter().flatten().flat_map(|cpus| cpus.iter()).collect();
                (!cpus.is_empty()).then_some(cpus)
            }
            // Without a value, rcu_nocbs does not select any CPU yet (kernel/rcu/tree_nocb.h).
            "rcu_nocbs" if value.is_empty() => None,
            "rcu_nocbs" => match offload_list(&value, self.scope) {
                Ok(cpus) => Some(cpus),
                Err(why) if self.scope.is_before(NOCBS_CHECKED) => match offloaded_partly(&value, self.scope) {
                    cpus if cpus.is_empty() => self.refused(name, &value, &format!("{why}: it offloads no CPU")),
                    cpus => {
                        self.refused::<CpuList>(name, &value, &format!("{why}: it offloads only CPU {cpus}"));
                        Some(cpus)
                    }
                },
                Err(why) if is_in && self.scope.release.is_some() => {
                    self.refused(name, &value, &format!("{why}: the kernel offloads every CPU"))
                }
                Err(why) => {
                    let since = "since Linux 5.2 a kernel with CONFIG_RCU_NOCB_CPU offloads every CPU";
                    self.refused(name, &value, &format!("{why}: {since}"))
                }
            },
            _ => {
                let is_systemd = name == SYSTEMD;
                let list = if is_systemd { list::parse_systemd(&value) } else { list::parse(&value, self.scope) };
                match list {
                    Ok(cpus) if !cpus.is_empty() => Some(cpus),
                    // Linux before 6.18 accepts an empty list (kernel/sched/isolation.c, housekeeping_setup).
                    Ok(_) => {
                        self.found.push(format!("{name}={} names no CPU", scrub(&value)));
                        None
                    }
                    Err(why) if name == "irqaffinity" => {
                        // irq_affinity_setup() of kernel/irq/irqdesc.c ignores the result, and adds the boot CPU.
                        let cpus = list::parse_partly(&value, self.scope).0;
                        let of = if cpus.is_empty() { String::new() } else { format!("CPU {cpus} and ") };
                        self.refused(name, &value, &format!("{why}: interrupts go to {of}the boot CPU"))
                    }
                    Err(why) => self.refused(name, &value, &why),
                }
            }
        }?;
        match self.possible {
            Some(possible) if !parsed.minus(possible).is_empty() => {
                let beyond = parsed.minus(possible);
                self.found.push(format!("{name} names CPU {beyond}, but the machine has only {possible}"));
                None
            }
            _ => Some(parsed),
        }
    }

    fn refused<T>(&mut self, name: &str, value: &str, why: &str) -> Option<T> {
        self.found.push(format!("{name}={}{REFUSED}{why}", scrub(value)));
        None
    }
}

/// Recognises a word that was probably meant as part of a list: `isolcpus= 2,3`, `rcu_nocbs:2,3`.
fn stray(word: &str) -> Option<String> {
    let is_list = word.starts_with(|c: char| c.is_ascii_digit() || c == '=')
        && word.chars().all(|c| c.is_ascii_digit() || ",-=:/N".contains(c))
        && word.contains([',', '-', '=']);
    if is_list {
        return Some(format!("`{}` is a separate word: a blank ends a parameter", scrub(word)));
    }
    let (name, _) = word.split_once(':').filter(|(name, _)| NAMES.contains(name))?;
    Some(format!("`{}` has `:` in place of `=`: write {name}=", scrub(word)))
}

/// Recognises a list that a blank ends too early: `isolcpus=2, 3`, `isolcpus=4 ,5`.
fn torn(list: &str, word: &str) -> Option<String> {
    let number = word.trim_start_matches(',');
    // Any other word is unrelated to the list.
    let alone = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    let of_list = list.split_once('=').is_some_and(|(name, _)| NAMES.contains(&name));
    (of_list && alone && (list.ends_with(',') || word.starts_with(',')))
        .then(|| format!("`{}` after `{}` is a separate word: a blank ends a parameter", scrub(word), scrub(list)))
}

/// Returns which CPUs a list may contain; if the last CPU is unknown, it is assumed to be [`least_last`] plus `more`.
pub(super) fn scope(sight: &Sight, line: &str, possible: Option<&CpuList>, more: u32) -> Scope {
    let last = possible.and_then(|cpus| cpus.iter().last());
    let release = release(sight, &mut Notes::default()).ok().map(|(major, minor, _)| (major, minor));
    let release = release.filter(|_| !backports(sight));
    let bits = bits(sight, release, last);
    let least = least_last(line).saturating_add(more);
    let least = bits.map_or(least, |bits| least.min(bits.saturating_sub(1)));
    Scope { last: last.map_or(least, |CpuId(n)| n), release, bits }
}

/// Returns the size of the kernel's CPU masks in bits: NR_CPUS until Linux 6.2; with CPUMASK_OFFSTACK, and since 6.3,
/// the number of possible CPUs (commit 596ff4a09b89); NR_CPUS is an upper bound if the CPUs are unknown.
fn bits(sight: &Sight, release: Option<Release>, last: Option<CpuId>) -> Option<u32> {
    let option = |name: &str| match sight.option(name, &mut Notes::default()) {
        Ok(Value::Text(value)) => Some(value),
        _ => None,
    };
    let built = || option("NR_CPUS").and_then(|n| n.parse().ok());
    let possible = last.map(|CpuId(n)| n + 1);
    match release {
        Some(release) if release < (6, 3) => match option("CPUMASK_OFFSTACK").as_deref() {
            Some("y") => possible.or_else(built),
            Some(_) => built(),
            None => None,
        },
        _ => possible.or_else(built),
    }
}

/// Returns true if every isolcpus= of the line takes effect, with their flags combined.
pub(super) fn adds_up(sight: &Sight, line: &str) -> bool {
    let possible = possible(sight, &mut Notes::default()).ok();
    let isolation = isolation(sight, line, possible.as_ref(), 1);
    isolation.wrong.is_empty() && isolation.overruled_of("isolcpus").next().is_none()
}

/// Returns what the line isolates. If the configuration is unknown, NO_HZ_FULL is assumed to be set.
pub(super) fn isolation(sight: &Sight, line: &str, possible: Option<&CpuList>, more: u32) -> Isolation {
    if let Some((Built::Out, option)) = built(sight, "isolcpus") {
        let words = parameters(line).into_iter().filter(|word| key(word) == "isolcpus");
        let said =
            words.map(|word| format!("`{}` isolates nothing: this kernel is built without {option}", scrub(&word)));
        let mut none = Isolation::default();
        none.wrong.extend(said);
        return none;
    }
    let option = sight.option("NO_HZ_FULL", &mut Notes::default());
    let is_off = matches!(option, Ok(Value::Text(value)) if value == "n");
    Isolation::of(line, scope(sight, line, possible, more), possible, !is_off)
}

pub(super) fn possible(sight: &Sight, notes: &mut Notes) -> Result<CpuList, Gap> {
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
    let found = |more: u32| {
        let isolation = isolation(sight, &line, there, more);
        let scope = scope(sight, &line, there, more);
        let mut lists = Lists { sight, line: &line, scope, possible: there, isolation, found: Vec::new() };
        let words = parameters(&line);
        lists.found.extend(words.iter().filter_map(|word| stray(word)));
        lists.found.extend(words.windows(2).filter_map(|pair| torn(pair.first()?, pair.last()?)));
        let of: Vec<(&str, Option<CpuList>)> = NAMES.iter().map(|name| (*name, lists.get(name))).collect();
        lists.found.extend(lists.isolation.overruled.iter().map(|(_, text)| text.clone()));
        let more = contradictions(&line, &of, &lists.isolation, isolated.as_ref().ok(), there);
        lists.found.into_iter().chain(more).collect::<Vec<String>>()
    };
    let found = in_any_machine(found, there.is_none());
    let missing = possible.as_ref().err().or(isolated.as_ref().err()).cloned();
    let mut many = Many { items: Vec::new(), missing: missing.or_else(|| sight.open()) };
    found.into_iter().for_each(|text| many.push("", Ok(Value::Text(text))));
    notes.add("CPU lists", Reading::Many(many.clone()).show());
    Reading::Many(many)
}

/// Returns sentences about lists that contradict each other or the machine; `known` are the CPUs that the machine
/// reports as isolated.
fn contradictions(
    line: &str,
    lists: &[(&str, Option<CpuList>)],
    isolation: &Isolation,
    known: Option<&CpuList>,
    possible: Option<&CpuList>,
) -> Vec<String> {
    let of = |name: &str| lists.iter().find(|(n, _)| *n == name).and_then(|(_, list)| list.as_ref());
    let mut found = Vec::new();
    let asked = of("isolcpus");
    let isolated: CpuList =
        asked.iter().flat_map(|list| list.iter()).chain(known.iter().flat_map(|l| l.iter())).collect();
    if possible.is_some_and(|possible| !isolated.is_empty() && possible.minus(&isolated).is_empty()) {
        found.push("every CPU is isolated, leaving none for the rest of the system".to_owned());
    }
    // With `all`, the kernel keeps the boot CPU as housekeeping CPU (kernel/sched/isolation.c, housekeeping_setup).
    let is_all = first_parameter(line, "nohz_full").is_some_and(|value| ["all", "0-N"].contains(&value.as_str()));
    if !is_all && isolation.tickless().is_some_and(|cpus| cpus.contains(CpuId(0))) {
        found.push("CPU 0 is in nohz_full=, but it is the timekeeping CPU".to_owned());
    }
    // The kernel clears the boot CPU from nohz_full= (kernel/time/tick-sched.c, tick_nohz_init).
    let is_tickless = |cpus: &CpuList| cpus.iter().filter(|cpu| *cpu != CpuId(0)).collect::<CpuList>();
    // Without isolcpus=, a cpuset partition may provide the isolated CPUs.
    let is_known = asked.is_some() || known.is_some();
    let more = of("nohz_full").map(|list| is_tickless(&list.minus(&isolated))).unwrap_or_default();
    if is_known && !more.is_empty() {
        found.push(format!("nohz_full has CPU {more}, which isolcpus does not isolate"));
    }
    found.extend(without_effect(line));
    found.extend(not_started(line, lists));
    found.extend(asked.and_then(|asked| offloaded(asked, of("rcu_nocbs")?, isolation.tickless())));
    for name in ["irqaffinity", SYSTEMD, "workqueue.unbound_cpus"] {
        let Some(list) = of(name) else { continue };
        let tickless = isolation.tickless().map(|cpus| is_tickless(&list.and(cpus).minus(&isolated)));
        let tickless = tickless.unwrap_or_default();
        for (cpus, what) in [(list.and(&isolated), "isolated"), (tickless, "tickless (nohz_full)")] {
            if !cpus.is_empty() {
                found.push(format!("{name} has CPU {cpus}, which is {what}"));
            }
        }
    }
    found
}

/// Finds words that another word of the line disables: without nohz the tick is never stopped
/// (kernel/time/tick-sched.c, tick_nohz_full_update_tick); the other effects of nohz_full= remain.
fn without_effect(line: &str) -> Vec<String> {
    let given = |name: &str| parameter(line, name).is_some();
    let is_off = parameter(line, "nohz").and_then(|value| values::boolean(&value)) == Some(false);
    let mut found = Vec::new();
    if is_off && given("nohz_full") {
        found.push("nohz=off keeps the tick on the CPUs of nohz_full: remove one of the two".to_owned());
    }
    found
}

/// Finds listed CPUs that the line prevents from starting (kernel/smp.c: nosmp, maxcpus=, nr_cpus=; get_option() parses
/// a word as 0, and maxcpus=0 is nosmp). CPUs are started in ascending order.
fn not_started(line: &str, lists: &[(&str, Option<CpuList>)]) -> Vec<String> {
    let of = |name: &str| {
        let value = parameter(line, name)?;
        let count = values::number(&value).and_then(|count| u32::try_from(count).ok()).unwrap_or(0);
        Some((count, format!("{name}={value}")))
    };
    let counts = [
        parameter(line, "nosmp").map(|_| (1, "nosmp does not start".to_owned())),
        of("maxcpus").map(|(count, word)| (count.max(1), format!("{word} does not start"))),
        of("nr_cpus").filter(|(count, _)| *count > 0).map(|(count, word)| (count, format!("{word} excludes"))),
    ];
    let Some((count, does)) = counts.into_iter().flatten().min() else { return Vec::new() };
    let beyond = lists.iter().filter_map(|(of, cpus)| {
        let beyond: CpuList = cpus.iter().flat_map(|cpus| cpus.iter()).filter(|CpuId(cpu)| *cpu >= count).collect();
        (!beyond.is_empty()).then(|| format!("{of} names CPU {beyond}, which {does}"))
    });
    beyond.collect()
}

/// Returns how the offloaded CPUs differ from the isolated ones, as a sentence. CPUs of nohz_full= are offloaded, too
/// (kernel/rcu/tree_nocb.h, rcu_init_nohz).
fn offloaded(asked: &CpuList, nocbs: &CpuList, tickless: Option<&CpuList>) -> Option<String> {
    let (lacks, more) = (asked.minus(nocbs), nocbs.minus(asked));
    let left = tickless.map_or_else(|| lacks.clone(), |tickless| lacks.minus(tickless));
    match (left.is_empty(), lacks.is_empty() || more.is_empty()) {
        (false, _) => Some(format!(
            "rcu_nocbs does not offload CPU {left}, which isolcpus isolates: the RCU callbacks of that CPU run on it"
        )),
        (true, false) => Some(format!("rcu_nocbs has CPU {more}, which isolcpus does not isolate")),
        (true, true) => None,
    }
}

/// Returns sentences about lists that have no effect because of their form or another word of the line.
pub(super) fn idle_lists(sight: &Sight, line: &str) -> Vec<String> {
    let possible = possible(sight, &mut Notes::default()).ok();
    let found = |more: u32| {
        let isolation = isolation(sight, line, possible.as_ref(), more);
        let scope = scope(sight, line, possible.as_ref(), more);
        let mut lists = Lists { sight, line, scope, possible: possible.as_ref(), isolation, found: Vec::new() };
        let of: Vec<(&str, Option<CpuList>)> = NAMES.iter().map(|name| (*name, lists.get(name))).collect();
        // A separate finding reports why the parameter has no effect at all.
        let is_built = !matches!(built(sight, "isolcpus"), Some((Built::Out, _)));
        let wrong = lists.isolation.wrong.iter().filter(|text| is_built && text.contains("isolates nothing"));
        let overruled = lists.isolation.overruled.iter().map(|(_, text)| text);
        let refused = lists.found.iter().filter(|text| text.contains(REFUSED));
        let own = wrong.chain(overruled).chain(refused).cloned();
        own.chain(without_effect(line)).chain(not_started(line, &of)).collect()
    };
    let polled = polls_for_nobody(sight, line);
    in_any_machine(found, possible.is_none()).into_iter().chain(polled).collect()
}

fn asked(sight: &Sight, notes: &mut Notes, more: u32) -> Result<Option<Isolation>, Gap> {
    let line = sight.cmdline().inspect_err(|gap| notes.add(&gap.source, gap.cause.describe()))?;
    let words: Vec<String> = parameters(&line).into_iter().filter(|word| key(word) == "isolcpus").collect();
    if let Some(gap) = sight.variable("isolcpus").filter(|_| words.is_empty()) {
        return Err(gap);
    }
    if words.is_empty() {
        return Ok(None);
    }
    notes.add("/proc/cmdline isolcpus", scrub(&words.join(" ")));
    let possible = possible(sight, &mut Notes::default()).ok();
    Ok(Some(isolation(sight, &line, possible.as_ref(), more)))
}

fn boot_cpu(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    match asked(sight, notes, 0) {
        Ok(found) => {
            let is = found.as_ref().and_then(Isolation::domain).is_some_and(|cpus| cpus.contains(CpuId(0)));
            Reading::word(if is { "yes" } else { "no" })
        }
        Err(gap) => Reading::gap(gap),
    }
}

fn sentences(sight: &Sight, notes: &mut Notes, of: impl Fn(Isolation) -> Vec<String>) -> Reading {
    let mut many = Many::default();
    match asked(sight, notes, 0) {
        Ok(_) => {
            let found = |more| asked(sight, &mut Notes::default(), more).ok().flatten().map_or_else(Vec::new, &of);
            let is_open = possible(sight, &mut Notes::default()).is_err();
            in_any_machine(found, is_open).into_iter().for_each(|text| many.push("", Ok(Value::Text(text))));
        }
        Err(gap) => many.missing = Some(gap),
    }
    Reading::Many(many)
}

fn isolcpus_wrong(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    sentences(sight, notes, |found| if found.domain().is_none() { found.wrong } else { Vec::new() })
}

fn isolcpus_doubtful(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    sentences(sight, notes, |found| {
        let mut said = found.skipped.clone();
        let since = if release(sight, &mut Notes::default()).is_ok() {
            ""
        } else {
            " since Linux 5.7 (older ones ignore isolcpus=)"
        };
        for flag in &mut said {
            let meant = isolcpus::meant(flag).map(|name| format!(" ({name} is)")).unwrap_or_default();
            *flag = format!("the kernel skips `{flag}`{since}, which is not a flag of isolcpus={meant}");
        }
        said.extend(found.overruled_of("isolcpus").chain(&found.wrong).cloned());
        if said.is_empty() {
            return said;
        }
        said.push(match (found.domain(), found.managed()) {
            (Some(cpus), _) => format!("still isolated from load balancing: CPU {}", shown(sight, &["isolcpus"], cpus)),
            (None, Some(cpus)) => {
                let cpus = shown(sight, &["isolcpus"], cpus);
                format!("tasks are still balanced onto CPU {cpus}: without `domain` only interrupts are moved")
            }
            (None, None) => "no CPU is isolated from load balancing".to_owned(),
        });
        said
    })
}

fn isolcpus_domain(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    // Without SMP no kernel isolates a CPU. If the machine's CPUs are known, they decide that.
    let is_unseen = possible(sight, &mut Notes::default()).is_err_and(|gap| gap.is_not_given());
    let smp = sight.config().as_ref().map(|_| sight.option("SMP", &mut Notes::default()));
    let smp = smp.ok().filter(|_| is_unseen);
    let is_found = |found: Option<Isolation>| match (found, &smp) {
        (Some(_), Some(Err(gap))) => Err(gap.clone()),
        (found, _) => Ok(found),
    };
    match asked(sight, notes, 1).and_then(is_found) {
        Ok(Some(found)) => {
            Reading::word(found.domain().map_or_else(|| "none".to_owned(), |cpus| shown(sight, &["isolcpus"], cpus)))
        }
        Ok(None) => Reading::gap(Gap::new("/proc/cmdline isolcpus", Cause::Absent)),
        Err(gap) => Reading::gap(gap),
    }
}

fn isolcpus_since(sight: &Sight, _: &With, _: &mut Notes) -> Reading {
    let line = sight.cmdline().unwrap_or_default();
    let scope = scope(sight, &line, possible(sight, &mut Notes::default()).ok().as_ref(), 0);
    let values = parameters(&line).into_iter().filter(|word| key(word) == "isolcpus");
    let flags = values.filter_map(|word| Some(Isolcpus::parse(word.split_once('=')?.1, scope).flags)).flatten();
    match flags.filter_map(|flag| isolcpus::since(&flag)).max_by_key(|(_, since)| *since) {
        Some((name, (major, minor))) if scope.release.is_none() => {
            Reading::word(format!("{name} since Linux {major}.{minor}"))
        }
        _ => Reading::gap(Gap::new("isolcpus", Cause::Absent)),
    }
}

/// Returns the words of the command line that contain CPU lists.
fn list_words(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let mut many = Many::default();
    match sight.cmdline() {
        Ok(line) => {
            let is_one = |word: &&String| NAMES.contains(&key(word).as_str()) || stray(word).is_some();
            parameters(&line).iter().filter(is_one).for_each(|word| many.push("", Ok(Value::Text(scrub(word)))));
            many.missing = NAMES.iter().find_map(|name| sight.variable(name));
            notes.add("/proc/cmdline: CPU lists", Reading::Many(many.clone()).show());
        }
        Err(gap) => {
            notes.add(&gap.source, gap.cause.describe());
            many.missing = Some(gap);
        }
    }
    Reading::Many(many)
}
