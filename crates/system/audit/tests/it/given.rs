//! Machines of which only a few files are given: rules that need more are skipped and never pass.

use proptest::prelude::*;
use punctual_audit::{Context, Profile, Rules};
use punctual_machine::{Given, Kind, Listing, Machine, Read};
use punctual_model::{Finding, State};
use punctual_units::{CpuList, Priority, Scheduling};

struct Nothing;

impl Machine for Nothing {
    fn read(&self, _: &str) -> Read {
        Read::NotGiven
    }

    fn list(&self, _: &str) -> Listing {
        Listing::NotGiven
    }

    fn read_part(&self, _: &str, _: u64, _: usize) -> Read {
        Read::NotGiven
    }
}

fn context(profile: Profile, cpus: &str) -> Context {
    let scheduling = Scheduling::Fifo { priority: Priority::try_from(90).unwrap() };
    Context { scheduling, cpus: cpus.parse::<CpuList>().unwrap(), profile }
}

const RT: &str = include_str!("../configs/rt.config");
const STOCK: &str = include_str!("../configs/stock.config");

fn audit(files: &[(&str, &str)]) -> Vec<Finding> {
    let mut given = Given::new();
    for (name, text) in files {
        given.add(name, text.as_bytes(), None).unwrap();
    }
    Rules::embedded().audit(&given, &context(Profile::ControlLoop, ""))
}

#[track_caller]
fn expect(findings: &[Finding], states: &[(&str, State)]) {
    for (id, state) in states {
        let finding = findings.iter().find(|finding| finding.id == *id).unwrap();
        assert_eq!(finding.state, *state, "{id}: {}", finding.summary);
    }
}

