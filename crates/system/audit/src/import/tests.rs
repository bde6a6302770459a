use super::*;
use crate::{Context, Rules};
use proptest::prelude::*;
use punctual_machine::{Read, Recorded};
use punctual_model::{Finding, State};
use punctual_units::{Priority, Scheduling};

fn today() -> Today {
    Today::try_from("2026-11-21".to_owned()).unwrap()
}

fn nearby(reference: Reference) -> Option<Referred> {
    let (name, text) = match reference {
        Reference::Profile("latency") => (
            "latency/tuned.conf",
            "[main]\nsummary=x\n[sysctl]\nvm.swappiness=10\nvm.stat_interval=10\n[cpu]\ngovernor=performance\n",
        ),
        Reference::Profile("self") => ("self/tuned.conf", "[main]\ninclude=self other\n"),
        Reference::Profile("wrong") => ("wrong/tuned.conf", "word\n"),
        Reference::File("/etc/tuned/v.conf") => ("v.conf", "isolated_cores=2-3\nisolate_managed_irq=Y\n"),
        _ => return None,
    };
    Some(Referred { name: name.to_owned(), text: text.to_owned() })
}

fn adopt(name: &str, text: &str) -> (Rules, Profile, Vec<String>) {
    let mut rules = Rules::load();
    let (profile, notes) = rules.adopt(name, text, today(), &nearby).unwrap();
    (rules, profile, notes)
}

fn error(name: &str, text: &str) -> String {
    Rules::load().adopt(name, text, today(), &nearby).unwrap_err().to_string()
}

const REALTIME: &str = include_str!("../../tests/profiles/realtime.conf");
const RT_CONF: &str = include_str!("../../tests/profiles/rt-conf.yaml");

fn machine(files: &[(&str, &str)]) -> Recorded {
    let mut machine = Recorded::default();
    files.iter().for_each(|(path, text)| machine.set(path, Read::Known(text.as_bytes().to_vec())));
    machine
}

fn judge(rules: &Rules, id: &str, files: &[(&str, &str)]) -> Finding {
    let scheduling = Scheduling::Fifo { priority: Priority::try_from(90).unwrap() };
    let context = Context { scheduling, cpus: "2-3".parse().unwrap(), profile: Profile::DedicatedCore };
    rules.audit_one(id, &machine(files), &context, crate::Offers::default()).unwrap_or_else(|| panic!("no rule {id}"))
}

#[track_caller]
fn expect(rules: &Rules, id: &str, path: &str, text: &str, state: State) {
    let finding = judge(rules, id, &[(path, text)]);
    assert_eq!(finding.state, state, "{id}: {}", finding.summary);
}

#[test]
fn formats_are_told_apart() {
    for (name, text, wanted) in [
        ("x", "extends = \"busy-poll\"\n", Format::Own),
        ("x.toml", "", Format::Own),
        ("tuned.conf", "[main]\n", Format::Tuned),
        ("x", "# c\n[sysctl]\na=1\n", Format::Tuned),
        ("x.yaml", "a: 1\n", Format::RtConf),
        ("x", "irq-tuning:\n", Format::RtConf),
        ("x", "kernel_cmdline:\n", Format::RtConf),
        ("x", "[severity]\n", Format::Own),
    ] {
        assert_eq!(format(name, text), wanted, "{name} {text}");
    }
}

#[test]
fn a_tuned_profile_becomes_rules() {
    let (rules, profile, notes) = adopt("realtime/tuned.conf", REALTIME);
    assert_eq!(profile, Profile::DedicatedCore);
    let ids: Vec<&str> = rules.iter().map(|rule| rule.id.as_str()).filter(|id| id.starts_with("tuned-")).collect();
    for id in [
        "tuned-sysctl-kernel.sched_rt_runtime_us",
        "tuned-sysctl-vm.swappiness",
        "tuned-cmdline-isolcpus",
        "tuned-cmdline-nosoftlockup",
        "tuned-governor",
        "tuned-thp",
        "tuned-cpu-force_latency",
        "tuned-not-checked",
    ] {
        assert!(ids.contains(&id), "{id}: {ids:?}");
    }
    for part in ["cpulist_invert", "[script]", "no-such-profile", "[irqbalance]", "latency_low"] {
        assert!(notes.iter().any(|note| note.contains(part)), "{part}: {notes:#?}");
    }
}

