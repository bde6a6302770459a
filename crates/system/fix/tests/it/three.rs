//! Undo after later events: changes by other programs, reboots, expired confirmation, incomplete records.

use punctual_audit::{Profile, Rules};
use punctual_fix::{Doing, FixOptions, Journal, Outcome, Plan, Real, RulePlan, System, guard, recover, undo};
use punctual_model::{Severity, State};
use punctual_testing::fix::{JOURNAL, Kernel, difference, fix, materialise, plan, rules, tree};
use std::cell::Cell;
use std::path::{Path, PathBuf};

struct World {
    root: tempfile::TempDir,
    kernel: Kernel,
    rules: &'static Rules,
}

impl World {
    fn new() -> World {
        let machine = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../machines/laptop-smt-6.8");
        let root = materialise(&machine);
        let kernel = Kernel::under(root.path());
        World { root, kernel, rules: rules() }
    }

    fn put(&self, path: &str, text: &str) {
        let at = self.at(path);
        punctual_testing::fix::make_folders(at.parent().unwrap()).unwrap();
        std::fs::write(at, text).unwrap();
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.path().join(path.trim_start_matches('/'))
    }

    fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.at(path)).unwrap()
    }

    fn fix(&self, ids: &[&str], persist: bool, options: &FixOptions) -> punctual_fix::Fixed {
        let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
        let plan = plan(self.rules, self.root.path(), &self.kernel, &ids, persist, Profile::ControlLoop);
        fix(self.rules, self.root.path(), &self.kernel, &plan, options).unwrap()
    }

    fn undo(&self) -> punctual_fix::Undone {
        undo(&self.kernel, Path::new(JOURNAL), &[]).unwrap()
    }
}

const STAT: &str = "/proc/sys/kernel/sched_autogroup_enabled";
const OURS: &str = "/etc/sysctl.d/60-punctual-sched-autogroup.conf";

fn ready() -> World {
    let world = World::new();
    world.put(STAT, "1\n");
    world
}

#[test]
fn a_file_somebody_changed_is_left_with_its_difference() {
    let world = ready();
    let fixed = world.fix(&["sched-autogroup"], true, &FixOptions::default());
    assert_eq!(fixed.rules[0].changes.len(), 2, "{fixed:#?}");
    assert!(world.text(OURS).contains("kernel.sched_autogroup_enabled = 0"));
    std::fs::write(world.at(OURS), world.text(OURS) + "vm.swappiness = 1\n").unwrap();
    let undone = world.undo();
    let refused = undone.changes.iter().find_map(|taken| match &taken.outcome {
        Outcome::Refused { diff, .. } => Some(diff.clone()),
        _ => None,
    });
    assert_eq!(refused.unwrap(), "+vm.swappiness = 1\n");
    assert_eq!(world.text(STAT), "1\n", "the other change is undone all the same");
    std::fs::remove_file(world.at(OURS)).unwrap();
    assert!(world.undo().is_complete());
}

#[test]
fn a_reboot_takes_values_and_leaves_files() {
    let world = ready();
    world.fix(&["sched-autogroup"], true, &FixOptions::default());
    *world.kernel.boot.borrow_mut() = "boot-2".into();
    // The drop-in file has set the value again.
    world.put(STAT, "0\n");
    let undone = world.undo();
    assert!(undone.is_complete(), "{undone:#?}");
    assert!(undone.changes.iter().any(|taken| matches!(taken.outcome, Outcome::Gone(_))));
    assert_eq!(world.text(STAT), "0\n", "of another boot: not ours to restore");
    assert!(!world.at(OURS).exists());
}

