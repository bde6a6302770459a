//! Kernel command lines in files of boot loaders and in logs.

use crate::boot_log::{is_log, logged};
use crate::boot_script::{
    assigned, bootargs, commands, continued, environment, filled, grub_variable, joined_quotes, script, unquoted,
    without_commands,
};
use crate::first_parameter;
use crate::release::of_image;

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
    if is_log(text) {
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
    } else if any(&|line| environment(line).is_some() || grub_variable(line).is_some())
        || joined_quotes(text).lines().flat_map(commands).any(|one| bootargs(one).is_some())
    {
        Some(BootFile::Environment)
    } else {
        None
    }
}

/// Returns the command line that a file contains, without the words that the loader and the boot script add.
pub fn boot_file_cmdline(text: &str) -> Option<String> {
    let line = match boot_file(text)? {
        BootFile::Log => logged(text),
        BootFile::Grub => grub(text),
        BootFile::Entry => joined(text.lines().filter_map(|line| keyword(line, "options"))),
        BootFile::Extlinux => extlinux(text),
        BootFile::Menu => filled(text.lines().find_map(menu_line).unwrap_or_default(), &assigned(text)),
        BootFile::Environment => script(&joined_quotes(text)),
    };
    let line = line.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

/// Returns the release of the kernel that a file with a command line starts: an entry's version, the release that a
/// BeagleBone's uEnv.txt names, or the release in the name of the kernel's file.
pub(crate) fn boot_file_release(text: &str) -> Option<String> {
    let file = |words: &[&str]| text.lines().find_map(|line| words.iter().find_map(|word| keyword(line, word)));
    let image = |path: &str| of_image(path.split_whitespace().next()?).map(str::to_owned);
    let own = match boot_file(text) {
        Some(BootFile::Entry) => file(&["linux", "efi"]).and_then(image),
        Some(BootFile::Menu) => file(&["linux", "linux16", "linuxefi"]).and_then(image),
        Some(BootFile::Environment) => {
            text.lines().find_map(|line| line.trim().strip_prefix("uname_r=")).and_then(|r| {
                let release = r.trim();
                release.starts_with(|c: char| c.is_ascii_digit()).then(|| release.to_owned())
            })
        }
        _ => None,
    };
    let line = || boot_file_cmdline(text).unwrap_or_else(|| text.to_owned());
    own.or_else(|| image(&first_parameter(&line(), "BOOT_IMAGE")?))
}

fn joined<'l>(parts: impl Iterator<Item = &'l str>) -> String {
    parts.map(str::trim).collect::<Vec<_>>().join(" ")
}

/// Returns `rest` of a line `word rest`, ignoring case (syslinux and U-Boot are not case-sensitive).
pub(crate) fn keyword<'l>(line: &'l str, word: &str) -> Option<&'l str> {
    let (first, rest) = line.trim().split_once([' ', '\t'])?;
    first.eq_ignore_ascii_case(word).then_some(rest.trim())
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

/// True if a value of /etc/default/grub begins with a quote that its line does not close.
pub(crate) fn has_open_quote(text: &str) -> bool {
    let is_one = |name: &str| GRUB.contains(&name.trim_end_matches('+'));
    let text = continued(text);
    let values = text.lines().filter_map(|line| line.trim().split_once('=')).filter(|(name, _)| is_one(name));
    values.map(|(_, value)| unquoted(value)).any(|value| value.is_none())
}

/// Evaluates assignments in grub-mkconfig's order. The last of several assignments counts; a value may refer to
/// variables of the file. In a drop-in of /etc/default/grub.d it may also refer to a variable that another file sets,
/// which is left unexpanded.
fn grub(text: &str) -> String {
    let mut others = assigned(text);
    others.retain(|name, _| !GRUB.contains(&name.as_str()));
    let mut values: [Option<String>; 2] = [None, None];
    for (at, appends, value) in continued(text).lines().filter_map(grub_assignment) {
        // The longer name comes first, because it begins with the shorter one.
        let known = GRUB.iter().zip(&values).rev().filter_map(|(name, before)| Some((name, before.as_ref()?)));
        let value = known.fold(value, |value, (name, before)| {
            value.replace(&format!("${{{name}}}"), before).replace(&format!("${name}"), before)
        });
        let value = filled(&without_commands(&value), &others);
        if let (Some(known), Some(name)) = (values.get_mut(at), GRUB.get(at)) {
            let before = if appends { known.take().unwrap_or_else(|| format!("${{{name}}}")) } else { String::new() };
            *known = Some(before + &value);
        }
    }
    values.map(Option::unwrap_or_default).join(" ")
}

