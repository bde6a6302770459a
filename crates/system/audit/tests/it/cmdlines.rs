//! Command lines as users write them: findings that need only the line, not a machine.

use punctual_audit::{Context, Profile, Rules};
use punctual_machine::{Given, Kind, Recorded};
use punctual_model::{Finding, State};
use punctual_units::{Priority, Scheduling};
use std::path::Path;

const CONFIG: &str = include_str!("../configs/stock.config");
const LINES: &str = include_str!("../configs/cmdlines.txt");

/// Options that the handlers of CPU lists need.
const LISTED: &str = "CONFIG_X86_64=y\nCONFIG_SMP=y\nCONFIG_NO_HZ_FULL=y\nCONFIG_RCU_NOCB_CPU=y\n";

fn context() -> Context {
    let scheduling = Scheduling::Fifo { priority: Priority::try_from(90).unwrap() };
    Context { scheduling, cpus: "".parse().unwrap(), profile: Profile::ControlLoop }
}

fn audit(line: &str) -> Vec<Finding> {
    audit_with("", line)
}

/// Audits a command line and a configuration; `more` are additional lines of the configuration.
fn audit_with(more: &str, line: &str) -> Vec<Finding> {
    let mut given = Given::new();
    given.add("config", format!("{CONFIG}{LISTED}{more}").as_bytes(), None).unwrap();
    given.add("line", line.as_bytes(), Some(Kind::Cmdline)).unwrap();
    Rules::embedded().audit(&given, &context())
}

fn of<'f>(findings: &'f [Finding], id: &str) -> &'f Finding {
    findings.iter().find(|finding| finding.id == id).unwrap()
}

#[track_caller]
fn expect(line: &str, wanted: &[(&str, State, &str)]) {
    let findings = audit(line);
    for (id, state, part) in wanted {
        let found = of(&findings, id);
        assert!(
            found.state == *state && found.summary.contains(part),
            "{line}\n{id}: {:?} {}",
            found.state,
            found.summary
        );
    }
}

fn named(name: &str) -> &'static str {
    let found = LINES.lines().filter_map(|line| line.split_once('|')).find(|(other, _)| *other == name);
    found.unwrap_or_else(|| panic!("{name}")).1
}

const FLAGS: &str = "cmdline-isolcpus-flags";
const LISTS: &str = "cmdline-cpulist-consistency";
const NAMES: &str = "cmdline-unknown-params";
const TWICE: &str = "cmdline-duplicates";

#[test]
fn nothing_is_concluded_from_what_a_line_leaves_out() {
    for line in ["... isolcpus=2-3 ...", "setenv bootargs <other params> isolcpus=2-3"] {
        for id in [TWICE, "cmdline-debug-leftovers", "cpu-idle-poll"] {
            expect(line, &[(id, State::Skip, "stand")]);
        }
    }
    expect("append = \"noapic acpi=off threadirqs\"", &[("cmdline-threadirqs", State::Pass, "threads")]);
}

#[test]
fn lists_that_the_kernel_refuses_do_not_pass() {
    for (line, part) in [
        ("ro isolcpus=2,3\u{201d}", "typographic"),
        ("ro isolcpus= 2,3", "names no CPU"),
        ("ro isolcpus=0xc", "mask"),
        ("ro isolcpus=domain,managed_irq", "names no CPU"),
        ("ro isolcpus=2-3,domain", "flags precede"),
    ] {
        expect(line, &[(FLAGS, State::Fail, part), (LISTS, State::Fail, part)]);
    }
    for name in ["curly", "typo3", "mask", "order", "onlyflags", "rev"] {
        expect(named(name), &[(FLAGS, State::Fail, "")]);
    }
    expect(named("flagtypo"), &[(FLAGS, State::Warn, "still isolated from load balancing: CPU 2-3")]);
}

#[test]
fn lists_that_disagree_need_no_machine() {
    for (name, part) in [
        ("seapath", "irqaffinity has CPU 4-15"),
        ("pi2", "nohz_full has CPU 1"),
        ("mismatch", "rcu_nocbs has CPU 1, which isolcpus does not isolate"),
        ("mask", "irqaffinity=0x3"),
    ] {
        expect(named(name), &[(LISTS, State::Fail, part)]);
    }
    expect(named("ttime"), &[(LISTS, State::Fail, "CPU 0 is in nohz_full=")]);
    expect(
        "ro isolcpus=2,3 nohz_full=2,3 rcu_nocbs=1,2 irqaffinity=0-3",
        &[(LISTS, State::Fail, "irqaffinity has CPU 2-3")],
    );
    // It is unknown whether the machine has these CPUs.
    expect(named("ecimin"), &[(LISTS, State::Fail, "nohz=off")]);
    for name in ["huge", "stride", "franka", "igc", "jetson", "systemd", "qcom"] {
        expect(named(name), &[(LISTS, State::Skip, "")]);
    }
}

