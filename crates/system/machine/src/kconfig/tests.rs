use super::*;

const WHOLE: &str = "#\n# Automatically generated file; DO NOT EDIT.\n# Linux/x86 6.12.0 Kernel Configuration\n#\n\
    CONFIG_HZ=250\n# CONFIG_PREEMPT_RT is not set\nCONFIG_LOCALVERSION=\"-x\"\n#\n# Kernel hacking\n#\n# end of Kernel hacking\n";

fn config(text: &str) -> KernelConfig {
    KernelConfig::from_bytes("/boot/config", text.as_bytes()).unwrap()
}

#[test]
fn configurations_of_linux_2_6_are_whole_and_have_a_version() {
    let head = "#\n# Automatically generated make config: don't edit\n# Linux kernel version: 2.6.23-gentoo-r3\n# Thu Jan  3 10:55:37 2008\n#\n";
    let old =
        config(&format!("{head}CONFIG_X86=y\n\n#\n# Kernel hacking\n#\n\n#\n# Library routines\n#\nCONFIG_PLIST=y\n"));
    assert_eq!((old.version(), old.get("HIGH_RES_TIMERS")), (Some("2.6.23-gentoo-r3"), Setting::Off));
}

#[test]
fn options_are_read() {
    let c = config(WHOLE);
    assert_eq!(c.get("HZ"), Setting::Is("250".into()));
    assert_eq!(c.get("LOCALVERSION"), Setting::Is("-x".into()));
    assert_eq!(c.get("PREEMPT_RT"), Setting::Off);
    assert_eq!(c.get("RT_GROUP_SCHED"), Setting::Off);
    assert_eq!(c.version(), Some("6.12.0"));
    assert_eq!(config("CONFIG_A=y\n").version(), None);
}

#[test]
fn the_last_of_several_lines_counts() {
    let c = config("CONFIG_A=y\nCONFIG_AB=m\n# CONFIG_A is not set\r\nCONFIG_A=3\nCONFIG_B=y\nCONFIG_=1\n");
    assert_eq!((c.get("A"), c.get("AB")), (Setting::Is("3".into()), Setting::Is("m".into())));
    assert!(c.is_on("B") && !c.is_on("AB") && !c.is_on("C"));
}

#[test]
fn a_cut_text_does_not_turn_options_off() {
    let chosen = WHOLE.replace("6.12.0 Kernel Configuration", "Kernel Configuration (cut to what rules ask for)");
    assert_eq!(config(&chosen).get("RT_GROUP_SCHED"), Setting::Unknown);
    let end = "# end of Kernel hacking\n";
    for (from, to) in [
        (end, "# Power management\n# end of Power management\nCONFIG_A=y\n"),
        ("# Kernel hacking\n", ""),
        ("# Linux/x86 6.12.0 Kernel Configuration\n", "[...]\n"),
        (end, "# end of Kernel hacking\n...\n"),
        (end, "# end of Power management\n# end of Kernel hacking\n"),
    ] {
        assert_eq!(config(&WHOLE.replacen(from, to, 1)).get("RT_GROUP_SCHED"), Setting::Unknown, "{to}");
    }
    assert_eq!(config(&WHOLE.replace('\n', "\r\n")).get("RT_GROUP_SCHED"), Setting::Off);
    assert_eq!(config("CONFIG_A=y\n").get("B"), Setting::Unknown);
}

#[test]
fn an_option_is_off_with_what_it_depends_on() {
    let part = config("# CONFIG_DEBUG_KERNEL is not set\nCONFIG_HZ_1000=y\n");
    assert_eq!((part.get("PROVE_LOCKING"), part.get("HZ")), (Setting::Off, Setting::Is("1000".into())));
    assert_eq!((part.get("KASAN"), part.get("RCU_BOOST")), (Setting::Unknown, Setting::Unknown));
}

#[test]
fn a_defconfig_has_defaults() {
    let text = format!("{}CONFIG_PREEMPT_RT=y\n# CONFIG_RCU_BOOST is not set\n", KernelConfig::DEFCONFIG);
    let small = config(&text);
    assert_eq!((small.get("PROVE_LOCKING"), small.get("PREEMPT_RCU")), (Setting::Off, Setting::Is("y".into())));
    assert_eq!((small.get("RCU_BOOST"), small.get("TRACING")), (Setting::Off, Setting::Unknown));
    assert!(small.why("PROVE_LOCKING").is_some() && small.why("RCU_BOOST").is_none());
    let locks = config(&format!("{}CONFIG_PROVE_LOCKING=y\n", KernelConfig::DEFCONFIG));
    assert_eq!(locks.get("LOCKDEP"), Setting::Is("y".into()));
}

