//! The kernel's log: its command line, release and messages.

/// Prepended to the content of /dev/kmsg if that is only a part of the log: messages missing from it may have been
/// printed.
pub const LOG_PART: &str = "# part\n";

/// Beginnings of the log line with the command line, from init/main.c, start_kernel; arch/x86/kernel/setup.c prints
/// `Command line:` earlier.
const LOGGED: &[&str] = &["Kernel command line: ", "] Command line: ", "kernel: Command line: "];

pub(crate) fn is_log(text: &str) -> bool {
    text.lines().any(|line| LOGGED.iter().any(|start| line.contains(start)))
}

/// A message of this length, in bytes, may be truncated: LOG_LINE_MAX of kernel/printk/printk.c is 992 or 976, in later
/// releases PRINTKRB_RECORD_MAX is 1,024.
const CUT: usize = 960;

/// Stands for what printk cut off.
pub const CUT_OFF: &str = "${cut}";

/// Returns the command line of the last boot in the log. Since Linux 6.19 a long one is wrapped (print_kernel_cmdline
/// of init/main.c): all lines but the last end with ` \`.
pub(crate) fn logged(text: &str) -> String {
    let of = |start: &str| {
        let mut parts: Vec<&str> = Vec::new();
        let mut is_longest = false;
        for (message, part) in text.lines().filter_map(|line| Some((message(line), line.split_once(start)?.1))) {
            if parts.last().is_none_or(|part| !part.ends_with(" \\")) {
                parts.clear();
            }
            is_longest = message.trim_end().len() >= CUT;
            parts.push(part.trim_end());
        }
        let mut words: Vec<&str> = parts.iter().map(|part| part.strip_suffix(" \\").unwrap_or(part)).collect();
        let last = words.pop()?;
        let last = if is_longest { without_end(last) } else { last.to_owned() };
        words.push(&last);
        Some(words.join(" "))
    };
    LOGGED.iter().find_map(|start| of(start)).unwrap_or_default()
}

/// Puts [`CUT_OFF`] in place of the part of the last word that may be incomplete: the word's name is known only if a
/// value follows.
fn without_end(line: &str) -> String {
    let (whole, last) = line.rsplit_once(' ').unwrap_or(("", line));
    let name = last.split_once('=').map(|(name, _)| format!("{name}={CUT_OFF} ")).unwrap_or_default();
    format!("{whole} {name}{CUT_OFF}")
}

/// Returns the release of the last boot in a log that contains the kernel's banner (init/version.c).
pub(crate) fn logged_release(text: &str) -> Option<&str> {
    if !is_log(text) {
        return None;
    }
    let (_, rest) = text.lines().rev().find_map(|line| line.split_once("Linux version "))?;
    rest.split_whitespace().next().filter(|release| release.starts_with(|c: char| c.is_ascii_digit()))
}

/// Returns `uname -v` of the last boot: the banner's end, from the build number on. `None` if the banner has no date:
/// every build has one (UTS_VERSION of init/Makefile), so the banner was truncated.
pub(crate) fn logged_version(text: &str) -> Option<&str> {
    logged_release(text)?;
    let (_, rest) = text.lines().rev().find_map(|line| line.split_once("Linux version "))?;
    let is_number = |at: usize| rest.get(at + 2..).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let (at, _) = rest.rmatch_indices(" #").find(|(at, _)| is_number(*at))?;
    let version = rest.get(at + 1..)?.trim();
    let is_year = |word: &str| word.len() == 4 && word.parse().is_ok_and(|year: u32| (1990..2100).contains(&year));
    version.split(|c: char| !c.is_ascii_digit()).any(is_year).then_some(version)
}

/// Returns the messages of the last boot in a log, as records of /dev/kmsg (Documentation/ABI/testing/dev-kmsg)
/// preceded by [`LOG_PART`].
pub(crate) fn log_records(text: &str) -> Option<String> {
    if !is_log(text) {
        return None;
    }
    let messages: Vec<&str> = text.lines().map(message).collect();
    let from = messages.iter().rposition(|message| message.starts_with("Linux version ")).unwrap_or_default();
    let of_boot = messages.iter().skip(from).enumerate();
    Some(of_boot.fold(LOG_PART.to_owned(), |all, (at, message)| format!("{all}6,{at},0,-;{message}\n")))
}

