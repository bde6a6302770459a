//! Kernel command lines in files of boot loaders and in logs.

/// Prepended to the content of /dev/kmsg if that is only a part of the log: messages missing from it may have been
/// printed.
pub const LOG_PART: &str = "# part\n";

/// A file with a kernel command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BootFile {
    /// /etc/default/grub and its drop-ins.
    Grub,
    /// An entry of the Boot Loader Specification, also used by systemd-boot.
    Entry,
    /// GRUB's menu, grub.cfg.
    Menu,
    /// extlinux.conf or syslinux.cfg.
    Extlinux,
    /// uEnv.txt, armbianEnv.txt, a U-Boot script, Alpine's update-extlinux.conf; the boot scripts may add words.
    Environment,
    /// A kernel log that contains the command line.
    Log,
}

/// Determines the kind of a file from its content.
pub fn boot_file(text: &str) -> Option<BootFile> {
    let any = |is: &dyn Fn(&str) -> bool| text.lines().map(str::trim).any(is);
    if any(&|line| LOGGED.iter().any(|start| line.contains(start))) {
        Some(BootFile::Log)
    } else if any(&|line| line.starts_with("menuentry ")) {
        Some(BootFile::Menu)
    } else if continued(text).lines().any(|line| grub_assignment(line).is_some()) {
        Some(BootFile::Grub)
    } else if any(&|line| keyword(line, "append").is_some()) && any(&|line| keyword(line, "label").is_some()) {
        Some(BootFile::Extlinux)
    } else if any(&|line| keyword(line, "options").is_some())
        && any(&|line| ["linux", "title", "efi", "version"].iter().any(|word| keyword(line, word).is_some()))
    {
        Some(BootFile::Entry)
    } else if any(&|line| environment(line).is_some() || commands(line).into_iter().any(|one| bootargs(one).is_some()))
    {
        Some(BootFile::Environment)
    } else {
        None
    }
}

/// Returns the command line in a file, as far as it contains one, without additions by loader and boot script.
pub fn boot_file_cmdline(text: &str) -> Option<String> {
    let line = match boot_file(text)? {
        BootFile::Log => logged(text),
        BootFile::Grub => grub(text),
        BootFile::Entry => joined(text.lines().filter_map(|line| keyword(line, "options"))),
        BootFile::Extlinux => extlinux(text),
        BootFile::Menu => text.lines().find_map(menu_line).unwrap_or_default().to_owned(),
        BootFile::Environment => script(text),
    };
    let line = line.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

fn joined<'l>(parts: impl Iterator<Item = &'l str>) -> String {
    parts.map(str::trim).collect::<Vec<_>>().join(" ")
}

/// Matches `word rest`, ignoring case (syslinux and U-Boot are not case-sensitive).
fn keyword<'l>(line: &'l str, word: &str) -> Option<&'l str> {
    let (first, rest) = line.trim().split_once([' ', '\t'])?;
    first.eq_ignore_ascii_case(word).then_some(rest.trim())
}

/// Texts before the command line in a log: init/main.c, start_kernel; arch/x86/kernel/setup.c prints `Command line:`
/// earlier.
const LOGGED: &[&str] = &["Kernel command line: ", "] Command line: ", "kernel: Command line: "];

/// Returns the command line of the last boot in the log.
fn logged(text: &str) -> String {
    let of = |start: &str| text.lines().rev().find_map(|line| line.split_once(start).map(|(_, rest)| rest.to_owned()));
    LOGGED.iter().find_map(|start| of(start)).unwrap_or_default()
}

/// Returns the release of the last boot in a log that contains the kernel's banner (init/version.c).
pub(crate) fn logged_release(text: &str) -> Option<&str> {
    if boot_file(text) != Some(BootFile::Log) {
        return None;
    }
    let (_, rest) = text.lines().rev().find_map(|line| line.split_once("Linux version "))?;
    rest.split_whitespace().next().filter(|release| release.starts_with(|c: char| c.is_ascii_digit()))
}