#[test]
fn a_finding_that_does_not_change_is_rolled_back() {
    let world = ready();
    // The value that the rule examines stays the same, whatever is written.
    world.put("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "schedutil\n");
    let before = tree(world.root.path());
    let path = PathBuf::from("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor");
    world.kernel.refusing.borrow_mut().insert(path, 16);
    let fixed = world.fix(&["cpu-governor"], false, &FixOptions::default());
    let done = &fixed.rules[0];
    assert!(done.changes.is_empty() || !done.refused.is_empty(), "{done:#?}");
    assert!(world.undo().is_complete());
    assert_eq!(difference(&before, world.root.path()), Vec::<String>::new());
}

#[test]
fn the_timer_takes_back_what_is_not_confirmed() {
    let world = ready();
    let options = FixOptions { confirm_within_s: Some(300), ..FixOptions::default() };
    let fixed = world.fix(&["sched-autogroup"], true, &options);
    let undone = guard(&world.kernel, Path::new(JOURNAL), fixed.set.unwrap()).unwrap().unwrap();
    assert!(undone.is_complete());
    assert!(world.kernel.now_s.get() >= 1300, "{}", world.kernel.now_s.get());
    assert_eq!(world.text(STAT), "1\n");
    assert!(!world.at(OURS).exists());
}

#[test]
fn what_is_kept_stays_and_the_timer_ends() {
    let world = ready();
    let options = FixOptions { confirm_within_s: Some(300), ..FixOptions::default() };
    let fixed = world.fix(&["sched-autogroup"], false, &options);
    assert_eq!(Journal::open(&world.kernel, Path::new(JOURNAL)).unwrap().keep().unwrap(), 1);
    assert!(guard(&world.kernel, Path::new(JOURNAL), fixed.set.unwrap()).unwrap().is_none());
    assert_eq!(world.text(STAT), "0\n");
}

#[test]
fn the_next_start_does_it_where_the_timer_was_killed() {
    let world = ready();
    let options = FixOptions { confirm_within_s: Some(300), ..FixOptions::default() };
    world.fix(&["sched-autogroup"], true, &options);
    assert!(recover(&world.kernel, Path::new(JOURNAL)).unwrap().is_none(), "there is time left");
    world.kernel.now_s.set(2000);
    assert!(recover(&world.kernel, Path::new(JOURNAL)).unwrap().unwrap().is_complete());
    assert_eq!(world.text(STAT), "1\n");
    assert!(recover(&world.kernel, Path::new(JOURNAL)).unwrap().is_none(), "once");
}

#[test]
fn after_a_reboot_the_next_start_takes_unconfirmed_files_back() {
    let world = ready();
    let options = FixOptions { confirm_within_s: Some(300), ..FixOptions::default() };
    world.fix(&["sched-autogroup"], true, &options);
    *world.kernel.boot.borrow_mut() = "boot-2".into();
    recover(&world.kernel, Path::new(JOURNAL)).unwrap().unwrap();
    assert!(!world.at(OURS).exists());
}

#[test]
fn half_a_record_that_never_took_effect_is_reported() {
    let world = ready();
    world.fix(&["sched-autogroup"], false, &FixOptions::default());
    let path = world.at(JOURNAL).join("journal.copy");
    let mut text = std::fs::read(&path).unwrap();
    text.extend_from_slice(b"deadbeef {\"record\":\"sta");
    std::fs::write(&path, text).unwrap();
    let undone = world.undo();
    assert!(undone.covered[0].contains("never took effect"), "{undone:#?}");
    assert!(undone.is_complete());
    assert_eq!(world.text(STAT), "1\n");
    assert!(world.undo().covered.is_empty(), "the half is gone");
}

#[test]
fn links_are_not_followed() {
    let world = ready();
    std::fs::write(world.at("/etc/elsewhere"), "theirs\n").unwrap();
    std::os::unix::fs::symlink("/etc/elsewhere", world.at(OURS)).unwrap();
    let fixed = world.fix(&["sched-autogroup"], true, &FixOptions::default());
    assert!(fixed.rules[0].refused.iter().any(|why| why.contains("symbolic link")), "{fixed:#?}");
    assert_eq!(world.text("/etc/elsewhere"), "theirs\n");
    assert_eq!(world.text(STAT), "1\n", "the rule is done whole or not at all");
}

#[test]
fn folders_that_others_may_write_to_are_refused() {
    use std::os::unix::fs::PermissionsExt;
    let world = ready();
    std::fs::set_permissions(world.at("/etc/sysctl.d"), std::fs::Permissions::from_mode(0o777)).unwrap();
    let fixed = world.fix(&["sched-autogroup"], true, &FixOptions::default());
    assert!(fixed.rules[0].refused.iter().any(|why| why.contains("writable by others")), "{fixed:#?}");
    assert!(!world.at(OURS).exists());
}

#[test]
fn the_lockup_detectors_come_back_on_kernels_that_forget() {
    let mut world = World::new();
    for path in ["/proc/sys/kernel/watchdog", "/proc/sys/kernel/soft_watchdog"] {
        world.put(path, "1\n");
    }
    world.put("/proc/sys/kernel/nmi_watchdog", "0\n");
    world.kernel.detectors = Some(Cell::new(true));
    let off = Doing::Value { path: "/proc/sys/kernel/watchdog".into(), new: "0".into() };
    let rule = RulePlan {
        rule: "kconfig-lockup-detector".into(),
        severity: Severity::Medium,
        state: State::Warn,
        summary: String::new(),
        steps: vec![off],
        manual: Vec::new(),
        interrupts: None,
        risk: None,
        is_judged: false,
    };
    let plan = Plan { rules: vec![rule] };
    fix(world.rules, world.root.path(), &world.kernel, &plan, &FixOptions::default()).unwrap();
    assert_eq!(world.text("/proc/sys/kernel/watchdog"), "0\n");
    // Any read makes this fake kernel forget that the detector was enabled.
    world.kernel.read(Path::new("/proc/sys/kernel/soft_watchdog")).unwrap();
    assert!(world.undo().is_complete());
    assert_eq!(
        (world.text("/proc/sys/kernel/watchdog").as_str(), world.text("/proc/sys/kernel/soft_watchdog").as_str()),
        ("1\n", "1\n")
    );
}

#[test]
fn an_armed_watchdog_is_one_of_hardware() {
    let world = World::new();
    let sys = Real::under(world.root.path());
    let _ = std::fs::remove_dir_all(world.at("/sys/class/watchdog"));
    assert_eq!(punctual_fix::armed(&sys), None);
    world.put("/sys/class/watchdog/watchdog0/state", "active\n");
    world.put("/sys/class/watchdog/watchdog0/identity", "Software Watchdog\n");
    assert_eq!(punctual_fix::armed(&sys), None);
    world.put("/sys/class/watchdog/watchdog0/identity", "iTCO_wdt\n");
    assert_eq!(punctual_fix::armed(&sys).as_deref(), Some("iTCO_wdt (watchdog0)"));
    world.put("/sys/class/watchdog/watchdog0/state", "inactive\n");
    assert_eq!(punctual_fix::armed(&sys), None);
}

#[test]
fn a_program_that_writes_the_same_is_named() {
    let world = World::new();
    world.put("/proc/4321/comm", "tuned\n");
    assert_eq!(punctual_fix::writers(&world.kernel, STAT), ["tuned (pid 4321)"]);
    assert!(punctual_fix::writers(&world.kernel, "/sys/nothing/of/theirs").is_empty());
}

#[test]
fn interrupts_leave_isolated_cpus_and_come_back() {
    let world = World::new();
    world.put("/sys/devices/system/cpu/online", "0-1\n");
    world.put("/sys/devices/system/cpu/isolated", "1\n");
    let row = |irq: u32, device: &str| format!(" {irq}:       100          5   PCI-MSI {irq}-edge      {device}\n");
    world.put("/proc/interrupts", &format!("           CPU0       CPU1\n{}{}", row(24, "eth0"), row(25, "sda")));
    for (irq, asked) in [(24, "0-1\n"), (25, "0-1\n")] {
        world.put(&format!("/proc/irq/{irq}/smp_affinity_list"), asked);
        world.put(&format!("/proc/irq/{irq}/effective_affinity_list"), "1\n");
    }
    // The kernel refuses one of the files, which its driver manages.
    world.kernel.refusing.borrow_mut().insert("/proc/irq/25/smp_affinity_list".into(), 5);
    let before = tree(world.root.path());
    let fixed = world.fix(&["irq-effective-affinity"], false, &FixOptions::default());
    assert_eq!(world.text("/proc/irq/24/smp_affinity_list"), "0\n", "{fixed:#?}");
    assert!(fixed.rules[0].changes[0].contains("at its next occurrence"), "{fixed:#?}");
    assert_eq!(fixed.rules[0].refused.len(), 1);
    assert!(world.undo().is_complete());
    assert_eq!(difference(&before, world.root.path()), Vec::<String>::new());
}

#[test]
fn idle_states_are_forbidden_and_allowed_again() {
    let world = World::new();
    world.put("/sys/devices/system/cpu/online", "0\n");
    world.put("/sys/devices/system/cpu/isolated", "\n");
    world.put("/sys/devices/system/cpu/cpuidle/current_driver", "intel_idle\n");
    for (state, latency) in [(0, 0), (1, 2), (2, 120)] {
        let folder = format!("/sys/devices/system/cpu/cpu0/cpuidle/state{state}");
        world.put(&format!("{folder}/name"), &format!("C{state}\n"));
        world.put(&format!("{folder}/latency"), &format!("{latency}\n"));
        world.put(&format!("{folder}/disable"), "0\n");
    }
    let before = tree(world.root.path());
    let fixed = world.fix(&["cpu-idle-latency"], true, &FixOptions::default());
    let disable = |state: u32| world.text(&format!("/sys/devices/system/cpu/cpu0/cpuidle/state{state}/disable"));
    assert_eq!((disable(1).as_str(), disable(2).as_str()), ("0\n", "1\n"), "{fixed:#?}");
    let lines = world.text("/etc/tmpfiles.d/60-punctual-cpu-idle-latency.conf");
    assert!(lines.contains("w /sys/devices/system/cpu/cpu0/cpuidle/state2/disable - - - - 1"), "{lines}");
    assert!(world.undo().is_complete());
    assert_eq!(difference(&before, world.root.path()), Vec::<String>::new());
}

#[test]
fn a_timer_that_cannot_tell_the_boot_waits_and_does_not_give_up() {
    let world = ready();
    let options = FixOptions { confirm_within_s: Some(300), ..FixOptions::default() };
    let fixed = world.fix(&["sched-autogroup"], true, &options);
    // The boot ID cannot be read until the time is over, and for some time after that.
    world.kernel.bootless.set(200);
    let undone = guard(&world.kernel, Path::new(JOURNAL), fixed.set.unwrap()).unwrap().unwrap();
    assert!(undone.is_complete(), "{undone:#?}");
    assert_eq!(world.text(STAT), "1\n");
    assert!(world.kernel.now_s.get() > 1300);
}

#[test]
fn a_timer_that_never_can_tell_leaves_it_to_the_next_start() {
    let world = ready();
    let options = FixOptions { confirm_within_s: Some(300), ..FixOptions::default() };
    let fixed = world.fix(&["sched-autogroup"], true, &options);
    world.kernel.bootless.set(u32::MAX);
    assert!(guard(&world.kernel, Path::new(JOURNAL), fixed.set.unwrap()).is_err());
    assert!(recover(&world.kernel, Path::new(JOURNAL)).is_err(), "nor can the next start");
    assert_eq!(world.text(STAT), "0\n");
    world.kernel.bootless.set(0);
    assert!(recover(&world.kernel, Path::new(JOURNAL)).unwrap().unwrap().is_complete());
    assert_eq!(world.text(STAT), "1\n");
}

#[test]
fn a_fix_with_time_left_is_not_undone_where_the_boot_is_not_known() {
    let world = ready();
    let options = FixOptions { confirm_within_s: Some(300), ..FixOptions::default() };
    world.fix(&["sched-autogroup"], true, &options);
    world.kernel.bootless.set(1);
    assert!(recover(&world.kernel, Path::new(JOURNAL)).is_err());
    assert_eq!(world.text(STAT), "0\n");
    assert!(recover(&world.kernel, Path::new(JOURNAL)).unwrap().is_none(), "there is time left");
}
