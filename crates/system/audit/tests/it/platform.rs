//! Advice for the architecture, distribution and loader that the given files show.

use punctual_audit::{Context, Profile, Rules};
use punctual_machine::{Given, Kind};
use punctual_model::{Finding, State};
use punctual_units::{Priority, Scheduling};

fn findings(files: &[(&str, &str, Option<Kind>)]) -> Vec<Finding> {
    let mut given = Given::new();
    for (name, text, kind) in files {
        given.add(name, text.as_bytes(), *kind).unwrap();
    }
    let scheduling = Scheduling::Fifo { priority: Priority::try_from(90).unwrap() };
    let context = Context { scheduling, cpus: "".parse().unwrap(), profile: Profile::ControlLoop };
    Rules::embedded().audit(&given, &context)
}

fn of<'f>(findings: &'f [Finding], id: &str) -> &'f Finding {
    findings.iter().find(|finding| finding.id == id).unwrap()
}

fn fix(findings: &[Finding], id: &str) -> String {
    of(findings, id).fix.clone().unwrap_or_default()
}

fn log(banner: &str, message: &str) -> Vec<Finding> {
    findings(&[("dmesg", &format!("[0] Linux version {banner}\n[0] Kernel command line: ro\n[0] {message}\n"), None)])
}

#[test]
fn a_real_time_kernel_is_one_that_the_machine_can_have() {
    let rt = "kernel-preempt-rt";
    let e820 = "BIOS-e820: [mem 0x0-0x9fbff] usable";
    let ubuntu = log("5.3.0-29-generic (a@b) (gcc) #31-Ubuntu SMP Fri Jan 17 17:27:26 UTC 2020", e820);
    assert!(fix(&ubuntu, rt).starts_with("upgrade to Ubuntu 22.04"), "{}", fix(&ubuntu, rt));
    let wsl =
        log("6.6.87.2-microsoft-standard-WSL2 (a@b) (gcc) #1 SMP PREEMPT_DYNAMIC Thu Jun  5 18:30:46 UTC 2025", e820);
    assert!(fix(&wsl, rt).starts_with("install Linux on the machine itself"), "{}", fix(&wsl, rt));
    assert!(fix(&wsl, "cmdline-threadirqs").contains(".wslconfig"), "{}", fix(&wsl, "cmdline-threadirqs"));
    for (head, options, part) in [
        ("x86 6.3.0-arch1", "CONFIG_X86_64=y", "pacman -S linux-rt`"),
        ("x86 6.6.52-gentoo", "CONFIG_X86_64=y", "build a real-time kernel"),
        ("x86 6.6.52", "CONFIG_X86_64=y", "linux-image-rt-amd64"),
        ("s390 5.8.3", "CONFIG_S390=y", "another architecture"),
        ("mips 3.10.24", "CONFIG_MIPS=y", "with the real-time patches for its release"),
        ("x86 3.8.0", "CONFIG_M586TSC=y\nCONFIG_X86_GENERIC=y", "the last known package"),
        ("powerpc 6.1.9", "CONFIG_PPC64=y", "real-time patches"),
    ] {
        let text = format!("# Linux/{head} Kernel Configuration\n{options}\nCONFIG_PREEMPT_NONE=y\n");
        let said = fix(&findings(&[("config", &text, None)]), rt);
        assert!(said.contains(part) && !said.contains("kernel8"), "{head}: {said}");
    }
}

#[test]
fn what_is_no_raspberry_pi_is_judged_as_such() {
    let is_other = |files: &[(&str, &str, Option<Kind>)]| {
        let findings = findings(files);
        let found = of(&findings, "rpi-overclock");
        assert_eq!(found.state, State::Skip);
        found.summary.contains("only on a Raspberry Pi")
    };
    let line = Some(Kind::Cmdline);
    assert!(is_other(&[("cmdline", "ro quiet intel_iommu=off isolcpus=2\n", line)]));
    assert!(is_other(&[("uEnv.txt", "enable_uboot_overlays=1\ncmdline=coherent_pool=1M\n", None)]));
    assert!(is_other(&[("config", "CONFIG_ARM64=y\nCONFIG_ARCH_QCOM=y\n# CONFIG_ARCH_BCM is not set\n", None)]));
    assert!(is_other(&[("cmdline", "earlycon console=ttyMSM0,115200 ro rootwait\n", line)]));
    assert!(is_other(&[("config", "# Linux/x86 4.9.8 Kernel Configuration\nCONFIG_X86_64=y\n", None)]));
    // These words were copied from a guide for PCs.
    assert!(!is_other(&[("cmdline", "console=serial0,115200 root=/dev/mmcblk0p2 intel_pstate=disable\n", line)]));
    assert!(!is_other(&[("cmdline", "ro quiet isolcpus=2\n", line)]));
}

#[test]
fn a_fragment_has_no_kernel() {
    let fragment = |text: &str| findings(&[("my.config", text, None)]);
    let wish = fragment("# real time\nCONFIG_PREEMPT_RT=y\nCONFIG_HZ_1000=y\n\n# no logo\nCONFIG_LOGO=n\n");
    let found = of(&wish, "kernel-preempt-rt");
    assert!(found.state == State::Unknown && found.summary.contains("only a fragment"), "{}", found.summary);
    let drivers = fragment("CONFIG_NVME_CORE=y\nCONFIG_LOGO=n\n");
    for id in ["kernel-preempt-rt", "kconfig-high-res-timers", "kconfig-lockup-detector", "rcu-nocb-poll"] {
        let state = of(&drivers, id).state;
        assert!(matches!(state, State::Skip | State::Unknown), "{id}: {state:?}");
        assert!(!of(&drivers, id).summary.contains("is built without"), "{}", of(&drivers, id).summary);
    }
}

