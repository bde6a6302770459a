//! Rules on recorded machines with single files changed.

use punctual_audit::{Context, Profile, RuleError, Rules, audit};
use punctual_machine::{Read, Recorded};
use punctual_model::{Finding, Severity, State};
use punctual_units::Scheduling;
use std::path::Path;

fn recorded(name: &str) -> Recorded {
    Recorded::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../machines").join(name)).unwrap()
}

const SERVER: &str = "debian-rt-6.12-server";
const LAPTOP: &str = "laptop-smt-6.8";
const GUEST: &str = "guest-firecracker-6.18";
const PC: &str = "industrial-pc-rt-6.1";
const PI: &str = "raspberry-pi-4-rt-5.4";
const CONTAINER: &str = "container-user-6.8";

const CPU: &str = "/sys/devices/system/cpu";
const CLOCK: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
const RUNTIME: &str = "/proc/sys/kernel/sched_rt_runtime_us";

/// `Ok` is a file's new content, `Err` the result of reading it.
type Change<'a> = (&'a str, Result<&'a str, Read>);

struct Setting {
    profile: Profile,
    cpus: &'static str,
    scheduling: &'static str,
}

const LOOP: Setting =
    Setting { profile: Profile::ControlLoop, cpus: "0-1", scheduling: r#"{"policy":"fifo","priority":90}"# };
const CORE: Setting = Setting { profile: Profile::DedicatedCore, ..LOOP };

fn find(base: &str, setting: &Setting, changes: &[Change], id: &str) -> Finding {
    let mut machine = recorded(base);
    for (path, change) in changes {
        let read = change.clone().map_or_else(|read| read, |text| Read::Known(text.as_bytes().to_vec()));
        machine.set(path, read);
    }
    let scheduling: Scheduling = serde_json::from_str(setting.scheduling).unwrap();
    let context = Context { scheduling, cpus: setting.cpus.parse().unwrap(), profile: setting.profile };
    audit(&machine, &context).into_iter().find(|f| f.id == id).unwrap()
}

#[track_caller]
fn expect(base: &str, setting: &Setting, changes: &[Change], id: &str, state: State) -> Finding {
    let finding = find(base, setting, changes, id);
    assert_eq!(finding.state, state, "{id} on {base}: {finding:#?}");
    finding
}

#[test]
fn kernel_preempt_rt() {
    let id = "kernel-preempt-rt";
    let version = "/proc/sys/kernel/version";
    let config = "/boot/config-6.12.48+deb13-rt-amd64";
    expect(SERVER, &LOOP, &[], id, State::Pass);
    expect(SERVER, &LOOP, &[(version, Ok("#1 SMP PREEMPT RT Debian 4.19.1"))], id, State::Pass);
    expect(SERVER, &LOOP, &[(config, Err(Read::Absent))], id, State::Pass);
    expect(
        SERVER,
        &LOOP,
        &[(config, Ok("# CONFIG_PREEMPT_RT is not set\n# CONFIG_PREEMPT_RT_FULL is not set\n"))],
        id,
        State::Warn,
    );
    // This machine's release ends in -rt-amd64, which proves nothing.
    let failed = expect(SERVER, &LOOP, &[(version, Ok("#1 SMP PREEMPT_DYNAMIC"))], id, State::Fail);
    assert_eq!(failed.severity, Severity::Fatal);
    assert!(failed.fix.is_some_and(|fix| fix.contains("linux-image-rt-amd64")));
    expect(SERVER, &LOOP, &[(version, Err(Read::Denied))], id, State::Blocked);
    expect(SERVER, &LOOP, &[(version, Err(Read::Failed(5)))], id, State::Unknown);
    expect(SERVER, &LOOP, &[(version, Err(Read::Absent)), ("/sys/kernel/realtime", Ok("1\n"))], id, State::Pass);
}

#[test]
fn kernel_config() {
    let id = "kernel-config-readable";
    expect(GUEST, &LOOP, &[], id, State::Pass);
    expect(GUEST, &LOOP, &[("/proc/config.gz", Ok("\u{1f}not gzip"))], id, State::Unknown);
    expect(GUEST, &LOOP, &[("/proc/config.gz", Err(Read::Denied))], id, State::Blocked);
    expect(GUEST, &LOOP, &[("/proc/config.gz", Err(Read::Absent))], id, State::Unknown);
}

#[test]
fn kconfig_high_res_timers() {
    let id = "kconfig-high-res-timers";
    let config = "/boot/config-6.8.0-60-generic";
    expect(LAPTOP, &LOOP, &[], id, State::Pass);
    expect(LAPTOP, &LOOP, &[("/proc/cmdline", Ok("ro highres=off"))], id, State::Fail);
    expect(LAPTOP, &LOOP, &[("/proc/cmdline", Ok("ro highres=on"))], id, State::Pass);
    expect(LAPTOP, &LOOP, &[(config, Ok("# CONFIG_HIGH_RES_TIMERS is not set\n"))], id, State::Fail);
    expect(LAPTOP, &LOOP, &[(config, Ok("CONFIG_HZ=250\n"))], id, State::Unknown);
    expect(SERVER, &LOOP, &[("/proc/timer_list", Ok("  .resolution: 4000000 nsecs\n"))], id, State::Fail);
    expect(LAPTOP, &LOOP, &[(config, Err(Read::Denied))], id, State::Blocked);
    expect(LAPTOP, &LOOP, &[("/proc/cmdline", Err(Read::Absent))], id, State::Unknown);
}

#[test]
fn kconfig_rt_group_sched() {
    let id = "kconfig-rt-group-sched";
    let budget = "/sys/fs/cgroup/cpu/cpu.rt_runtime_us";
    let on = "CONFIG_RT_GROUP_SCHED=y\n# CONFIG_RT_GROUP_SCHED_DEFAULT_DISABLED is not set\n";
    let off = "CONFIG_RT_GROUP_SCHED=y\nCONFIG_RT_GROUP_SCHED_DEFAULT_DISABLED=y\n";
    let (config, laptop_config) = ("/proc/config.gz", "/boot/config-6.8.0-60-generic");
    let controllers = "/sys/fs/cgroup/user.slice/cgroup.controllers";
    expect(GUEST, &LOOP, &[], id, State::Warn);
    expect(GUEST, &LOOP, &[(budget, Ok("0\n"))], id, State::Fail);
    expect(GUEST, &LOOP, &[(RUNTIME, Ok("-1\n"))], id, State::Warn);
    expect(GUEST, &LOOP, &[(budget, Err(Read::Denied))], id, State::Blocked);
    expect(GUEST, &LOOP, &[(config, Ok(off))], id, State::Pass);
    expect(GUEST, &LOOP, &[(config, Ok(off)), ("/proc/cmdline", Ok("rt_group_sched=0"))], id, State::Pass);
    expect(GUEST, &LOOP, &[(config, Ok(off)), ("/proc/cmdline", Ok("rt_group_sched=1"))], id, State::Warn);
    expect(LAPTOP, &LOOP, &[], id, State::Pass);
    expect(LAPTOP, &LOOP, &[(laptop_config, Ok(on)), (controllers, Ok("cpu io\n"))], id, State::Fail);
    expect(LAPTOP, &LOOP, &[(laptop_config, Ok(on)), (controllers, Ok("memory pids\n"))], id, State::Warn);
    expect(LAPTOP, &LOOP, &[(laptop_config, Ok(on))], id, State::Unknown);
    // The apparent root of a container's groups is not the real one.
    expect(CONTAINER, &LOOP, &[("/boot/config-6.8.0-45-generic", Ok(on))], id, State::Fail);
}

#[test]
fn cpu_smt() {
    let id = "cpu-smt";
    expect(SERVER, &LOOP, &[], id, State::Pass);
    expect(LAPTOP, &LOOP, &[], id, State::Fail);
    let alone = Setting { cpus: "0", ..CORE };
    expect(LAPTOP, &alone, &[], id, State::Fail);
    expect(LAPTOP, &alone, &[(&format!("{CPU}/isolated"), Ok("1\n"))], id, State::Pass);
    expect(LAPTOP, &Setting { cpus: "0", ..LOOP }, &[(&format!("{CPU}/isolated"), Ok("1\n"))], id, State::Fail);
    expect(GUEST, &LOOP, &[], id, State::Info);
    expect(SERVER, &LOOP, &[(&format!("{CPU}/cpu1/topology/thread_siblings_list"), Ok("7\n"))], id, State::Unknown);
    expect(SERVER, &LOOP, &[(&format!("{CPU}/cpu1"), Err(Read::Denied))], id, State::Blocked);
    expect(SERVER, &Setting { cpus: "", ..LOOP }, &[], id, State::Unknown);
}

#[test]
fn cpu_governor() {
    let id = "cpu-governor";
    let policy = format!("{CPU}/cpufreq/policy0");
    let governor = format!("{policy}/scaling_governor");
    expect(SERVER, &LOOP, &[], id, State::Pass);
    let failed = expect(PI, &LOOP, &[], id, State::Fail);
    assert_eq!(
        failed.fix.as_deref(),
        Some("echo performance | sudo tee /sys/devices/system/cpu/cpufreq/policy*/scaling_governor")
    );
    expect(PI, &LOOP, &[(&format!("{policy}/scaling_min_freq"), Ok("1500000\n"))], id, State::Pass);
    expect(PI, &LOOP, &[(&governor, Ok("powersave\n"))], id, State::Warn);
    expect(PI, &LOOP, &[(&governor, Ok("userspace\n"))], id, State::Warn);
    expect(PI, &LOOP, &[(&governor, Ok("\n"))], id, State::Unknown);
    expect(PI, &LOOP, &[(&governor, Err(Read::Denied))], id, State::Blocked);
    expect(LAPTOP, &LOOP, &[], id, State::Fail);
    let preference = |n: u32| format!("{CPU}/cpufreq/policy{n}/energy_performance_preference");
    let reported = [(preference(0), Ok("performance\n")), (preference(1), Ok("performance\n"))];
    let reported: Vec<Change> = reported.iter().map(|(path, change)| (path.as_str(), change.clone())).collect();
    expect(LAPTOP, &LOOP, &reported, id, State::Warn);
    // Only the measured CPUs matter.
    let ondemand = format!("{CPU}/cpufreq/policy3/scaling_governor");
    expect(SERVER, &LOOP, &[(&ondemand, Ok("ondemand\n"))], id, State::Pass);
    expect(SERVER, &Setting { cpus: "3", ..LOOP }, &[(&ondemand, Ok("ondemand\n"))], id, State::Fail);
    expect(GUEST, &LOOP, &[], id, State::Skip);
    expect(PI, &LOOP, &[(&format!("{CPU}/cpufreq"), Err(Read::Absent))], id, State::Skip);
}

#[test]
fn cpu_idle_latency() {
    let id = "cpu-idle-latency";
    let request = "/dev/cpu_dma_latency";
    let own = |n: u32| format!("{CPU}/cpu{n}/power/pm_qos_resume_latency_us");
    expect(SERVER, &LOOP, &[], id, State::Fail);
    expect(SERVER, &LOOP, &[(request, Ok("\0\0\0\0"))], id, State::Pass);
    expect(SERVER, &LOOP, &[(request, Err(Read::Denied))], id, State::Warn);
    expect(SERVER, &LOOP, &[(request, Ok("short"))], id, State::Warn);
    // 0 in a CPU's own file means no limit, n/a means the strictest one.
    expect(SERVER, &LOOP, &[(&own(0), Ok("n/a\n"))], id, State::Fail);
    expect(SERVER, &LOOP, &[(&own(0), Ok("n/a\n")), (&own(1), Ok("20\n"))], id, State::Pass);
    expect(PC, &LOOP, &[], id, State::Pass);
    expect(PC, &LOOP, &[(&format!("{CPU}/cpu1/cpuidle/state2/disable"), Ok("0\n"))], id, State::Warn);
    expect(PC, &LOOP, &[(&format!("{CPU}/cpu1/cpuidle/state2/latency"), Ok("fast\n"))], id, State::Unknown);
    expect(PC, &LOOP, &[(&format!("{CPU}/cpu1/cpuidle"), Err(Read::Denied))], id, State::Blocked);
    expect(PI, &LOOP, &[], id, State::Skip);
}

#[test]
fn sched_rt_throttle() {
    let id = "sched-rt-throttle";
    expect(SERVER, &CORE, &[], id, State::Skip);
    expect(LAPTOP, &CORE, &[], id, State::Fail);
    expect(LAPTOP, &LOOP, &[], id, State::Info);
    expect(LAPTOP, &CORE, &[(RUNTIME, Ok("-1\n"))], id, State::Pass);
    expect(LAPTOP, &Setting { profile: Profile::AudioDesktop, ..LOOP }, &[(RUNTIME, Ok("-1\n"))], id, State::Warn);
    // With group scheduling, a kernel with a fair server also throttles.
    expect(GUEST, &CORE, &[], id, State::Fail);
    expect(LAPTOP, &CORE, &[(RUNTIME, Ok("much\n"))], id, State::Unknown);
    expect(LAPTOP, &CORE, &[(RUNTIME, Err(Read::Denied))], id, State::Blocked);
    // Without type information an ordinary user cannot tell which of the two it is.
    expect(LAPTOP, &CORE, &[("/sys/kernel/btf/vmlinux", Err(Read::Absent))], id, State::Blocked);
}

#[test]
fn sched_fair_server() {
    let id = "sched-fair-server";
    let runtime = |n: u32| format!("/sys/kernel/debug/sched/fair_server/cpu{n}/runtime");
    let (first, second) = (runtime(0), runtime(1));
    let off = [(first.as_str(), Ok("0\n")), (second.as_str(), Ok("0\n"))];
    expect(SERVER, &LOOP, &[], id, State::Pass);
    expect(SERVER, &LOOP, &off, id, State::Info);
    expect(SERVER, &CORE, &[], id, State::Fail);
    expect(SERVER, &CORE, &off[..1], id, State::Fail);
    expect(SERVER, &CORE, &off, id, State::Pass);
    expect(SERVER, &CORE, &[off[0].clone(), (&second, Err(Read::Denied))], id, State::Blocked);
    expect(GUEST, &LOOP, &[], id, State::Blocked);
    expect(PI, &LOOP, &[], id, State::Skip);
    expect(LAPTOP, &LOOP, &[], id, State::Skip);
    expect(PC, &LOOP, &[("/sys/kernel/btf/vmlinux", Ok("rubbish"))], id, State::Blocked);
}

fn task(id: u32, name: &str, flags: u32, priority: u32, policy: u32) -> String {
    let middle = "0 ".repeat(30);
    format!("{id} ({name}) S 1 0 0 0 -1 {flags} {middle}{priority} {policy} 0 0 0 0 0 0 0 0 0 0 0\n")
}

#[test]
fn rogue_rt_task() {
    let id = "rogue-rt-task";
    let path = "/proc/700/task/700/stat";
    let user = |priority, policy| task(700, "jackd", 4_194_560, priority, policy);
    let with = |stat: &str, state| expect(SERVER, &LOOP, &[(path, Ok(stat))], id, state);
    expect(SERVER, &LOOP, &[], id, State::Pass);
    let failed = with(&user(90, 1), State::Fail);
    assert_eq!(
        failed.summary,
        "Other real-time tasks: these tasks run before or level with FIFO 90: jackd (FIFO 90, pid 700; package jackd2: the sound server)"
    );
    with(&user(89, 2), State::Pass);
    with(&user(0, 6), State::Fail);
    with(&user(0, 0), State::Pass);
    with(&task(700, "sugov:0", 2_129_984, 0, 6), State::Info);
    with("rubbish", State::Unknown);
    let elsewhere = [(path, Ok("")), ("/proc/700/task/700/status", Ok("Cpus_allowed_list:\t2-3\n"))];
    let stat = user(99, 1);
    expect(SERVER, &LOOP, &[(path, Ok(&stat)), elsewhere[1].clone()], id, State::Pass);
    expect(SERVER, &Setting { cpus: "3", ..LOOP }, &[(path, Ok(&stat)), elsewhere[1].clone()], id, State::Fail);
    expect(SERVER, &LOOP, &[(path, Err(Read::Denied))], id, State::Blocked);
    // Tasks that were seen count even if others were not.
    expect(CONTAINER, &LOOP, &[(path, Ok(&stat))], id, State::Fail);
    expect(CONTAINER, &LOOP, &[], id, State::Blocked);
    let deadline = r#"{"policy":"deadline","runtime_ns":100000,"deadline_ns":1000000,"period_ns":1000000}"#;
    expect(SERVER, &Setting { scheduling: deadline, ..LOOP }, &[(path, Ok(&stat))], id, State::Pass);
}

#[test]
fn clk_source() {
    let id = "clk-source";
    expect(LAPTOP, &LOOP, &[], id, State::Pass);
    expect(LAPTOP, &LOOP, &[(CLOCK, Ok("acpi_pm\n"))], id, State::Fail);
    expect(LAPTOP, &LOOP, &[(CLOCK, Ok("pxa_timer\n"))], id, State::Warn);
    expect(LAPTOP, &LOOP, &[(CLOCK, Err(Read::Absent))], id, State::Unknown);
    expect(LAPTOP, &LOOP, &[(CLOCK, Err(Read::Denied))], id, State::Blocked);
}

#[test]
fn virt_guest() {
    let id = "virt-guest";
    expect(LAPTOP, &LOOP, &[], id, State::Pass);
    expect(PI, &LOOP, &[], id, State::Pass);
    expect(GUEST, &LOOP, &[], id, State::Warn);
    expect(PI, &LOOP, &[("/proc/device-tree/hypervisor/compatible", Ok("linux,kvm\0"))], id, State::Warn);
    expect(LAPTOP, &LOOP, &[("/sys/class/dmi/id/sys_vendor", Ok("QEMU\n"))], id, State::Warn);
    expect(LAPTOP, &LOOP, &[("/proc/cpuinfo", Err(Read::Absent))], id, State::Unknown);
    expect(PI, &LOOP, &[("/proc/device-tree", Err(Read::Absent))], id, State::Unknown);
    expect(LAPTOP, &LOOP, &[("/sys/hypervisor/type", Err(Read::Denied))], id, State::Blocked);
}

#[test]
fn perm_rtprio() {
    let id = "perm-rtprio";
    let ordinary = Setting { scheduling: r#"{"policy":"other","nice":0}"#, ..LOOP };
    let deadline = r#"{"policy":"deadline","runtime_ns":100000,"deadline_ns":1000000,"period_ns":1000000}"#;
    expect(SERVER, &LOOP, &[], id, State::Pass);
    expect(PC, &LOOP, &[], id, State::Pass);
    expect(PC, &Setting { scheduling: r#"{"policy":"fifo","priority":99}"#, ..LOOP }, &[], id, State::Fail);
    expect(PC, &Setting { scheduling: deadline, ..LOOP }, &[], id, State::Fail);
    expect(LAPTOP, &LOOP, &[], id, State::Fail);
    expect(LAPTOP, &ordinary, &[], id, State::Skip);
    // Root of a user namespace is not root.
    expect(SERVER, &LOOP, &[("/proc/self/uid_map", Ok("0 1000 1\n"))], id, State::Fail);
    expect(PC, &LOOP, &[("/proc/self/limits", Err(Read::Denied))], id, State::Blocked);
    expect(PC, &LOOP, &[("/proc/self/limits", Err(Read::Absent))], id, State::Unknown);
}

#[test]
fn perm_memlock() {
    let id = "perm-memlock";
    let limit = |bytes: &str| format!("Max locked memory         {bytes}               {bytes}               bytes\n");
    let limits = "/proc/self/limits";
    expect(SERVER, &LOOP, &[], id, State::Pass);
    expect(PC, &LOOP, &[], id, State::Pass);
    expect(LAPTOP, &LOOP, &[], id, State::Warn);
    expect(LAPTOP, &LOOP, &[(limits, Ok(&limit("65536")))], id, State::Fail);
    expect(LAPTOP, &LOOP, &[(limits, Ok(&limit("lots")))], id, State::Unknown);
    expect(LAPTOP, &LOOP, &[(limits, Err(Read::Denied))], id, State::Blocked);
}

#[test]
fn findings_carry_reason_group_and_severity() {
    let finding = find(LAPTOP, &LOOP, &[], "cpu-smt");
    assert_eq!(finding.group, "CPU: SMT, frequency, idle, thermal");
    assert_eq!(finding.severity, Severity::High);
    assert!(finding.why.contains("execution units"));
    let quiet = find(LAPTOP, &Setting { profile: Profile::MeasureOnly, ..LOOP }, &[], "cpu-smt");
    assert_eq!((quiet.severity, quiet.state), (Severity::Info, State::Fail));
    assert!(find(SERVER, &LOOP, &[], "cpu-smt").fix.is_none());
    let disputed = find(LAPTOP, &LOOP, &[], "sched-rt-throttle").why;
    assert!(disputed.contains("Authorities differ: disable it (−1) (Shuhao Wu"), "{disputed}");
}

const GOOD: &str = r#"id = "a-rule"
title = "A rule"
group = "time"
severity = "high"
why = "because"
sources = ["X"]

[reads]
value = { file = "/x", as = "integer" }

[[case]]
when = { value = { min = 1 } }
state = "PASS"
say = "it is {value}"

[[case]]
state = "FAIL"
say = "it is not"

[fix]
none = "there is none"
"#;

fn parse(text: &str) -> Result<Rules, RuleError> {
    let sources = ("sources.toml", "X = \"a book\"\nK = \"not checked\"");
    Rules::parse(&[("rules/a-rule.toml", text)], sources, ("gates.toml", ""))
}

#[test]
fn mistakes_in_rules_are_named_with_their_line() {
    parse(GOOD).unwrap();
    for (right, wrong, line, message) in [
        ("group = \"time\"", "group = \"tame\"", 3, "tame"),
        ("severity = \"high\"", "severity = high", 4, ""),
        ("why = \"because\"", "why = \"because\"\nwho = 1", 6, "who"),
        ("why = \"because\"", "why = \" \"", 1, "needs a title"),
        ("sources = [\"X\"]", "sources = [\"Y\"]", 6, "`Y` is not in sources.toml"),
        ("file = \"/x\"", "file = \"x\"", 9, "absolute"),
        ("file = \"/x\"", "file = \"/x*\"", 9, "only with files"),
        ("{ file = \"/x\", as = \"integer\" }", "{ probe = \"nothing\" }", 9, "no probe is named `nothing`"),
        ("{ file = \"/x\", as = \"integer\" }", "{ probe = \"memlock\" }", 9, "takes [\"bytes\"]"),
        ("{ file = \"/x\", as = \"integer\" }", "{ optional = true }", 9, "exactly one"),
        ("{ min = 1 }", "{ mini = 1 }", 12, "mini"),
        ("{ min = 1 }", "{ min = \"one\" }", 12, "invalid type"),
        ("{ min = 1 }", "{ present = false }", 14, "not enough for PASS"),
        ("when = { value", "when = { other", 12, "`other` is not among"),
        ("it is {value}", "it is {other}", 14, "`{other}` is not among"),
        ("it is {value}", "it is {value", 14, "not closed"),
        ("state = \"FAIL\"", "state = \"FAIL\"\nwhen = { value = 0 }", 11, "the last case"),
        ("state = \"FAIL\"", "state = \"BLOCKED\"", 17, "results from"),
        ("none = \"there is none\"", "undo = \"x\"", 20, "needs an action"),
        ("id = \"a-rule\"", "id = \"b-rule\"", 1, "not the file's name"),
        ("sources = [\"X\"]", "sources = [\"K\"]", 4, "at most info"),
        (
            "as = \"integer\" }\n",
            "optional = true }\n[[applies]]\nwhen = { value = 1 }\notherwise = \"x\"\n",
            9,
            "is optional",
        ),
    ] {
        assert!(GOOD.contains(right), "{right}");
        let error = parse(&GOOD.replace(right, wrong)).unwrap_err();
        assert_eq!(error.line, line, "{wrong}: {error}");
        assert!(error.message.contains(message), "{wrong}: {error}");
        assert!(error.to_string().starts_with("rules/a-rule.toml:"), "{error}");
    }
}

#[test]
fn rules_say_why_and_who_and_what_to_do() {
    let rules = Rules::embedded();
    for rule in rules.iter() {
        assert!(rule.sources.iter().all(|key| rules.source(key).is_some_and(|text| text.len() > 5)), "{}", rule.id);
        assert!(rule.fix.line().is_some() || rule.fix.none.is_some(), "{}", rule.id);
        assert!(!rules.paths(rule).is_empty() || rule.id == "perm-test-real", "{}", rule.id);
    }
    assert!(rules.get("cpu-governor").is_some() && rules.get("no-such-rule").is_none());
}

#[test]
fn no_text_of_a_rule_repeats_words() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let title = text.lines().find_map(|line| line.strip_prefix("title = \"")?.strip_suffix('"')).unwrap();
        // The title precedes each sentence.
        let again = format!("say = \"{}:", title.to_lowercase());
        assert!(!text.to_lowercase().contains(&again), "{}: {again}", path.display());
        let shown = ["title =", "why =", "say =", "says =", "undo =", "otherwise ="];
        for line in text.lines().filter(|line| shown.iter().any(|key| line.contains(key))) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let repeated = (1..=8).find(|n| words.windows(2 * n).any(|both| both[..*n] == both[*n..]));
            assert_eq!(repeated, None, "{}: {line}", path.display());
        }
    }
}