#[test]
fn dropped_options_are_not_checked() {
    let base = "[sysctl]\nkernel.numa_balancing=0\nnet.core.busy_read=50\n";
    let lookup = |reference: Reference| match reference {
        Reference::Profile("base") => Some(Referred { name: "base/tuned.conf".to_owned(), text: base.to_owned() }),
        Reference::OnlineCpus => Some(Referred { name: "online".to_owned(), text: "0-3\n".to_owned() }),
        _ => None,
    };
    let text = "[main]\ninclude=base\n[sysctl]\ndrop=net.core.busy_read\n[cpu]\nenergy_perf_bias=performance\n\
        [bootloader]\ncmdline_a=irqaffinity=${f:cpulist_invert:2-3}\n";
    let mut rules = Rules::load();
    let (_, notes) = rules.adopt("rt/tuned.conf", text, today(), &lookup).unwrap();
    let ids: Vec<&str> = rules.iter().map(|rule| rule.id.as_str()).filter(|id| id.starts_with("tuned-")).collect();
    assert!(ids.contains(&"tuned-sysctl-kernel.numa_balancing"), "{ids:?}");
    assert!(!ids.iter().any(|id| id.contains("drop") || id.contains("busy_read")), "{ids:?}");
    assert!(notes.is_empty(), "{notes:?}");
    expect(&rules, "tuned-cmdline-irqaffinity", "/proc/cmdline", "ro irqaffinity=0-1", State::Pass);
    let there = "/sys/devices/system/cpu/cpu0/online";
    expect(&rules, "tuned-cpu-energy_perf_bias", there, "1\n", State::Skip);
}

#[test]
fn wishes_are_checked_on_the_machine() {
    let (rules, ..) = adopt("realtime/tuned.conf", REALTIME);
    let (id, path) = ("tuned-sysctl-kernel.sched_rt_runtime_us", "/proc/sys/kernel/sched_rt_runtime_us");
    expect(&rules, id, path, "-1\n", State::Pass);
    expect(&rules, id, path, "950000\n", State::Fail);
    expect(&rules, id, "/x", "", State::Warn);
    expect(&rules, "tuned-sysctl-vm.swappiness", "/proc/sys/vm/swappiness", "1\n", State::Pass);
    expect(&rules, "tuned-sysctl-vm.stat_interval", "/proc/sys/vm/stat_interval", "1\n", State::Fail);
    let (id, path) = ("tuned-cmdline-isolcpus", "/proc/cmdline");
    expect(&rules, id, path, "ro isolcpus=managed_irq,domain,2-3", State::Pass);
    expect(&rules, id, path, "ro isolcpus=managed_irq,domain,2,3", State::Pass);
    expect(&rules, id, path, "ro isolcpus=2-3", State::Fail);
    expect(&rules, id, path, "ro", State::Fail);
    expect(&rules, id, "/x", "", State::Unknown);
    let (id, path) = ("tuned-thp", "/sys/kernel/mm/transparent_hugepage/enabled");
    expect(&rules, id, path, "always madvise [never]\n", State::Pass);
    expect(&rules, id, path, "always [madvise] never\n", State::Fail);
    let (id, path) = ("tuned-sysctl-net.ipv4.tcp_rmem", "/proc/sys/net/ipv4/tcp_rmem");
    expect(&rules, id, path, "4096\t131072\t16777216\n", State::Pass);
    expect(&rules, id, path, "4096\t1\t2\n", State::Fail);
    let (id, path) = ("tuned-sysctl-kernel.pid_max", "/proc/sys/kernel/pid_max");
    expect(&rules, id, path, "4194304\n", State::Pass);
    expect(&rules, id, path, "100\n", State::Fail);
    let (id, path) = ("tuned-sysfs-sys-devices-virtual-workqueue-cpumask", "/sys/devices/virtual/workqueue/cpumask");
    expect(&rules, id, path, "3\n", State::Pass);
    expect(&rules, id, path, "0000000f\n", State::Fail);
    let failed = judge(&rules, "tuned-sysctl-vm.stat_interval", &[("/proc/sys/vm/stat_interval", "1\n")]);
    assert_eq!(failed.fix.as_deref(), Some("sudo sysctl -w vm.stat_interval=10"));
    assert!(failed.why.contains("latency/tuned.conf, line 5"), "{}", failed.why);
}