/// The messages of the last boot in a log, as records of /dev/kmsg (Documentation/ABI/testing/dev-kmsg) behind [`LOG_PART`].
pub(crate) fn log_records(text: &str) -> Option<String> {
    if boot_file(text) != Some(BootFile::Log) {
        return None;
    }
    let messages: Vec<&str> = text.lines().map(message).collect();
    let from = messages.iter().rposition(|message| message.starts_with("Linux version ")).unwrap_or_default();
    let of_boot = messages.iter().skip(from).enumerate();
    Some(of_boot.fold(LOG_PART.to_owned(), |all, (at, message)| format!("{all}6,{at},0,-;{message}\n")))
}

/// A line without what /dev/kmsg, dmesg, a serial console, syslog or journalctl puts before the message.
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

/// In a shell file, a backslash at the end of a line joins that line with the next one.
fn continued(text: &str) -> String {
    text.replace("\\\n", "")
}

/// Returns the words after the kernel in the first entry of grub.cfg.
fn menu_line(line: &str) -> Option<&str> {
    let rest = ["linux", "linux16", "linuxefi"].iter().find_map(|word| keyword(line, word))?;
    rest.split_once([' ', '\t']).map(|(_, words)| words)
}

const GRUB: [&str; 2] = ["GRUB_CMDLINE_LINUX", "GRUB_CMDLINE_LINUX_DEFAULT"];

/// Returns the index of the variable, true if the value is appended, and the value without quotes.
fn grub_assignment(line: &str) -> Option<(usize, bool, String)> {
    let line = line.trim();
    let (name, value) = line.strip_prefix("export ").unwrap_or(line).split_once('=')?;
    let name = name.trim_start();
    let appends = name.ends_with('+');
    let at = GRUB.iter().position(|known| *known == name.trim_end_matches('+'))?;
    Some((at, appends, unquoted(value)?))
}

/// Removes the quotes of a shell word, which ends at a blank outside them; `None` if a quote is not closed.
fn unquoted(value: &str) -> Option<String> {
    let (mut text, mut quote, mut escaped) = (String::new(), None, false);
    for c in value.chars() {
        match (quote, c) {
            _ if escaped => {
                text.push(c);
                escaped = false;
            }
            (Some('"') | None, '\\') => escaped = true,
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            (None, c) if c.is_whitespace() => break,
            (_, c) => text.push(c),
        }
    }
    quote.is_none().then(|| text.trim_end().to_owned())
}

/// Evaluates assignments in grub-mkconfig's order. The last of several counts; a value may refer to the variables.
fn grub(text: &str) -> String {
    let mut values = [String::new(), String::new()];
    for (at, appends, value) in continued(text).lines().filter_map(grub_assignment) {
        // The longer name first, since it begins with the shorter one.
        let filled = GRUB.iter().zip(values.iter()).rev().fold(value, |value, (name, before)| {
            value.replace(&format!("${{{name}}}"), before).replace(&format!("${name}"), before)
        });
        if let Some(known) = values.get_mut(at) {
            *known = if appends { format!("{known}{filled}") } else { filled };
        }
    }
    values.join(" ")
}

/// Returns the APPEND line of the default label, or else of the first one.
fn extlinux(text: &str) -> String {
    let default = text.lines().find_map(|line| keyword(line, "default"));
    let mut label = None;
    let mut found: Vec<(&str, &str)> = Vec::new();
    for line in text.lines() {
        label = keyword(line, "label").or(label);
        if let (Some(label), Some(append)) = (label, keyword(line, "append")) {
            found.push((label, append));
        }
    }
    let chosen = found.iter().find(|(label, _)| Some(*label) == default).or(found.first());
    chosen.map_or_else(String::new, |(_, append)| (*append).to_owned())
}

/// Variables that boot scripts of BeagleBone, Armbian and others pass to the kernel; `default_kernel_opts` is Alpine's.
fn environment(line: &str) -> Option<String> {
    const NAMES: &[&str] = &["cmdline", "optargs", "bootargs", "extraargs", "extraboardargs", "default_kernel_opts"];
    let (name, value) = line.trim().split_once('=')?;
    // In a Raspberry Pi's config.txt, `cmdline=` names the file.
    let is_one = NAMES.contains(&name) && !value.ends_with(".txt");
    is_one.then(|| value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value).to_owned())
}