#[test]
fn near_misses_are_told_from_the_line() {
    for (name, part) in [
        ("typo1", "isocpus=2,3"),
        ("typo1", "rcu_nocb=2,3"),
        ("typo1", "irq_affinity=0,1"),
        ("typo2", "thredirqs"),
        ("typo2", "intel_idle.max_cstates"),
        ("ecireal", "pcie_asmp=off"),
        ("ecireal", "intel.max_cstate"),
        ("ttime", "dis_ucode_dlr"),
        ("curly0", "typographic"),
        ("dash", "goes to init"),
        ("preempt", "`preempt=rt` is not among"),
    ] {
        expect(named(name), &[(NAMES, State::Fail, part)]);
    }
    let wrong = ["preempt", "dash", "typo1", "typo2", "typo3", "curly", "curly0", "ecireal", "ttime"];
    for (name, line) in LINES.lines().filter_map(|line| line.split_once('|')).filter(|(name, _)| !wrong.contains(name))
    {
        let found = audit(line);
        let found = of(&found, NAMES);
        assert_ne!(found.state, State::Fail, "{name}: {}", found.summary);
    }
}

#[test]
fn characters_of_web_pages_are_reported() {
    expect(
        "ro isolcpus=2\u{2013}3",
        &[(NAMES, State::Fail, "typographic dash"), (FLAGS, State::Fail, "typographic dash")],
    );
    expect("ro isolcpus=2\u{a0}quiet", &[(NAMES, State::Fail, "no-break space follows `isolcpus=2`")]);
}

#[test]
fn what_may_repeat_is_no_duplicate() {
    for name in ["oran", "suse", "pik3s", "tsctwice", "systemd", "acpiosi", "jetson", "pi1", "oai"] {
        expect(named(name), &[(TWICE, State::Pass, "")]);
    }
    expect("ro isolcpus=2 isolcpus=3", &[(TWICE, State::Warn, "isolcpus=2 isolcpus=3")]);
    expect("ro isolcpus=domain,2-3 isolcpus=managed_irq,2-3", &[(TWICE, State::Pass, "")]);
}

#[test]
fn words_that_switch_off_are_no_leftovers() {
    expect("ro kasan=off slub_debug=- page_poison=0", &[("cmdline-debug-leftovers", State::Pass, "")]);
    expect(named("qcom"), &[("cmdline-debug-leftovers", State::Pass, "")]);
}

#[test]
fn a_level_on_the_line_decides_about_its_console() {
    let id = "cmdline-quiet-console";
    for console in ["ttymxc0,115200", "serial0,115200", "ttyTCU0", "hvc0"] {
        let line = format!("console={console} root=/dev/mmcblk0p2 rootwait loglevel=8");
        expect(&line, &[(id, State::Warn, console.split(',').next().unwrap())]);
    }
    expect("console=ttyPS0 quiet", &[(id, State::Pass, "ttyPS0")]);
    expect("console=ttyPS0 ro", &[(id, State::Skip, "")]);
    expect("ro quiet", &[(id, State::Pass, "no serial console")]);
    expect("console=ttyPS0 loglevel=high quiet", &[(id, State::Pass, "level 4")]);
    let built = "CONFIG_CONSOLE_LOGLEVEL_DEFAULT=7\nCONFIG_CONSOLE_LOGLEVEL_QUIET=3\n";
    for (line, part) in [("console=ttyPS0 ro", "level 7"), ("console=ttyPS0 quiet", "level 3")] {
        let findings = audit_with(built, line);
        assert!(of(&findings, id).summary.contains(part), "{line}: {}", of(&findings, id).summary);
    }
}

#[test]
fn the_line_and_the_build_decide_about_grace_periods() {
    let id = "cmdline-rcu-mode";
    expect("ro rcupdate.rcu_expedited=1", &[(id, State::Fail, "requests expedited")]);
    expect("ro rcupdate.rcu_expedited=1 rcupdate.rcu_normal_after_boot=1", &[(id, State::Pass, "normal")]);
    expect("ro", &[(id, State::Info, "callers may expedite")]);
    let rt = audit_with("CONFIG_PREEMPT_RT=y\n", "ro rcupdate.rcu_expedited=1");
    assert_eq!(of(&rt, id).state, State::Pass, "{}", of(&rt, id).summary);
}