#[test]
fn a_boot_scripts_file_is_a_part_of_the_line() {
    let some = findings(&[("armbianEnv.txt", "verbosity=1\nextraargs=isolcpus=3\n", None)]);
    assert_eq!(of(&some, "cmdline-quiet-console").state, State::Skip);
    assert_eq!(of(&some, "cmdline-isolcpus-flags").state, State::Pass);
    let length = of(&some, "cmdline-length");
    assert!(length.state == State::Pass && length.summary.contains("10 bytes are known"), "{}", length.summary);
    let script = "setenv bootargs \"ro\nisolcpus=3 loglevel=${verbosity}\nquiet ${more}\"\nbooti\n";
    let script = findings(&[("boot.cmd", script, None)]);
    let length = of(&script, "cmdline-length");
    assert!(length.summary.contains("29 bytes are known"), "{}", length.summary);
}

#[test]
fn a_parameter_as_a_variable_of_its_own_is_not_read() {
    let text = "verbosity=1\nisolcpus=3\nextraargs=threadirqs\n";
    let some = findings(&[("armbianEnv.txt", text, None)]);
    let found = of(&some, "cmdline-drift");
    assert_eq!(found.state, State::Fail);
    assert!(found.summary.contains("`isolcpus=3` is a line of its own"), "{}", found.summary);
    let fine = findings(&[("armbianEnv.txt", "verbosity=1\nconsole=both\nextraargs=threadirqs\n", None)]);
    assert_eq!(of(&fine, "cmdline-drift").state, State::Skip);
}

#[test]
fn what_cannot_be_compared_is_not_said_to_be_the_same() {
    let one = findings(&[("cmdline.txt", "console=tty1 root=/dev/mmcblk0p2 isolcpus=3\n", None)]);
    let found = of(&one, "cmdline-drift");
    assert!(found.state == State::Skip && found.summary.contains("only one command line"), "{}", found.summary);
}

#[test]
fn the_host_supplies_the_kernel_of_a_small_guest() {
    let line = "reboot=k panic=1 pci=off virtio_mmio.device=4K@0xd0000000:5 lapic=notscdeadline";
    let banner = "[0] Linux version 6.1.8 (a@b) (gcc) #1 SMP PREEMPT_DYNAMIC Thu Jun  5 18:30:46 UTC 2025";
    let text = format!("{banner}\n[0] Command line: {line}\n[0] Kernel command line: {line}\n");
    let said = fix(&findings(&[("dmesg", &text, None)]), "kernel-preempt-rt");
    assert!(said.contains("virtual machine monitor on the host") && !said.contains("apt"), "{said}");
}

#[test]
fn a_kernel_without_dynamic_preemption_needs_another_build() {
    let text = "CONFIG_S390=y\nCONFIG_PREEMPT_NONE=y\n# CONFIG_PREEMPT_DYNAMIC is not set\n";
    let said = fix(&findings(&[("config", text, None)]), "kernel-preempt-dynamic");
    assert!(said.contains("CONFIG_PREEMPT=y") && !said.contains("PREEMPT_RT"), "{said}");
}

#[test]
fn a_file_that_the_kernel_lacks_is_not_written() {
    let text = "# Linux/x86 6.6.1 Kernel Configuration\nCONFIG_X86_64=y\nCONFIG_PREEMPT_VOLUNTARY=y\nCONFIG_PREEMPT_DYNAMIC=y\n# CONFIG_PREEMPT_RT is not set\n";
    let fixed = |more: &str| {
        let config = format!("{text}{more}");
        let files = [("config", config.as_str(), None), ("cmdline", "ro preempt=voluntary\n", Some(Kind::Cmdline))];
        fix(&findings(&files), "kernel-preempt-dynamic")
    };
    assert!(fixed("CONFIG_SCHED_DEBUG=y\n").contains("/sys/kernel/debug/sched/preempt"));
    assert_eq!(fixed("# CONFIG_SCHED_DEBUG is not set\n"), "kernel command line: add `preempt=full`");
}

#[test]
fn a_patched_kernel_has_normal_grace_periods_after_boot() {
    let config = "# Linux/x86 4.14.137 Kernel Configuration\nCONFIG_X86_64=y\nCONFIG_PREEMPT_RT_FULL=y\n";
    let files = [("config", config, None), ("cmdline", "ro rcupdate.rcu_expedited=1\n", Some(Kind::Cmdline))];
    let found = findings(&files);
    let unknown = of(&found, "cmdline-unknown-params");
    assert!(unknown.summary.contains("no effect after boot"), "{}", unknown.summary);
    assert_eq!(of(&found, "cmdline-rcu-mode").state, State::Pass);
}

#[test]
fn a_rejected_query_prints_nothing() {
    for (query, is_fine) in
        [("module=x +plt", false), ("module x +plt", true), ("+p", true), ("file a.c line 1-9 +p; func f =_", true)]
    {
        let line = format!("ro \"dyndbg={query}\"\n");
        let found = findings(&[("cmdline", &line, Some(Kind::Cmdline))]);
        assert_eq!(of(&found, "cmdline-unknown-params").summary.contains("is rejected"), !is_fine, "{query}");
    }
}
