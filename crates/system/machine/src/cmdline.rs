use crate::Machine;
use crate::release::series;

/// Splits a command line as the kernel does: at white space outside double quotes. Quotes around a word or a value are
/// removed (lib/cmdline.c, next_arg). Drops the arguments of init after `--`.
pub fn parameters(cmdline: &str) -> Vec<String> {
    split(cmdline).into_iter().take_while(|word| word != "--").collect()
}

/// Returns the value of the last `name=value`, or `""` if the last occurrence is a bare `name`. `-` and `_` are equal
/// in names, as in the kernel (kernel/params.c, parameq).
pub fn parameter(cmdline: &str, name: &str) -> Option<String> {
    let same = |key: &str| key.replace('-', "_") == name.replace('-', "_");
    parameters(cmdline).iter().rev().find_map(|word| {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        same(key).then(|| value.to_owned())
    })
}

/// Like [`parameter`], but returns the value of the first occurrence.
pub fn first_parameter(cmdline: &str, name: &str) -> Option<String> {
    parameters(cmdline).iter().find_map(|word| parameter(&format!("\"{word}\""), name))
}

/// Parameters whose values all count: their handlers add to what an earlier occurrence set (tsc_setup of
/// arch/x86/kernel/tsc.c, hugepages_setup of mm/hugetlb.c, pci_setup of drivers/pci/pci.c, …), or user space reads them
/// all (systemd, dracut).
const REPEATED: &[&str] = &[
    "acpi",
    "acpi_osi",
    "amd_iommu",
    "blacklist",
    "bond",
    "bridge",
    "cgroup_disable",
    "cgroup_enable",
    "clearcpuid",
    "console",
    "crashkernel",
    "dyndbg",
    "earlycon",
    "efi",
    "fbcon",
    "hugepages",
    "hugepagesz",
    "ifname",
    "initcall_blacklist",
    "initrd",
    "intel_iommu",
    "iommu",
    "ip",
    "kprobe_event",
    "mce",
    "mem",
    "memmap",
    "modprobe.blacklist",
    "nameserver",
    "pci",
    "reserve",
    "systemd.mask",
    "systemd.setenv",
    "systemd.set_credential",
    "systemd.wants",
    "trace_event",
    "tsc",
    "video",
    "virtio_mmio.device",
    "vlan",
];

pub fn may_repeat(word: &str) -> bool {
    let key = word.split('=').next().unwrap_or_default().replace('-', "_");
    REPEATED.contains(&key.as_str()) || key.starts_with("rd.") || key.ends_with(".dyndbg")
}

/// Command line length in bytes that every kernel accepts (m68k has the smallest limit).
pub const SHORTEST_CMDLINE: usize = 255;

/// Returns the maximum length of a command line in bytes: COMMAND_LINE_SIZE less the closing NUL, by architecture
/// (/proc/sys/kernel/arch) and release, from arch/*/include/uapi/asm/setup.h, asm/setup.h and asm-generic/setup.h of
/// Linux 5.10, 5.15, 6.1, 6.6, 6.12, 6.18 and 7.2. `None` if the release does not determine it: RISC-V had 512 bytes
/// before March 2023, also in stable releases, and LoongArch changed its limit between 6.12 and 6.18.
pub fn longest_cmdline(machine: &dyn Machine) -> Option<usize> {
    let arch = machine.read("/proc/sys/kernel/arch");
    let release = machine.read("/proc/sys/kernel/osrelease");
    longest_of(arch.text()?, release.text().and_then(series))
}

fn longest_of(arch: &str, release: Option<(u32, u32)>) -> Option<usize> {
    match arch {
        "x86_64" | "i686" | "i586" | "i386" | "aarch64" | "sparc64" | "ia64" => Some(2047),
        "mips" | "mips64" => Some(4095),
        "m68k" => Some(SHORTEST_CMDLINE),
        arch if arch.starts_with("arm") => Some(1023),
        "ppc" | "ppc64" | "ppc64le" => (release? >= (5, 10)).then_some(2047),
        // Since 5.17 this is CONFIG_COMMAND_LINE_SIZE, whose default is the earlier value.
        "s390x" => (release? >= (5, 10)).then_some(4095),
        "riscv64" | "riscv32" => match release? {
            (6, 6..=18) => Some(1023),
            release => (release >= (7, 2)).then_some(2047),
        },
        "loongarch64" => match release? {
            release if release <= (6, 12) => Some(511),
            release => (release >= (6, 18)).then_some(4095),
        },
        _ => None,
    }
}