#[test]
fn governors_are_those_of_every_policy() {
    let (rules, ..) = adopt("realtime/tuned.conf", REALTIME);
    let policy = |n: u32| format!("/sys/devices/system/cpu/cpufreq/policy{n}/scaling_governor");
    let (first, second) = (policy(0), policy(1));
    let state = |a: &str, b: &str| judge(&rules, "tuned-governor", &[(&first, a), (&second, b)]).state;
    assert_eq!(state("performance\n", "performance\n"), State::Pass);
    assert_eq!(state("performance\n", "schedutil\n"), State::Fail);
    assert_eq!(judge(&rules, "tuned-governor", &[("/sys/devices/system/cpu/online", "0-1")]).state, State::Skip);
}

#[test]
fn an_rt_conf_file_becomes_rules() {
    let (rules, profile, notes) = adopt("config.yaml", RT_CONF);
    assert_eq!(profile, Profile::DedicatedCore);
    expect(&rules, "rt-conf-cmdline-isolcpus", "/proc/cmdline", "isolcpus=2-3", State::Pass);
    expect(&rules, "rt-conf-cmdline-nohz", "/proc/cmdline", "nohz=off", State::Fail);
    let cpu = |n: u32, file: &str| format!("/sys/devices/system/cpu/cpu{n}/cpufreq/{file}");
    let files = [(cpu(0, "scaling_governor"), "performance\n"), (cpu(1, "scaling_governor"), "powersave\n")];
    let policy = ("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "performance\n");
    let mut all: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    all.push(policy);
    assert_eq!(judge(&rules, "rt-conf-governor-kernel-cores", &all).state, State::Fail);
    all[1].1 = "performance\n";
    assert_eq!(judge(&rules, "rt-conf-governor-kernel-cores", &all).state, State::Pass);
    assert!(notes.iter().any(|note| note.contains("last CPU")), "{notes:?}");
    assert!(rules.get("rt-conf-min-freq-kernel-cores").is_some());
}

#[test]
fn interrupts_are_chosen_by_what_they_are() {
    let (rules, ..) = adopt("config.yaml", RT_CONF);
    let mut files = vec![
        ("/proc/irq/40/smp_affinity_list", "2-3\n"),
        ("/sys/kernel/irq/40/actions", "iwlwifi:queue_1\n"),
        ("/sys/kernel/irq/40/type", "edge\n"),
        ("/proc/irq/41/smp_affinity_list", "0-3\n"),
        ("/sys/kernel/irq/41/actions", "nvme0q0\n"),
        ("/sys/kernel/irq/41/type", "edge\n"),
    ];
    let id = "rt-conf-irq-my-wireless";
    assert_eq!(judge(&rules, id, &files).state, State::Pass);
    files[0].1 = "0-3\n";
    let failed = judge(&rules, id, &files);
    assert_eq!(failed.state, State::Fail);
    assert!(failed.summary.contains("IRQ 40 0-1"), "{}", failed.summary);
    files[1].1 = "other\n";
    assert_eq!(judge(&rules, id, &files).state, State::Warn);
    assert_eq!(judge(&rules, id, &[]).state, State::Unknown);
}

#[test]
fn older_keys_of_rt_conf_are_read() {
    let text = "kernel_cmdline:\n  isolcpus: \"2-3\"\nirq_tunning:\n  - cpus: \"0\"\n    filter:\n      chip_name: \"IR.*\"\n\
                cpu_governance:\n  - cpus: 0-1\n    scaling_governor: performance\n";
    let (rules, ..) = adopt("x", text);
    for id in ["rt-conf-cmdline-isolcpus", "rt-conf-irq-1", "rt-conf-governor-1"] {
        assert!(rules.get(id).is_some(), "{id}");
    }
}

#[test]
fn mistakes_are_named_with_line_and_column() {
    for (name, text, at, part) in [
        ("t.conf", "[main]\nword\n", "t.conf:2:1", "neither"),
        ("t.conf", "[main]\ninclude=wrong\n", "wrong/tuned.conf:1:1", "neither"),
        ("c.yaml", "kernel-cmdline: 3\n", "c.yaml:1:17", "mapping"),
        ("c.yaml", "kernel-cmdline:\n  parameters: a=1\n", "c.yaml:2:15", "list"),
        ("c.yaml", "irq-tuning:\n  x:\n    cpus: \"3-1\"\n", "c.yaml:3:11", "CPU list"),
        ("c.yaml", "irq-tuning:\n  x:\n    cpus: \"1\"\n    filter:\n      actions: \"(\"\n", "c.yaml:5:16", "regular"),
        ("c.yaml", "irq-tuning:\n  x:\n    filter: ~\n", "c.yaml:3:5", "cpus is missing"),
        ("c.yaml", "cpu-governance:\n  x:\n    cpus: 0\n    min-freq: fast\n", "c.yaml:4:15", "frequency"),
        ("c.yaml", "a: [\n", "c.yaml:", ""),
        ("my.toml", "extends = \"nothing\"\n", "my.toml:1:11", "nothing"),
    ] {
        let said = error(name, text);
        assert!(said.starts_with(at) && said.contains(part), "{text}: {said}");
    }
    assert!(error("x", &" ".repeat(LARGEST + 1)).contains("1 MiB"));
}

#[test]
fn profiles_that_include_themselves_end() {
    let (_, _, notes) = adopt("self/tuned.conf", "[main]\ninclude=self\n[sysctl]\na.b=1\n");
    assert!(notes.iter().any(|note| note.contains("include = other")), "{notes:?}");
}

#[test]
fn what_a_profile_holds_cannot_reach_beyond_settings() {
    let text = "[sysfs]\n/etc/shadow = 1\n/sys/../etc/shadow = 1\n[sysctl]\n../../etc/x = 1\nkernel.x = $(reboot)\n";
    let (rules, _, notes) = adopt("t.conf", text);
    assert_eq!(notes.len(), 3, "{notes:?}");
    let failed = judge(&rules, "tuned-sysctl-kernel.x", &[("/proc/sys/kernel/x", "2\n")]);
    assert_eq!(failed.state, State::Fail);
    assert!(!failed.fix.unwrap().starts_with("sudo"));
}

proptest! {
    #[test]
    fn any_text_is_answered(
        name in "(t.conf|c.yaml|x)",
        text in "(\\[main\\]\n|\\[sysctl\\]\n|\\[cpu\\]\n|\\[bootloader\\]\n|irq-tuning:\n|[ a-z./=:${}\"-]{0,20}\n|cmdline_x=.{0,20}\n){0,8}",
    ) {
        let mut rules = Rules::load();
        if let Ok((profile, _)) = rules.adopt(&name, &text, today(), &nearby) {
            let scheduling = Scheduling::Fifo { priority: Priority::try_from(90).unwrap() };
            let context = Context { scheduling, cpus: "0".parse().unwrap(), profile };
            let findings = rules.audit(&machine(&[("/proc/cmdline", "ro")]), &context);
            prop_assert!(findings.iter().filter(|f| f.id.starts_with("tuned-") || f.id.starts_with("rt-")).all(|f| f.state != State::Pass || !f.evidence.is_empty()));
        }
    }
}