/// Returns a line without the prefix that /dev/kmsg, dmesg, a serial console, syslog or journalctl puts before the
/// message.
fn message(line: &str) -> &str {
    let is_record = |head: &str| head.starts_with(|c: char| c.is_ascii_digit()) && head.matches(',').count() >= 3;
    let mut rest = match line.split_once(';') {
        Some((head, rest)) if is_record(head) && !head.contains(' ') => rest,
        _ => line.trim_start(),
    };
    loop {
        let close = if rest.starts_with('[') {
            ']'
        } else if rest.starts_with('<') {
            '>'
        } else {
            break;
        };
        let Some((_, behind)) = rest.split_once(close) else { break };
        rest = behind.trim_start();
    }
    // `Sep 26 14:47:11 host kernel: `
    match rest.split_once("kernel: ") {
        Some((head, behind)) if head.split_whitespace().count() <= 4 => message(behind),
        _ => rest,
    }
}

/// Beginnings of messages that only one architecture prints, with the machine (`uname -m`): arch/arm64/kernel/setup.c,
/// arch/arm/kernel/setup.c, arch/s390/kernel/setup.c, arch/riscv/kernel/sbi.c.
const MACHINES: &[(&str, &str)] = &[
    ("Booting Linux on physical CPU 0x0000000000 [", "aarch64"),
    ("CPU: ARMv6-compatible processor ", "armv6l"),
    ("CPU: ARMv7 Processor ", "armv7l"),
    ("SBI specification v", "riscv64"),
    ("setup: Linux is running ", "s390x"),
];

/// Beginnings of the names of compilers for one architecture, with the machine.
const COMPILERS: &[(&str, &str)] = &[
    ("(aarch64-", "aarch64"),
    ("(i686-", "i686"),
    ("(loongarch64-", "loongarch64"),
    ("(powerpc64le-", "ppc64le"),
    ("(riscv64-", "riscv64"),
    ("(s390x-", "s390x"),
    ("(x86_64-", "x86_64"),
];

/// Returns the machine (`uname -m`) that a log shows: by the compiler in the banner, or by messages of one architecture.
/// A 32-bit kernel of x86 also prints its low memory (arch/x86/mm/init_32.c).
pub(crate) fn logged_machine(text: &str) -> Option<&'static str> {
    if !is_log(text) {
        return None;
    }
    let any = |is: &dyn Fn(&str) -> bool| text.lines().map(message).any(is);
    let banner = text.lines().map(message).rfind(|message| message.starts_with("Linux version ")).unwrap_or_default();
    let by_compiler = || COMPILERS.iter().find(|(part, _)| banner.contains(part)).map(|(_, machine)| *machine);
    let by_message = || MACHINES.iter().find(|(begin, _)| any(&|message| message.starts_with(begin))).map(|(_, m)| *m);
    let of_x86 = || {
        let begins = ["BIOS-provided physical RAM map:", "BIOS-e820: ", "KERNEL supported cpus:", "x86/fpu: "];
        any(&|message| begins.iter().any(|begin| message.starts_with(begin)))
    };
    let is_32 = || any(&|message| message.ends_with("LOWMEM available."));
    by_compiler().or_else(by_message).or_else(|| of_x86().then(|| if is_32() { "i686" } else { "x86_64" }))
}