/// The value of `setenv bootargs …` or `env set bootargs …`.
fn bootargs(command: &str) -> Option<&str> {
    let rest = keyword(command, "setenv").or_else(|| keyword(keyword(command, "env")?, "set"))?;
    let value = keyword(rest, "bootargs")?;
    Some(["\"", "'"].iter().find_map(|q| value.strip_prefix(q)?.strip_suffix(q)).unwrap_or(value))
}

/// The commands of a line, which `;` ends outside quotes.
fn commands(line: &str) -> Vec<&str> {
    let mut quote = None;
    let is_end = |c: char| {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '"' || c == '\'' => quote = Some(c),
            None => return c == ';',
            Some(_) => {}
        }
        false
    };
    line.split(is_end).map(str::trim).collect()
}

/// Stands for the words that a script adds under a condition.
const CONDITIONAL: &str = "${condition}";

/// The last of several `setenv bootargs` counts; it may refer to the value set by earlier ones. The effect of one
/// inside an `if` is unknown.
fn script(text: &str) -> String {
    let (mut set, mut depth) = (String::new(), 0_usize);
    for command in text.lines().filter(|line| !line.trim_start().starts_with('#')).flat_map(commands) {
        let (first, rest) = command.split_once([' ', '\t']).unwrap_or((command, ""));
        let own = match first {
            "if" | "for" | "while" => {
                depth += 1;
                continue;
            }
            "fi" | "done" => {
                depth = depth.saturating_sub(1);
                continue;
            }
            "then" | "else" | "do" => rest.trim(),
            _ => command,
        };
        match bootargs(own) {
            Some(_) if depth > 0 => set = format!("{set} {CONDITIONAL}"),
            Some(value) => set = value.replace("${bootargs}", &set).replace("$bootargs", &set),
            None => {}
        }
    }
    let variables: Vec<String> = text.lines().filter_map(environment).chain(Some(set)).collect();
    joined(variables.iter().map(String::as_str))
}