#[test]
fn words_of_other_kernels_need_no_log() {
    expect("ro kthread_cpus=0,1", &[(NAMES, State::Warn, "not in mainline")]);
    expect("ro sched_rt_runtime_us=-1", &[(NAMES, State::Warn, "sysctl.kernel.sched_rt_runtime_us=")]);
    expect("ro force_turbo=1", &[(NAMES, State::Fail, "config.txt")]);
    expect("ro nosoftlockups", &[(NAMES, State::Skip, "")]);
    // Linux 6.1.
    expect("ro preempt=lazy", &[(NAMES, State::Fail, "since Linux 6.13"), ("kernel-preempt-dynamic", State::Fail, "")]);
    expect("ro isocpus=2", &[(NAMES, State::Fail, "not a parameter of Linux 6.1; isolcpus is")]);
    expect("ro sched_debug", &[(NAMES, State::Warn, "no longer in 5.15")]);
    expect("ro sched_verbose", &[(NAMES, State::Skip, "")]);
}

#[test]
fn the_line_decides_about_clocks_and_idle() {
    expect(named("hz"), &[("clk-source", State::Fail, "clocksource=hpet")]);
    expect(named("ocp"), &[("cpu-idle-poll", State::Warn, "idle=poll")]);
}

#[test]
fn an_old_log_tells_nothing() {
    let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/logs");
    let look = |name: &str| {
        let machine = Recorded::open(&base.join(name)).unwrap();
        let findings = Rules::embedded().audit(&machine, &context());
        let found = of(&findings, NAMES);
        (found.state, found.summary.clone())
    };
    let (state, said) = look("unknown-5.10");
    assert!(state == State::Warn && said.contains("kthread_cpus") && said.contains("5.12"), "{state:?} {said}");
    let (state, said) = look("typo-root");
    assert!(state == State::Fail && said.contains("isolcpus=2,3"), "{state:?} {said}");
}

/// Checks that small configurations of other releases give the findings that apply to those releases.
#[test]
fn configurations_of_other_releases_are_judged_as_theirs() {
    for (text, line, id, state, part) in [
        (include_str!("../configs/cut-4.19.config"), "ro", "kconfig-lockdep", State::Unknown, ""),
        (
            include_str!("../configs/lockup-before-4.13.config"),
            "ro",
            "kconfig-lockup-detector",
            State::Warn,
            "LOCKUP_DETECTOR",
        ),
        (include_str!("../configs/old-voluntary-rtgroup.config"), "ro", "kconfig-rt-group-sched", State::Warn, ""),
        (include_str!("../configs/spinlock-debug.config"), "ro", "kconfig-lockdep", State::Fail, "DEBUG_SPINLOCK"),
    ] {
        let mut given = Given::new();
        given.add("config", text.as_bytes(), None).unwrap();
        given.add("line", line.as_bytes(), Some(Kind::Cmdline)).unwrap();
        let findings = Rules::embedded().audit(&given, &context());
        let found = of(&findings, id);
        assert!(found.state == state && found.summary.contains(part), "{id}: {:?} {}", found.state, found.summary);
    }
}

#[test]
fn the_last_cpu_has_no_number_where_the_machine_is_not_known() {
    expect("ro isolcpus=domain,4-N", &[(FLAGS, State::Pass, "isolates CPU 4-N from load balancing")]);
    // Correct on a machine with four CPUs, wrong with more.
    expect("ro isolcpus=2-3 nohz_full=2-N", &[(LISTS, State::Skip, "possible")]);
    expect("ro isolcpus=2-N irqaffinity=0-N", &[(LISTS, State::Fail, "irqaffinity has CPU 2-N, which is isolated")]);
    expect("ro isolcpus=2-3 nohz_full=all", &[(LISTS, State::Fail, "nohz_full has CPU")]);
    expect("ro isolcpus=1 irqaffinity=0,16-", &[(LISTS, State::Fail, "interrupts go to CPU 0 and the boot CPU")]);
    expect("ro rcu_nocbs=4-N", &[("rcu-nocb-poll", State::Info, "")]);
    let line = "ro isolcpus=2-N isolcpus=1";
    expect(line, &[(LISTS, State::Fail, "`isolcpus=1` is ignored: the kernel uses the earlier `isolcpus=2-N`")]);
}