#[test]
fn options_without_a_prompt_follow_from_those_that_select_them() {
    let is = || Setting::Is("y".into());
    for (text, option, expected) in [
        ("CONFIG_HWLAT_TRACER=y\n", "TRACING", is()),
        ("CONFIG_STACK_TRACER=y\n", "FUNCTION_TRACER", is()),
        ("CONFIG_LOCK_STAT=y\n", "LOCKDEP", is()),
        ("# CONFIG_LOCK_STAT is not set\n# CONFIG_PROVE_LOCKING is not set\n", "LOCKDEP", Setting::Unknown),
        (
            "# CONFIG_LOCK_STAT is not set\n# CONFIG_PROVE_LOCKING is not set\n# CONFIG_DEBUG_LOCK_ALLOC is not set\n",
            "LOCKDEP",
            Setting::Off,
        ),
        (
            "CONFIG_PREEMPT_NONE=y\n# CONFIG_PREEMPT_DYNAMIC is not set\n# CONFIG_PREEMPT_RT is not set\n",
            "PREEMPT_TRACER",
            Setting::Off,
        ),
        ("CONFIG_PREEMPT_NONE=y\n", "PREEMPT_TRACER", Setting::Unknown),
        ("CONFIG_CPU_FREQ_DEFAULT_GOV_ONDEMAND=y\n", "CPU_FREQ_DEFAULT_GOV_PERFORMANCE", Setting::Off),
        ("# CONFIG_DEBUG_KERNEL is not set\n", "DETECT_HUNG_TASK", Setting::Off),
        ("# Linux/x86 4.14.1 Kernel Configuration\nCONFIG_HZ=250\n", "OSNOISE_TRACER", Setting::Off),
    ] {
        assert_eq!(config(text).get(option), expected, "{text} {option}");
    }
}

#[test]
fn a_fragment_decides_nothing_that_it_does_not_mention() {
    let named = |text: &str| config(&format!("{}{text}", KernelConfig::DEFCONFIG));
    let by_hand = "CONFIG_NVME_CORE=y\nCONFIG_LOGO=n\n";
    assert!(config(by_hand).is_fragment() && named(by_hand).is_fragment() && !named(by_hand).is_defconfig());
    assert!(config("CONFIG_A=y\nCONFIG_B=y\nCONFIG_C=y\n\n# tracing\n# CONFIG_D=y\n").is_fragment());
    assert!(config(&format!("{}CONFIG_A=y\n", KernelConfig::FRAGMENT)).is_fragment());
    let whole: String = (0..2000).map(|at| format!("CONFIG_A{at}=y\n")).collect();
    assert!(!config(&format!("{whole}# mine\nCONFIG_B=n\n")).is_fragment());
    // Part of what Kconfig writes.
    assert!(
        !config("CONFIG_A=y\n\n#\n# Timers\n#\nCONFIG_NO_HZ=y\n# end of Timers\n# CONFIG_C is not set\n").is_fragment()
    );
    assert!(!named("CONFIG_A=y\n# CONFIG_B is not set\n").is_fragment() && !config(WHOLE).is_fragment());
    // Sorted by name, but with the disabled options first.
    let sorted = |line: &dyn Fn(u32) -> String| (100..200).map(line).collect::<String>();
    let off = sorted(&|at| format!("# CONFIG_A{at} is not set\n"));
    let on = sorted(&|at| format!("CONFIG_B{at}=y\n"));
    let base = config(&format!("# CONFIG_AUDIT is not set\n# CONFIG_CGROUPS is not set\n{off}CONFIG_AUTO=y\n{on}"));
    assert_eq!((base.is_defconfig(), base.get("RCU_NOCB_CPU")), (false, Setting::Unknown));
}

#[test]
fn a_file_may_end_with_its_last_menu() {
    assert_eq!(config(WHOLE.trim_end()).get("RT_GROUP_SCHED"), Setting::Off);
}