/// Returns true if a word contains a variable of a boot loader or its script (`$name`, `${name}`); `memmap=1G$4G` has
/// none.
pub fn has_variable(word: &str) -> bool {
    word.match_indices('$').any(|(at, _)| {
        word.get(at + 1..)
            .is_some_and(|rest| rest.starts_with(|c: char| c == '{' || c == '_' || c.is_ascii_alphabetic()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_a_shells() {
        for (value, word) in [
            ("'a'b\"c d\"", Some("abc d")),
            ("a b", Some("a")),
            ("a'b", None),
            ("\"a # b\" # c", Some("a # b")),
            ("a\\ b", Some("a b")),
        ] {
            assert_eq!(unquoted(value).as_deref(), word, "{value}");
        }
    }

    #[test]
    fn each_file_gives_its_line() {
        for (text, kind, line) in [
            (
                "# a\nGRUB_TIMEOUT=5\nGRUB_CMDLINE_LINUX_DEFAULT=\"quiet isolcpus=2\" # note\nGRUB_CMDLINE_LINUX='nohz_full=2'\n",
                BootFile::Grub,
                "nohz_full=2 quiet isolcpus=2",
            ),
            (
                "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\nGRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT isolcpus=3\"\nGRUB_CMDLINE_LINUX+=\" a\"\n",
                BootFile::Grub,
                "a quiet isolcpus=3",
            ),
            (
                "title Debian\nlinux /vmlinuz\noptions root=/dev/sda1 ro\noptions isolcpus=2\n",
                BootFile::Entry,
                "root=/dev/sda1 ro isolcpus=2",
            ),
            (
                "DEFAULT b\nLABEL a\n  APPEND ro\nLABEL b\n  LINUX /x\n  append root=/dev/mmcblk0p1 isolcpus=3\n",
                BootFile::Extlinux,
                "root=/dev/mmcblk0p1 isolcpus=3",
            ),
            (
                "uname_r=5.10\ncmdline=coherent_pool=1M isolcpus=1\noptargs=quiet\n",
                BootFile::Environment,
                "coherent_pool=1M isolcpus=1 quiet",
            ),
            ("verbosity=1\nextraargs=isolcpus=3\n", BootFile::Environment, "isolcpus=3"),
            (
                "[    0.0] Linux\n[    0.1] Kernel command line: ro isolcpus=2\n[ 0.2] x\n",
                BootFile::Log,
                "ro isolcpus=2",
            ),
            ("5,1,10,-;Kernel command line: ro isolcpus=2\n", BootFile::Log, "ro isolcpus=2"),
        ] {
            assert_eq!((boot_file(text), boot_file_cmdline(text).as_deref()), (Some(kind), Some(line)), "{text}");
        }
    }

    #[test]
    fn lines_of_scripts_and_menus_are_read() {
        for (text, line) in [
            ("GRUB_CMDLINE_LINUX_DEFAULT=\"quiet \\\n  isolcpus=2\"\n", "quiet   isolcpus=2"),
            (
                "set default=0\nmenuentry 'D' {\n\tlinux\t/vmlinuz root=/dev/sda ro isolcpus=2\n}\n",
                "root=/dev/sda ro isolcpus=2",
            ),
            (
                "setenv bootargs \"console=ttymxc0 rw\"\nsetenv bootargs \"${bootargs} isolcpus=3\"\nbootz\n",
                "console=ttymxc0 rw isolcpus=3",
            ),
            ("env set bootargs rw isolcpus=3\n", "rw isolcpus=3"),
            ("setenv bootargs rw isolcpus=3; bootz 'a;b'\n", "rw isolcpus=3"),
            (
                "setenv bootargs rw\nif test -n \"${x}\"; then\n\tsetenv bootargs \"${bootargs} isolcpus=2\" ;\nelse setenv bootargs a; fi\nsetenv bootargs ${bootargs} isolcpus=3\n",
                "rw ${condition} ${condition} isolcpus=3",
            ),
            ("default_kernel_opts=\"quiet isolcpus=2\"\n", "quiet isolcpus=2"),
        ] {
            assert_eq!(boot_file_cmdline(text).as_deref(), Some(line), "{text}");
        }
    }

    #[test]
    fn variables_are_told_from_sizes() {
        for (word, expected) in [
            ("loglevel=${verbosity}", true),
            ("$cmdline", true),
            ("root=/dev/mmcblk$devnum", true),
            ("memmap=1G$4G", false),
            ("memmap=64K$0x18690000", false),
            ("a$", false),
            ("${", true),
        ] {
            assert_eq!(has_variable(word), expected, "{word}");
        }
    }

    #[test]
    fn a_log_has_the_release() {
        let log =
            "[0] Linux version 6.1.0-1 (x)\n[0] Kernel command line: ro\n[0] Linux version 6.6.31+rpt-rpi-v8 (x)\n";
        assert_eq!(logged_release(log), Some("6.6.31+rpt-rpi-v8"));
        assert_eq!(logged_release("Linux version 6.1\n"), None);
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
    fn other_files_are_none() {
        for text in [
            "root=/dev/sda1 ro quiet",
            "dtparam=audio=on\n[pi4]\ncmdline=cmdline.txt\n",
            "CONFIG_HZ=250\n",
            "#GRUB_CMDLINE_LINUX=a\n",
            "",
        ] {
            assert_eq!(boot_file(text), None, "{text}");
        }
        assert_eq!(boot_file_cmdline("GRUB_CMDLINE_LINUX=\"\"\n"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "(?s)(GRUB_CMDLINE_LINUX(_DEFAULT)?\\+?=|append |label |options |extraargs=|.{0,10}|\n){0,20}") {
            let _ = (boot_file_cmdline(&text), message(&text));
        }
    }
}