/// Removes the references to GRUB's two variables that remain: in the complete /etc/default/grub they are unset before
/// its first line.
pub(crate) fn without_own(line: &str) -> String {
    // The longer name comes first, because it begins with the shorter one.
    let line = GRUB
        .iter()
        .rev()
        .fold(line.to_owned(), |line, name| line.replace(&format!("${{{name}}}"), "").replace(&format!("${name}"), ""));
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the APPEND line of the default label, or, if there is no default, of the first label.
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

/// Returns true if a word stands for text that is not given: it contains a variable of a boot loader or its script
/// (`$name`, `${name}`; `memmap=1G$4G` has none), or it or its value is a mark of an omission ([`is_omission`]), or it
/// belongs to a description such as `<other params>`.
pub fn is_placeholder(word: &str) -> bool {
    let has_variable = word.match_indices('$').any(|(at, _)| {
        word.get(at + 1..)
            .is_some_and(|rest| rest.starts_with(|c: char| c == '{' || c == '_' || c.is_ascii_alphabetic()))
    });
    let value = word.split_once('=').map_or(word, |(_, value)| value);
    has_variable || is_omission(word) || is_omission(value) || value.starts_with('<') || value.ends_with('>')
}

/// Recognises the marks by which people leave out parameters: `...`, `…`, `[...]`, `<snip>`.
pub fn is_omission(text: &str) -> bool {
    let inner = text.trim_matches(['[', ']', '(', ')', '<', '>', '{', '}', '"', '\'']);
    let is_dots = inner.len() >= 3 && inner.chars().all(|c| matches!(c, '.' | '\u{2026}'));
    is_dots || (inner.len() < text.len() && ["snip", "snipped", "omitted"].contains(&inner))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
                "${GRUB_CMDLINE_LINUX} a quiet isolcpus=3",
            ),
            (
                "GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX isolcpus=3\"\n",
                BootFile::Grub,
                "$GRUB_CMDLINE_LINUX isolcpus=3",
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
                "coherent_pool=1M isolcpus=1 quiet ${script}",
            ),
            ("verbosity=1\nextraargs=isolcpus=3\n", BootFile::Environment, "isolcpus=3 ${script}"),
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
            (
                "# it's\nsetenv bootargs \"console=ttyS0\nroot=/dev/mmcblk0p2 rw\nisolcpus=3 ${more}\"\nbooti\n",
                "console=ttyS0 root=/dev/mmcblk0p2 rw isolcpus=3 ${more}",
            ),
            ("setenv bootargs \"rw isolcpus=3\nbooti\n", "\"rw isolcpus=3"),
            ("setenv bootargs rw isolcpus=3; bootz 'a;b'\n", "rw isolcpus=3"),
            (
                "setenv bootargs rw\nif test -n \"${x}\"; then\n\tsetenv bootargs \"${bootargs} isolcpus=2\" ;\nelse setenv bootargs a; fi\nsetenv bootargs ${bootargs} isolcpus=3\n",
                "rw ${condition} ${condition} isolcpus=3",
            ),
            ("default_kernel_opts=\"quiet isolcpus=2\"\n", "quiet isolcpus=2 ${script}"),
            ("bootargs=console=ttyS0 root=${dev}\n", "console=ttyS0 root=${dev}"),
            (
                "C=2-3\nGRUB_CMDLINE_LINUX_DEFAULT=\"isolcpus=${C} nohz_full=$C a=$D\"\n",
                "isolcpus=2-3 nohz_full=2-3 a=$D",
            ),
            ("GRUB_CMDLINE_LINUX=\"ro $(cat /etc/rt) isolcpus=2\"\n", "ro ${command} isolcpus=2"),
            ("set a=\"x $b\"\nif [ 1 ]; then\n  b=c\nfi\nmenuentry 'D' {\n  linux /k ro $a $c\n}\n", "ro x $b $c"),
            (
                "console=ttyS0\nset_args=setenv bootargs console=${console} root=${dev} isolcpus=1\nuenvcmd=run load; run set_args; bootz\nother=setenv bootargs nothing\n",
                "console=ttyS0 root=${dev} isolcpus=1",
            ),
            ("set otherbootargs=\"rw rcu_nocbs=all \"\nset p='console=tty0'\n", "rw rcu_nocbs=all ${condition}"),
        ] {
            assert_eq!(boot_file_cmdline(text).as_deref(), Some(line), "{text}");
        }
    }

    #[test]
    fn a_complete_file_of_grub_starts_with_empty_variables() {
        for (line, own) in
            [("$GRUB_CMDLINE_LINUX a ${GRUB_CMDLINE_LINUX_DEFAULT} b", "a b"), ("a=$OTHER b", "a=$OTHER b")]
        {
            assert_eq!(without_own(line), own);
        }
    }

    #[test]
    fn the_kernels_file_has_the_release() {
        for (text, release) in [
            ("BOOT_IMAGE=/vmlinuz-3.10.0-862.el7.x86_64 ro\n", Some("3.10.0-862.el7.x86_64")),
            ("BOOT_IMAGE=/boot/vmlinuz-linux ro\n", None),
            ("title F\nlinux /vmlinuz-6.11.4-301.fc41.x86_64\noptions ro\n", Some("6.11.4-301.fc41.x86_64")),
            ("menuentry 'D' {\n linux /boot/vmlinuz-6.1.0-28-amd64 ro\n}\n", Some("6.1.0-28-amd64")),
            ("uname_r=5.10.168-ti-r71\ncmdline=quiet\n", Some("5.10.168-ti-r71")),
            ("GRUB_CMDLINE_LINUX=quiet\n", None),
        ] {
            assert_eq!(boot_file_release(text).as_deref(), release, "{text}");
        }
    }

    #[test]
    fn placeholders_are_told_from_values() {
        for (word, expected) in [
            ("loglevel=${verbosity}", true),
            ("$cmdline", true),
            ("root=/dev/mmcblk$devnum", true),
            ("memmap=1G$4G", false),
            ("memmap=64K$0x18690000", false),
            ("a$", false),
            ("${", true),
            ("...", true),
            ("[...]", true),
            ("\u{2026}", true),
            ("root=...", true),
            ("<snip>", true),
            ("<other", true),
            ("params>", true),
            ("isolcpus=<list>", true),
            ("snip", false),
            ("..", false),
            ("initrd=../../initrd.img", false),
            ("ip=10.0.0.2", false),
        ] {
            assert_eq!(is_placeholder(word), expected, "{word}");
        }
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
            let _ = boot_file_cmdline(&text);
        }
    }
}