fn split(cmdline: &str) -> Vec<String> {
    let is_space = |c: char| matches!(c, ' ' | '\t'..='\r');
    let mut words = Vec::new();
    let mut rest = cmdline.trim_start_matches(is_space);
    while !rest.is_empty() {
        let mut is_quoted = false;
        let end = rest.find(|c| {
            is_quoted ^= c == '"';
            is_space(c) && !is_quoted
        });
        let (word, behind) = rest.split_at(end.unwrap_or(rest.len()));
        words.push(unquoted(word));
        rest = behind.trim_start_matches(is_space);
    }
    words.retain(|word| !word.is_empty());
    words
}

fn unquoted(word: &str) -> String {
    let without = |text: &str| text.strip_prefix('"').map(|text| text.strip_suffix('"').unwrap_or(text).to_owned());
    let whole = without(word).unwrap_or_else(|| word.to_owned());
    match whole.split_once('=').and_then(|(name, value)| Some(format!("{name}={}", without(value)?))) {
        Some(word) => word,
        None => whole,
    }
}

const SCRUBBED: &str = "«scrubbed»";

/// Parameters whose value always identifies a disk, a key, a network or a host.
const PRIVATE: &[&str] = &[
    "ip",
    "nfsroot",
    "nfsaddrs",
    "netroot",
    "resume",
    "cryptdevice",
    "cryptkey",
    "cryptopts",
    "hostname",
    "ifname",
    "vlan",
    "bond",
    "bridge",
    "nameserver",
    "rd.lvm",
    "rd.luks",
    "luks",
    "rd.iscsi",
    "iscsi",
    "rd.md",
    "rd.dm",
    "rd.znet",
    "tang",
    "systemd.hostname",
    "systemd.set_credential",
    "systemd.machine_id",
    "systemd.wants",
    "inst",
    "url",
    "seedfrom",
    "ds",
    "cloud-config-url",
    "netconsole",
];

/// Substrings of a parameter's name that make its value private.
const PRIVATE_PARTS: &[&str] =
    &["password", "passwd", "secret", "token", "serial", "macaddr", "uuid", "credential", "auth"];

/// Returns a command line without UUIDs, labels, MAC and IP addresses, host names, keys and serial numbers. Parameter
/// names are kept, so the rest can still be audited.
pub fn scrub(cmdline: &str) -> String {
    let words = cmdline.split_whitespace().map(|word| match word.split_once('=') {
        Some((key, _)) if is_private(key) => format!("{}={SCRUBBED}", scrub_value(key)),
        Some((key, value)) => format!("{}={}", scrub_value(key), scrub_value(value)),
        None => scrub_value(word),
    });
    words.collect::<Vec<_>>().join(" ")
}

pub(crate) fn scrub_line(line: &str) -> String {
    if let Some((key, _)) = line.split_once(':').filter(|(key, _)| key.trim().eq_ignore_ascii_case("serial")) {
        return format!("{key}: {SCRUBBED}");
    }
    let mut shown = String::new();
    for piece in line.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end();
        shown.push_str(&scrub_value(word));
        shown.push_str(&piece[word.len()..]);
    }
    shown
}

fn is_private(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let named = |p: &str| key.strip_prefix(p).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    PRIVATE.iter().any(|p| named(p)) || PRIVATE_PARTS.iter().any(|p| key.contains(p))
}