/// Returns the device tree's model in a log (drivers/of/fdt.c; arch/arm and arch/arm64 print it).
pub(crate) fn logged_model(text: &str) -> Option<&str> {
    let model = |line| message(line).split_once("Machine model: ").map(|(_, model): (_, &str)| model.trim());
    text.lines().filter(|_| is_log(text)).find_map(model).filter(|model| !model.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_log_has_the_release() {
        let log =
            "[0] Linux version 6.1.0-1 (x)\n[0] Kernel command line: ro\n[0] Linux version 6.6.31+rpt-rpi-v8 (x)\n";
        assert_eq!(logged_release(log), Some("6.6.31+rpt-rpi-v8"));
        assert_eq!(logged_release("Linux version 6.1\n"), None);
    }

    #[test]
    fn a_log_has_the_version() {
        let of = |banner: &str| format!("[0] Linux version {banner}\n[0] Kernel command line: ro\n");
        let whole = of("5.3.8 (a@b) (gcc version 8 #2) #3 SMP PREEMPT Thu Oct 31 08:00:00 UTC 2019");
        assert_eq!(logged_version(&whole), Some("#3 SMP PREEMPT Thu Oct 31 08:00:00 UTC 2019"));
        assert_eq!(logged_version(&of("5.3.8 (a@b) (gcc) #1 SMP")), None);
    }

    #[test]
    fn a_log_has_the_messages_of_its_last_boot() {
        let records = |text: &str| log_records(text).map(|all| all.replace(LOG_PART, ""));
        for line in [
            "Kernel command line: ro [x]",
            "[    0.04] Kernel command line: ro [x]",
            "<5>[    0.04][    T0] Kernel command line: ro [x]",
            "[Mon Jun 27 15:10:44 2022] Kernel command line: ro [x]",
            "Sep 26 14:47:11 r14 kernel: [    0.04] Kernel command line: ro [x]",
            "2025-09-26T14:47:11+02:00 r14 kernel: Kernel command line: ro [x]",
            "[    0.89] r14 kernel: Kernel command line: ro [x]",
            "5,1,10,-;Kernel command line: ro [x]",
        ] {
            assert_eq!(records(line).as_deref(), Some("6,0,0,-;Kernel command line: ro [x]\n"), "{line}");
        }
        let twice = "[0] Linux version 5.1 (x)\n[0] Kernel command line: a\n[0] Linux version 5.2 (x)\n[0] Kernel command line: b\n";
        assert_eq!(records(twice).as_deref(), Some("6,0,0,-;Linux version 5.2 (x)\n6,1,0,-;Kernel command line: b\n"));
        assert_eq!(log_records("GRUB_CMDLINE_LINUX=a\n"), None);
    }

    #[test]
    fn a_log_shows_the_machine() {
        for (message, expected) in [
            ("BIOS-e820: [mem 0x0-0x9fbff] usable", Some("x86_64")),
            ("BIOS-e820: [mem 0x0-0x9fbff] usable\n[0] 887MB LOWMEM available.", Some("i686")),
            ("Booting Linux on physical CPU 0x0000000000 [0x410fd034]", Some("aarch64")),
            ("CPU: ARMv7 Processor [413fc082] revision 2 (ARMv7), cr=10c5387d", Some("armv7l")),
            ("Linux version 6.1 (a@b) (riscv64-linux-gnu-gcc (Debian) 12.2) #1 SMP", Some("riscv64")),
            ("Linux version 6.1 (a@b) (gcc (Debian) 12.2) #1 SMP", None),
        ] {
            let log = format!("[0] {message}\n[0] Kernel command line: ro\n");
            assert_eq!(logged_machine(&log), expected, "{message}");
        }
        let log = "[0] OF: fdt: Machine model: TI AM335x BeagleBone Black\n[0] Kernel command line: ro\n";
        assert_eq!(logged_model(log), Some("TI AM335x BeagleBone Black"));
    }

    #[test]
    fn a_wrapped_line_is_joined() {
        let log = "[0] Kernel command line: old\n[0] Kernel command line: ro \\\n[0] Kernel command line: isolcpus=2-3 \\\n[0] Kernel command line: quiet\n";
        assert_eq!(logged(log), "ro isolcpus=2-3 quiet");
        assert_eq!(
            logged("[0] Kernel command line: a \\\n[0] Kernel command line: b\n[9] Kernel command line: c\n"),
            "c"
        );
    }

    #[test]
    fn what_printk_cut_off_is_unknown() {
        let line = format!("[    0.04] Kernel command line: {}", "a=12345 ".repeat(121));
        assert!(logged(&format!("{line}isolcpus=2-1\n")).ends_with(" a=12345 isolcpus=${cut} ${cut}"));
        assert!(logged(&format!("{line}systemd.jour\n")).ends_with(" a=12345 ${cut}"));
        assert!(logged(&format!("{}\n", line.replacen("a=12345 ", "", 9))).ends_with(" a=12345"));
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "(?s)(Kernel command line: |.{0,10}|\n){0,20}") {
            let _ = (logged(&text), message(&text), log_records(&text));
        }
    }
}