#[test]
fn of_a_choice_the_last_line_counts() {
    let two = "CONFIG_CPU_FREQ_DEFAULT_GOV_PERFORMANCE=y\nCONFIG_CPU_FREQ_DEFAULT_GOV_ONDEMAND=y\n";
    let c = config(two);
    assert_eq!(c.get("CPU_FREQ_DEFAULT_GOV_PERFORMANCE"), Setting::Off);
    assert!(c.is_on("CPU_FREQ_DEFAULT_GOV_ONDEMAND") && c.why("CPU_FREQ_DEFAULT_GOV_PERFORMANCE").is_some());
    let off = config(&format!("{two}# CONFIG_CPU_FREQ_DEFAULT_GOV_ONDEMAND is not set\n"));
    assert!(off.is_on("CPU_FREQ_DEFAULT_GOV_PERFORMANCE"));
    assert_eq!(
        (c.get("CPU_FREQ"), config("CONFIG_A=y\n").get("CPU_FREQ")),
        (Setting::Is("y".into()), Setting::Unknown)
    );
}

#[test]
fn what_others_select_needs_no_line() {
    let part = config("CONFIG_PREEMPT_RT=y\n");
    assert_eq!((part.get("PREEMPT_RCU"), part.get("RCU_BOOST")), (Setting::Is("y".into()), Setting::Unknown));
    // If a complete file has no line for an option with a prompt, it was not written by Kconfig alone.
    let whole = config(&WHOLE.replace("# CONFIG_PREEMPT_RT is not set", "CONFIG_PREEMPT_RT=y"));
    assert_eq!((whole.get("PREEMPT_RCU"), whole.get("RCU_BOOST")), (Setting::Is("y".into()), Setting::Is("y".into())));
    let arm = |release: &str| config(&format!("# Linux/arm {release} Kernel Configuration\nCONFIG_ARM=y\n"));
    assert_eq!(arm("3.2.102").get("IRQ_FORCED_THREADING"), Setting::Off);
    assert_eq!(arm("3.14.17").get("IRQ_FORCED_THREADING"), Setting::Is("y".into()));
    assert_eq!(config("CONFIG_ARM=y\n").get("IRQ_FORCED_THREADING"), Setting::Unknown);
}

#[test]
fn a_defconfig_detects_no_lockups_by_default() {
    let of = |line: &str| config(&format!("{}CONFIG_ARM=y\n{line}\n", KernelConfig::DEFCONFIG));
    for option in ["LOCKUP_DETECTOR", "SOFTLOCKUP_DETECTOR", "HARDLOCKUP_DETECTOR", "DETECT_HUNG_TASK"] {
        assert_eq!(of("CONFIG_DETECT_SOFTLOCKUP=y").get(option), Setting::Off, "{option}");
    }
    assert_eq!(of("CONFIG_SOFTLOCKUP_DETECTOR=y").get("LOCKUP_DETECTOR"), Setting::Is("y".into()));
}

#[test]
fn menus_before_5_4_have_no_end() {
    let head =
        "#\n# Automatically generated file; DO NOT EDIT.\n# Linux/x86 4.19.0 Kernel Configuration\n#\nCONFIG_NET=y\n";
    assert_eq!(config(head).get("PROVE_LOCKING"), Setting::Unknown);
    let whole = format!("{head}#\n# Kernel hacking\n#\nCONFIG_A=y\n#\n# Library routines\n#\nCONFIG_B=y\n");
    assert_eq!(config(&whole).get("PROVE_LOCKING"), Setting::Off);
}

#[test]
fn a_line_that_is_cut_says_nothing() {
    let cut = config("CONFIG_A=y\nCONFIG_HZ=2");
    assert_eq!((cut.get("A"), cut.get("HZ")), (Setting::Is("y".to_owned()), Setting::Unknown));
}

#[test]
fn rubbish_is_no_configuration() {
    for bad in [&b"\x1f\x8bnonsense"[..], b"", b"hello\n", b"CONFIG_A=\xff\n"] {
        assert!(KernelConfig::from_bytes("/x", bad).is_none());
    }
}

#[test]
fn a_bomb_is_refused() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let line = "CONFIG_A=y\n".repeat(1 << 12);
    for _ in 0..200 {
        std::io::Write::write_all(&mut encoder, line.as_bytes()).unwrap();
    }
    assert!(KernelConfig::from_bytes("/x", &encoder.finish().unwrap()).is_none());
}

/// A defconfig as `make savedefconfig` writes it, with these options among a hundred others.
fn saved(options: &str) -> KernelConfig {
    let drivers: String = (0..100).map(|at| format!("CONFIG_Z{}=y\n", 200 - at)).collect();
    config(&format!("CONFIG_SYSVIPC=y\nCONFIG_NO_HZ=y\n{options}{drivers}"))
}