fn scrub_value(value: &str) -> String {
    // Installers include the host name in the name of the volume group.
    for tag in ["PARTUUID=", "UUID=", "PARTLABEL=", "LABEL=", "/dev/mapper/"] {
        if let Some(at) = value.find(tag) {
            return format!("{}{tag}{SCRUBBED}", scrub_value(&value[..at]));
        }
    }
    let mut shown = String::new();
    let mut piece = String::new();
    for c in value.chars() {
        // An address ends at the first character that is neither a hex digit nor one of its separators.
        if matches!(c, ',' | '/' | '@' | '[' | ']' | '=' | ';') {
            push_piece(&mut shown, &piece);
            piece.clear();
            shown.push(c);
        } else {
            piece.push(c);
        }
    }
    push_piece(&mut shown, &piece);
    shown
}

fn push_piece(shown: &mut String, piece: &str) {
    let private = is_uuid(piece) || is_mac(piece) || is_ipv6(piece) || has_ipv4(piece);
    shown.push_str(if private { SCRUBBED } else { piece });
}

fn is_hex(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Returns true if the text contains a UUID: 8-4-4-4-12 hexadecimal digits, also inside a longer name (`luks-…`,
/// `machine-id-…`).
fn is_uuid(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    groups.windows(5).any(|g| {
        let lengths = g.iter().map(|s| s.len());
        lengths.eq([8, 4, 4, 4, 12]) && g.iter().all(|s| is_hex(s))
    })
}

fn is_mac(text: &str) -> bool {
    [':', '-'].iter().any(|&by| {
        let groups: Vec<&str> = text.split(by).collect();
        groups.windows(6).any(|g| match g {
            [first, middle @ .., last] => {
                let is_pair = |pair: Option<&[u8]>| pair.is_some_and(|pair| pair.iter().all(u8::is_ascii_hexdigit));
                is_pair(first.as_bytes().last_chunk::<2>().map(<[u8; 2]>::as_slice))
                    && is_pair(last.as_bytes().first_chunk::<2>().map(<[u8; 2]>::as_slice))
                    && middle.iter().all(|s| s.len() == 2 && is_hex(s))
            }
            _ => false,
        })
    })
}

fn is_ipv6(text: &str) -> bool {
    let groups: Vec<&str> = text.split(':').collect();
    let hex = |s: &&str| s.len() <= 4 && (s.is_empty() || is_hex(s));
    (groups.len() == 8 || text.contains("::")) && groups.len() > 2 && groups.iter().all(hex)
}

fn has_ipv4(text: &str) -> bool {
    let words = text.split(|c: char| !c.is_ascii_digit() && c != '.');
    words.into_iter().any(|word| {
        let groups: Vec<&str> = word.split('.').collect();
        groups.windows(4).any(|g| g.iter().all(|n| n.parse::<u8>().is_ok()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_line_is_that_of_architecture_and_release() {
        for (arch, release, longest) in [
            ("x86_64", "4.19.0", Some(2047)),
            ("aarch64", "", Some(2047)),
            ("armv7l", "6.6.31-v7+", Some(1023)),
            ("ppc64le", "4.18.0-553.el8.ppc64le", None),
            ("ppc64le", "6.12.1", Some(2047)),
            ("riscv64", "5.15.100", None),
            ("riscv64", "6.6.9", Some(1023)),
            ("riscv64", "6.18.2", Some(1023)),
            ("riscv64", "6.19.1", None),
            ("riscv64", "7.2.13", Some(2047)),
            ("loongarch64", "6.12.48", Some(511)),
            ("loongarch64", "6.14.0", None),
            ("loongarch64", "6.18.2", Some(4095)),
            ("loongarch64", "", None),
            ("s390x", "6.12.0", Some(4095)),
            ("alpha", "6.12.0", None),
        ] {
            assert_eq!(longest_of(arch, series(release)), longest, "{arch} {release}");
        }
    }

    use proptest::prelude::*;

    #[test]
    fn the_last_value_counts_and_init_is_left_out() {
        let line = "preempt=full a-b=1 \"x=1 2\" preempt=lazy -- preempt=none";
        assert_eq!(parameter(line, "preempt").as_deref(), Some("lazy"));
        assert_eq!(parameter(line, "a_b").as_deref(), Some("1"));
        assert_eq!(parameter(line, "x").as_deref(), Some("1 2"));
        assert_eq!(parameter(line, "y"), None);
        assert_eq!(parameter("quiet", "quiet").as_deref(), Some(""));
    }

    #[test]
    fn quotes_are_the_kernels() {
        for (line, words) in [
            ("a=\"b c\" d", vec!["a=b c", "d"]),
            ("\"a=b c\" d", vec!["a=b c", "d"]),
            ("a=b\"c d\"e f", vec!["a=b\"c d\"e", "f"]),
            ("a=\"b c", vec!["a=b c"]),
            ("\u{a0}a\u{2003}b\tc\u{b}d", vec!["\u{a0}a\u{2003}b", "c", "d"]),
            ("a=\"\" \"\" b", vec!["a=", "b"]),
        ] {
            assert_eq!(parameters(line), words, "{line}");
        }
    }

    #[test]
    fn the_first_value_is_found() {
        assert_eq!(first_parameter("a isolcpus=\"2 3\" isolcpus=4", "isolcpus").as_deref(), Some("2 3"));
        assert_eq!(first_parameter("a", "isolcpus"), None);
    }

    #[test]
    fn what_identifies_a_machine_is_scrubbed() {
        for (line, shown) in [
            ("root=UUID=0a3407de-014b-458b-b5c1-848e92a327a3 ro", "root=UUID=«scrubbed» ro"),
            ("root=/dev/mapper/box--vg-root ro", "root=/dev/mapper/«scrubbed» ro"),
            ("root=PARTUUID=738a4d67-02 rootwait", "root=PARTUUID=«scrubbed» rootwait"),
            ("smsc95xx.macaddr=DC:A6:32:01:02:03", "smsc95xx.macaddr=«scrubbed»"),
            ("xmac=DC:A6:32:01:02:03,5", "xmac=«scrubbed»,5"),
            ("ip=192.168.1.4:::255.255.255.0:box:eth0:off", "ip=«scrubbed»"),
            ("--addr 10.0.0.1:2024", "--addr «scrubbed»"),
            ("peer=fe80::1 rd.luks.name=x=y", "peer=«scrubbed» rd.luks.name=«scrubbed»"),
            ("cryptdevice=/dev/sda2:root systemd.hostname=box", "cryptdevice=«scrubbed» systemd.hostname=«scrubbed»"),
            ("rd.luks.uuid=luks-0a3407de-014b-458b-b5c1-848e92a327a3", "rd.luks.uuid=«scrubbed»"),
        ] {
            assert_eq!(scrub(line), shown, "{line}");
        }
    }

    #[test]
    fn what_tunes_it_stays() {
        let line = "BOOT_IMAGE=/vmlinuz-6.12.9-rt-amd64 root=/dev/sda1 isolcpus=domain,managed_irq,2-3 nohz_full=2-3 \
            console=ttyS0,115200 crashkernel=1G-4G:192M,4G-:512M pci=assign-busses@0000:00:1f.2 rcu_nocbs=2-3 idle=poll";
        assert_eq!(scrub(line), line);
    }

    #[test]
    fn addresses_go_wherever_they_are() {
        for line in [
            "quiet52:54:00:12:34:56splash",
            "52:54:00:12:34:56=1",
            "root=52:54:00:12:34:56UUID=x",
            "a52-54-00-12-34-56",
        ] {
            assert!(!scrub(line).contains("12"), "{line}: {}", scrub(line));
        }
    }

    proptest! {
        #[test]
        fn an_address_never_survives(a in 0u8.., b in 0u8.., key in "[a-z]{1,8}", glue in "[,/@ =]?") {
            let ip = format!("10.{a}.{b}.7");
            let shown = scrub(&format!("{key}={glue}{ip}"));
            prop_assert!(!shown.contains(&ip), "{}", shown);
        }

        #[test]
        fn any_text_is_answered(text in ".*") {
            let _ = (scrub(&text), parameters(&text), parameter(&text, "x"));
        }
    }
}
