//! Selects the kernel parameters of a rule that can work on this machine.

use super::init::Init;
use super::places::Places;
use super::{BootWish, Request, RulePlan};
use punctual_audit::proposes;
use punctual_machine::{Machine, parameters};
use punctual_units::CpuList;

/// Parameters whose value is a list of CPUs that the user chooses. New CPUs are added to an existing list.
const CPU_SETS: &[&str] = &["isolcpus", "nohz_full", "rcu_nocbs"];

/// # Errors
/// The reason why one of the parameters cannot work on this machine, or contradicts other advice.
pub(super) fn wanted(
    request: &Request,
    places: &Places,
    plan: &mut RulePlan,
    (add, remove): (&str, &str),
) -> Result<BootWish, String> {
    let mut wanted = BootWish::default();
    for word in places.fill(add)?.split_whitespace() {
        let word = joined(request.machine, word)?;
        if word.starts_with("systemd.")
            && let Some(why) = Init::of(request.sys).without_systemd()
        {
            return Err(why);
        }
        match request.rules.misfit(request.machine, request.context, &word) {
            Some(misfit) if misfit.is_certain => return Err(misfit.why),
            Some(misfit) => plan.manual.push(format!("{word}: {}", misfit.why)),
            None => {}
        }
        wanted.add.push(word);
    }
    let profile = request.context.profile;
    let running = running(request.machine);
    for name in remove.split_whitespace() {
        if proposes(profile, name) {
            return Err(format!("{name} is kept: the CPU plan for {profile} proposes it (--plan-cpus)"));
        }
        let is_there = |words: &Vec<String>| words.iter().any(|word| word.split('=').next() == Some(name));
        // Several names in a rule may have the same reason.
        if running.as_ref().is_none_or(is_there) {
            if let Some(kept) = request.rules.kept(request.machine, request.context, name) {
                return Err(kept.why);
            }
            wanted.remove.push(name.to_owned());
        }
    }
    match wanted.is_empty() {
        true => Err("not on the running kernel's command line: the cause is elsewhere".to_owned()),
        false => Ok(wanted),
    }
}

/// Returns the words of the running kernel's command line; `None` if they cannot be read.
fn running(machine: &dyn Machine) -> Option<Vec<String>> {
    machine.read("/proc/cmdline").bytes().map(|bytes| parameters(&String::from_utf8_lossy(bytes)))
}

/// Returns the word, extended by the CPUs and flags that the running kernel's parameter has in addition.
fn joined(machine: &dyn Machine, word: &str) -> Result<String, String> {
    let Some((name, value)) = word.split_once('=').filter(|(name, _)| CPU_SETS.contains(name)) else {
        return Ok(word.to_owned());
    };
    let there = running(machine).unwrap_or_default();
    let Some(old) = there.iter().rev().find_map(|word| word.strip_prefix(name)?.strip_prefix('=')) else {
        return Ok(word.to_owned());
    };
    let ((mut flags, new_cpus), (old_flags, old_cpus)) = (parted(value), parted(old));
    let list = |text: &str| text.parse::<CpuList>();
    let (Ok(new_cpus), Ok(old_cpus)) = (list(&new_cpus), list(&old_cpus)) else {
        return Err(format!("{name}={old} is already set: decide how to change it"));
    };
    flags.extend(old_flags.into_iter().filter(|flag| !flags.contains(flag)).collect::<Vec<_>>());
    let cpus: CpuList = new_cpus.iter().chain(old_cpus.iter()).collect();
    let isolated = there.iter().find_map(|word| word.strip_prefix("isolcpus="));
    let isolated = isolated.and_then(|value| list(&parted(value).1).ok()).filter(|_| name != "isolcpus");
    if let Some(left_out) = isolated.map(|isolated| cpus.minus(&isolated)).filter(|cpus| !cpus.is_empty()) {
        return Err(format!(
            "{name}={cpus} would include CPU {left_out}, which isolcpus does not isolate: correct the lists first"
        ));
    }
    let flags: String = flags.iter().map(|flag| format!("{flag},")).collect();
    Ok(format!("{name}={flags}{cpus}"))
}

/// Splits `domain,managed_irq,2-3` into flags and CPUs. Flags begin with a letter (kernel/sched/isolation.c,
/// housekeeping_isolcpus_setup).
fn parted(value: &str) -> (Vec<String>, String) {
    let is_flag = |part: &&str| part.starts_with(|c: char| c.is_ascii_alphabetic());
    let parts: Vec<&str> = value.split(',').collect();
    let flags = parts.iter().take_while(|part| is_flag(part)).map(|part| (*part).to_owned()).collect::<Vec<_>>();
    let cpus = parts.get(flags.len()..).unwrap_or_default().join(",");
    (flags, cpus)
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_machine::Live;

    fn on(cmdline: &str, word: &str) -> Result<String, String> {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("proc")).unwrap();
        std::fs::write(root.path().join("proc/cmdline"), cmdline).unwrap();
        joined(&Live::under(root.path()), word)
    }

    #[test]
    fn no_cpu_is_taken_out_of_a_list() {
        assert_eq!(on("quiet nohz_full=1", "nohz_full=3").unwrap(), "nohz_full=1,3");
        assert_eq!(
            on("isolcpus=nohz,domain,2-3", "isolcpus=domain,managed_irq,3").unwrap(),
            "isolcpus=domain,managed_irq,nohz,2-3"
        );
        assert_eq!(on("quiet", "isolcpus=domain,3").unwrap(), "isolcpus=domain,3");
        assert_eq!(on("rcu_nocbs=1 skew_tick=0", "skew_tick=1").unwrap(), "skew_tick=1");
        assert!(
            on("isolcpus=3 nohz_full=1", "nohz_full=3").unwrap_err().contains("CPU 1, which isolcpus does not isolate")
        );
        assert!(on("nohz_full=2-N", "nohz_full=3").unwrap_err().contains("nohz_full=2-N is already set"));
    }
}