#[test]
fn a_saved_defconfig_is_recognised() {
    assert!(saved("").is_defconfig());
    let fragment = |text: &str| !config(text).is_defconfig();
    let many: String = (100..200).map(|at| format!("CONFIG_A{at}=y\n")).collect();
    assert!(fragment("CONFIG_SYSVIPC=y\nCONFIG_NO_HZ=y\n"));
    assert!(fragment(&many));
    assert!(fragment(&format!("CONFIG_B=y\n{many}")));
    assert!(fragment(&format!("CONFIG_SYSVIPC=y\nCONFIG_NO_HZ=y\nCONFIG_B=y\n{many}# Board\n")));
}

#[test]
fn a_defconfig_decides_by_defaults() {
    let (off, is) = (Setting::Off, |value: &str| Setting::Is(value.into()));
    for (options, option, expected) in [
        ("", "RT_GROUP_SCHED", off.clone()),
        ("CONFIG_CGROUPS=y\nCONFIG_CGROUP_SCHED=y\n", "RT_GROUP_SCHED", off.clone()),
        ("", "NO_HZ_FULL", off.clone()),
        ("", "RCU_NOCB_CPU", off.clone()),
        ("", "NO_HZ_COMMON", is("y")),
        ("CONFIG_NO_HZ_FULL=y\n", "RCU_NOCB_CPU", is("y")),
        ("CONFIG_RISCV=y\n", "SMP", off.clone()),
        ("CONFIG_RISCV=y\n", "CPU_ISOLATION", off.clone()),
        ("CONFIG_RISCV=y\nCONFIG_SMP=y\n", "CPU_ISOLATION", is("y")),
        ("CONFIG_MIPS=y\n", "SMP", Setting::Unknown),
        ("CONFIG_LOONGARCH=y\n", "HZ", is("250")),
        ("CONFIG_ARM=y\n", "HZ", Setting::Unknown),
        ("CONFIG_LOONGARCH=y\nCONFIG_HZ_1000=y\n", "HZ", is("1000")),
        ("CONFIG_MIPS32_O32=y\nCONFIG_HZ_256=y\n", "HZ", is("256")),
        ("CONFIG_PROVE_LOCKING=y\n", "DEBUG_SPINLOCK", is("y")),
        ("CONFIG_PROVE_LOCKING=y\n", "DEBUG_MUTEXES", is("y")),
        ("CONFIG_PROVE_LOCKING=y\n", "DEBUG_RWSEMS", Setting::Unknown),
        ("CONFIG_PPC64=y\n", "PREEMPT_DYNAMIC", off.clone()),
        ("CONFIG_X86_64=y\n", "PREEMPT_DYNAMIC", Setting::Unknown),
        ("", "HIGH_RES_TIMERS", off.clone()),
        ("", "DETECT_HUNG_TASK", off.clone()),
        ("", "FAIR_GROUP_SCHED", Setting::Unknown),
        ("CONFIG_ARM=y\nCONFIG_PREEMPT_RT_FULL=y\n", "PREEMPT_LAZY", is("y")),
        ("CONFIG_MIPS=y\nCONFIG_PREEMPT_RT_FULL=y\n", "PREEMPT_LAZY", Setting::Unknown),
    ] {
        assert_eq!(saved(options).get(option), expected, "{options} {option}");
    }
}

#[test]
fn a_defconfig_may_have_a_release() {
    let made = config("# Armbian defconfig generated with 6.18\nCONFIG_NO_HZ=y\n");
    assert_eq!((made.version(), made.is_defconfig()), (Some("6.18"), true));
}

#[test]
fn a_name_has_no_equals_sign() {
    let odd = config("# CONFIG_IKCONFIG= is not set\nCONFIG_HZ=250\n");
    assert_eq!((odd.get("IKCONFIG"), odd.get("HZ")), (Setting::Unknown, Setting::Is("250".into())));
}

#[test]
fn a_long_file_without_the_heading_is_a_part() {
    let long: String = (0..1200).map(|n| format!("CONFIG_OPTION_{n:04}=y\n")).collect();
    assert_eq!(config(&format!("# powerpc\n{long}")).form(), "part");
    assert_eq!(config("CONFIG_A=y\nCONFIG_B=y\n").form(), "whole");
    assert_eq!(config("CONFIG_A=y\nCONFIG_B=n\n").form(), "fragment");
    assert_eq!(config(WHOLE).form(), "whole");
}