#[test]
fn of_nothing_nothing_is_said() {
    let rules = Rules::embedded();
    let mut wrong = Vec::new();
    for (profile, _) in Profile::ALL {
        for cpus in ["", "0", "2-3"] {
            for finding in rules.audit(&Nothing, &context(profile, cpus)) {
                if finding.state != State::Skip {
                    wrong.push(format!("{profile} {cpus} {} {:?}: {}", finding.id, finding.state, finding.summary));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_configuration_decides_its_rules_and_no_other() {
    let findings = audit(&[("rt.config", RT)]);
    expect(
        &findings,
        &[
            ("kernel-preempt-rt", State::Pass),
            ("kconfig-lockdep", State::Pass),
            ("kconfig-rcu", State::Info),
            ("kconfig-hz", State::Info),
            ("cmdline-threadirqs", State::Skip),
            ("mem-swap", State::Skip),
            ("kconfig-high-res-timers", State::Skip),
            ("kernel-name-lies", State::Skip),
            ("virt-wsl", State::Skip),
        ],
    );
    assert!(findings.iter().all(|f| !matches!(f.state, State::Unknown | State::Blocked)));
    let skipped = findings.iter().find(|finding| finding.id == "mem-swap").unwrap();
    assert!(skipped.summary.contains("not in the given files: /proc/swaps"), "{}", skipped.summary);
    let stock = audit(&[("stock.config", STOCK)]);
    expect(
        &stock,
        &[("kernel-preempt-rt", State::Fail), ("kconfig-lockdep", State::Fail), ("kconfig-rcu", State::Skip)],
    );
}

#[test]
fn files_together_are_one_machine() {
    let both = |line| audit(&[("stock.config", STOCK), ("cmdline", line)]);
    let findings = both("ro quiet nohz_full=2-3");
    expect(
        &findings,
        &[
            ("kconfig-nohz-inert", State::Fail),
            ("kernel-preempt-dynamic", State::Fail),
            ("kconfig-high-res-timers", State::Pass),
            ("cmdline-threadirqs", State::Fail),
        ],
    );
    expect(
        &both("ro preempt=full threadirqs"),
        &[("kernel-preempt-dynamic", State::Pass), ("cmdline-threadirqs", State::Pass)],
    );
}

#[test]
fn lists_need_a_kernel_that_has_their_handlers() {
    let of = |config, line| audit(&[("c", config), ("cmdline", line)]);
    let flags = |state| [("cmdline-isolcpus-flags", state)];
    expect(&of("CONFIG_RISCV=y\nCONFIG_HZ=250\n", "ro isolcpus=1-2"), &flags(State::Unknown));
    expect(&of("CONFIG_ARM64_CRYPTO=y\nCONFIG_HZ=250\n", "ro isolcpus=1-2"), &flags(State::Pass));
    let alone = of("CONFIG_RISCV=y\n# CONFIG_SMP is not set\n", "ro isolcpus=1-2 skew_tick=1");
    expect(&alone, &flags(State::Fail));
    expect(&alone, &[("cmdline-skew-tick", State::Skip)]);
    let lists = "ro isolcpus=3 rcu_nocbs=3 irqaffinity=0";
    let small = of("CONFIG_ARM64=y\nCONFIG_NR_CPUS=2\n# CONFIG_RCU_NOCB_CPU is not set\n", lists);
    let conflicts = small.iter().find(|finding| finding.id == "cmdline-cpulist-consistency").unwrap();
    assert!(!conflicts.summary.contains("offloads"), "{}", conflicts.summary);
}

#[test]
fn names_of_options_show_which_parameters_exist() {
    let findings = audit(&[("c", "CONFIG_ARM64_CRYPTO=y\n"), ("cmdline", "ro idle=poll processor.max_cstate=1")]);
    let without = findings.iter().find(|finding| finding.id == "cmdline-unknown-params").unwrap();
    for name in ["idle", "processor.max_cstate"] {
        assert!(without.summary.contains(&format!("{name} is supported on")), "{}", without.summary);
    }
    assert!(without.evidence.iter().all(|evidence| !(evidence.source.contains("kmsg") && evidence.value == "none")));
}

#[test]
fn a_cut_configuration_leaves_open_what_it_cuts() {
    let cut = RT.replace("# Automatically generated file; DO NOT EDIT.\n", "");
    expect(&audit(&[("c", &cut)]), &[("kernel-preempt-rt", State::Pass), ("kconfig-lockdep", State::Unknown)]);
}

#[test]
fn sections_of_config_txt_need_the_board_where_they_matter() {
    let text = "dtparam=audio=on\n[pi4]\narm_freq=2000\n[all]\ndtoverlay=disable-bt\n";
    let findings = audit(&[("config.txt", text)]);
    // The clock is set for one board only, the display for no board.
    expect(&findings, &[("rpi-overclock", State::Skip), ("rpi-hdmi-gpu", State::Pass), ("rpi-model", State::Info)]);
    let model = ("model", "Raspberry Pi 4 Model B Rev 1.4\0");
    expect(&audit(&[("config.txt", text), model]), &[("rpi-overclock", State::Info)]);
    let model = ("model", "Raspberry Pi 5 Model B Rev 1.0\0");
    expect(&audit(&[("config.txt", text), model]), &[("rpi-overclock", State::Pass)]);
    let plain = text.replace("[pi4]", "[all]");
    // A Raspberry Pi 5 has a higher stock clock.
    expect(&audit(&[("config.txt", &plain)]), &[("rpi-overclock", State::Skip)]);
    expect(
        &audit(&[("config.txt", &plain), ("model", "Raspberry Pi 3 Model B Rev 1.2\0")]),
        &[("rpi-overclock", State::Info)],
    );
}

#[test]
fn lines_below_the_first_are_reported() {
    let lines = "root=/dev/sda1 ro isolcpus=2\nnohz_full=2\n";
    for (name, state, says) in [
        ("cmdline.txt", State::Warn, "`nohz_full=2` is below it"),
        ("cmdline-of-a-board", State::Info, "which loader reads this file is unknown"),
    ] {
        let findings = audit(&[(name, lines)]);
        let drift = findings.iter().find(|finding| finding.id == "cmdline-drift").unwrap();
        assert!(drift.state == state && drift.summary.contains(says), "{name}: {}", drift.summary);
    }
}

#[test]
fn a_long_line_is_cut_where_its_kernel_cuts_it() {
    let line = |length: usize| format!("ro {:x<width$} isolcpus=2", "a=", width = length);
    let of = |files: &[(&str, &str)], id: &str| {
        let findings = audit(files);
        let found = findings.iter().find(|finding| finding.id == id).unwrap();
        (found.state, found.summary.clone())
    };
    let long = line(2100);
    let (state, said) = of(&[("cmdline", &long)], "cmdline-length");
    assert!(state == State::Warn && said.contains("beyond 2047: ") && said.contains("isolcpus=2"), "{state:?} {said}");
    // On 64-bit Arm, the part beyond the limit is not judged.
    let (state, said) = of(&[("cmdline", &long), ("stock.config", STOCK)], "cmdline-length");
    assert!(state == State::Fail && said.contains("uses 2047") && said.contains("isolcpus=2"), "{state:?} {said}");
    let (state, _) = of(&[("cmdline", &long), ("stock.config", STOCK)], "cmdline-isolcpus-flags");
    assert_eq!(state, State::Skip);
    let (state, said) = of(&[("cmdline", &line(1500))], "cmdline-length");
    assert!(state == State::Warn && said.contains("32-bit Arm"), "{state:?} {said}");
}

#[test]
fn a_defconfig_is_judged_by_its_defaults() {
    let findings = audit(&[("rt_defconfig", "CONFIG_HZ_1000=y\nCONFIG_PREEMPT_RT=y\n")]);
    expect(
        &findings,
        &[("kconfig-lockdep", State::Pass), ("kconfig-debug-heavy", State::Pass), ("kconfig-hz", State::Info)],
    );
    let findings = audit(&[("part", "CONFIG_HZ_1000=y\nCONFIG_PREEMPT_RT=y\n")]);
    expect(&findings, &[("kconfig-lockdep", State::Unknown), ("kconfig-hz", State::Info)]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    /// Checks that on any complete configuration every rule has an answer other than UNKNOWN.
    #[test]
    fn whole_configurations_leave_nothing_open(
        options in proptest::collection::vec(("[A-Z]{2,8}|PREEMPT|PREEMPT_RT|PROVE_LOCKING|RCU_BOOST|ARM64", "y|m|100|n"), 0..12),
        line in "[a-z_=0-9,. -]{1,60}",
    ) {
        let mut text = "#\n# Automatically generated file; DO NOT EDIT.\n# Linux/x86 6.1.0 Kernel Configuration\n#\nCONFIG_HZ=250\n".to_owned();
        for (name, value) in options {
            match value.as_str() {
                "n" => text.push_str(&format!("# CONFIG_{name} is not set\n")),
                _ => text.push_str(&format!("CONFIG_{name}={value}\n")),
            }
        }
        text.push_str("# Kernel hacking\n# end of Kernel hacking\n");
        let mut given = Given::new();
        given.add("c", text.as_bytes(), None).unwrap();
        let _ = given.add("l", line.as_bytes(), Some(Kind::Cmdline));
        let findings = Rules::embedded().audit(&given, &context(Profile::ControlLoop, ""));
        let open: Vec<String> = findings
            .iter()
            .filter(|f| matches!(f.state, State::Unknown | State::Blocked))
            .map(|f| format!("{}: {}", f.id, f.summary))
            .collect();
        // A number in place of `y` or `n` determines nothing, and `...` stands for parameters that are not given.
        prop_assert!(open.is_empty() || line.contains("...") || text.contains("=100\n") || text.contains("=m\n"), "{open:?}");
    }
}

#[test]
fn a_part_of_a_log_tells_what_it_names_and_nothing_else() {
    let log = |lines: &str| {
        format!(
            "[    0.000000] Linux version 6.6.108-vyos (x) #1 SMP PREEMPT_DYNAMIC\n[    0.04] Kernel command line: ro boot=live isolcpus=2-3 nohz_full=2-3 rcu_nocbs=2-3\n{lines}"
        )
    };
    let unknown = "[    0.05] Unknown kernel command line parameters \"boot=live nohz_full=2-3 rcu_nocbs=2-3\", will be passed to user space.\n";
    let findings = audit(&[("dmesg", &log(unknown))]);
    expect(&findings, &[("cmdline-unknown-params", State::Fail), ("sched-latency-warn", State::Skip)]);
    let said = &findings.iter().find(|finding| finding.id == "cmdline-unknown-params").unwrap().summary;
    assert!(said.contains("nohz_full=2-3") && !said.contains("isolcpus"), "{said}");

    let known = "[    0.05] Unknown kernel command line parameters \"boot=live\", will be passed to user space.\n";
    expect(&audit(&[("dmesg", &log(known))]), &[("cmdline-unknown-params", State::Pass)]);
    // In a truncated or missing list, other words may be unknown.
    for line in ["[    0.05] Unknown kernel command line parameters \"boot=live nohz", ""] {
        expect(&audit(&[("dmesg", &log(line))]), &[("cmdline-unknown-params", State::Skip)]);
    }
    let throttled = "[   99.1] sched: RT throttling activated\n";
    expect(&audit(&[("dmesg", &log(throttled))]), &[("sched-latency-warn", State::Fail), ("log-rate", State::Skip)]);
}