/// The values of a boot script's variables are unknown, and so is everything that depends on them.
#[test]
fn variables_of_boot_scripts_are_no_values() {
    let line = |words: &str| format!("setenv bootargs \"root=${{rootdev}} rootwait {words}\"\n");
    for (words, id, state) in [
        ("console=ttyS0,115200 loglevel=${verbosity}", NAMES, State::Skip),
        ("console=ttyS0,115200 loglevel=${verbosity}", "cmdline-quiet-console", State::Skip),
        ("${consoleargs}", "cmdline-quiet-console", State::Skip),
        ("console=ttyS0,115200 loglevel=7", "cmdline-quiet-console", State::Warn),
        ("isolcpus=${cpus}", FLAGS, State::Skip),
        ("isolcpus=${cpus}", LISTS, State::Skip),
        ("${extraargs} isolcpus=2", FLAGS, State::Pass),
        ("${extraargs}", "cmdline-length", State::Pass),
        (&format!("{} ${{extraargs}}", "a=1 ".repeat(150)), "cmdline-length", State::Skip),
    ] {
        let findings = audit(&line(words));
        assert_eq!(of(&findings, id).state, state, "{words} {id}: {}", of(&findings, id).summary);
    }
}

#[test]
fn old_kernels_lack_what_later_ones_know() {
    let audit = |release: &str, line: &str| {
        let mut given = Given::new();
        let config = format!(
            "#\n# Automatically generated file; DO NOT EDIT.\n# Linux/x86 {release} Kernel Configuration\n#\nCONFIG_X86_64=y\nCONFIG_HZ=250\n# CONFIG_PREEMPT_RT is not set\n"
        );
        given.add("config", config.as_bytes(), None).unwrap();
        given.add("line", line.as_bytes(), Some(Kind::Cmdline)).unwrap();
        Rules::embedded().audit(&given, &context())
    };
    for (release, line, id, state) in [
        ("4.19.13", "ro mitigations=off", "cmdline-mitigations", State::Info),
        ("4.19.13", "ro mitigations=off", NAMES, State::Warn),
        ("4.19.71", "ro mitigations=off", "cmdline-mitigations", State::Warn),
        ("3.4.113", "ro rcupdate.rcu_expedited=1", "cmdline-rcu-mode", State::Info),
        ("3.10.28", "ro rcupdate.rcu_expedited=1", "cmdline-rcu-mode", State::Fail),
        ("3.4.113", "ro skew_tick=1", "cmdline-skew-tick", State::Info),
        ("4.4.1", "ro isolcpus=X-Y", FLAGS, State::Fail),
    ] {
        let findings = audit(release, line);
        assert_eq!(of(&findings, id).state, state, "{release} {line} {id}: {}", of(&findings, id).summary);
    }
}

#[test]
fn a_line_without_parameters_of_tuning_needs_no_release() {
    let of_line = |line: &str| {
        let mut given = Given::new();
        given.add("config", b"CONFIG_CPU_ISOLATION=y\n# CONFIG_NO_HZ_FULL is not set\n", None).unwrap();
        given.add("line", line.as_bytes(), Some(Kind::Cmdline)).unwrap();
        of(&Rules::embedded().audit(&given, &context()), NAMES).state
    };
    assert_eq!(of_line("root=/dev/sda2 rootwait loglevel=1"), State::Pass);
    assert_eq!(of_line("root=/dev/sda2 isolcpus=2,3"), State::Pass);
    assert_eq!(of_line("root=/dev/sda2 workqueue.unbound_cpus=0-1"), State::Skip);
}

/// Findings say what to do, and the advice can be followed on this kernel.
#[test]
fn fixes_are_possible_on_this_kernel() {
    let fix = |more: &str, line: &str, id: &str| of(&audit_with(more, line), id).fix.clone().unwrap_or_default();
    for (more, has, lacks) in [
        ("CONFIG_DEBUG_SPINLOCK=y\n# CONFIG_PROVE_LOCKING is not set\n", "boot a kernel without", "sysctl"),
        ("CONFIG_PROVE_LOCKING=y\n", "kernel.prove_locking=0", "lock_stat"),
        ("CONFIG_LOCK_STAT=y\n# CONFIG_PROVE_LOCKING is not set\n", "kernel.lock_stat=0", "prove_locking"),
    ] {
        let said = fix(more, "ro", "kconfig-lockdep");
        assert!(said.contains(has) && !said.contains(lacks), "{more}{said}");
    }
    for line in ["ro isolcpus=0xc", "ro isolcpus=2-3,domain"] {
        let said = fix("", line, FLAGS);
        assert!(said.contains("correct isolcpus=") && !said.contains("partition"), "{line}: {said}");
    }
}
