use super::text;
use crate::{KernelConfig, Listing, Machine, Read};

/// Finds a real-time core that runs beside or below Linux in the same kernel: its threads do not depend on Linux's
/// preemption, and replacing the kernel removes it. `None` if no trace of one was found.
///
/// Recognised by files that such a core creates (/proc/xenomai: kernel/cobalt/procfs.c of Xenomai; /proc/rtai: RTAI;
/// /proc/ipipe: kernel/ipipe/core.c of the I-pipe patch; the device class evl: kernel/evl/factory.c), then by its
/// patches' configuration options, then by the release name.
pub fn co_kernel(machine: &dyn Machine, config: Option<&KernelConfig>) -> Option<&'static str> {
    let has =
        |path: &str| matches!(machine.read(path), Read::Known(_)) || matches!(machine.list(path), Listing::Known(_));
    let files =
        [("/proc/xenomai", "Xenomai"), ("/proc/rtai", "RTAI"), ("/sys/class/evl", "EVL"), ("/proc/ipipe", "I-pipe")];
    let options =
        [("XENOMAI", "Xenomai"), ("EVL", "EVL"), ("RTAI", "RTAI"), ("IPIPE", "I-pipe"), ("DOVETAIL", "Dovetail")];
    let found = files.iter().find(|(path, _)| has(path));
    let found = found.or_else(|| options.iter().find(|(option, _)| config.is_some_and(|c| c.is_on(option))));
    found.map(|(_, name)| *name).or_else(|| by_name(&text(machine, "/proc/sys/kernel/osrelease")?))
}

fn by_name(release: &str) -> Option<&'static str> {
    let names = [
        ("xenomai", "Xenomai"),
        ("xeno", "Xenomai"),
        ("cobalt", "Xenomai"),
        ("evl", "EVL"),
        ("rtai", "RTAI"),
        ("ipipe", "I-pipe"),
        ("dovetail", "Dovetail"),
    ];
    let words = || release.split(|c: char| !c.is_ascii_alphanumeric());
    let is = |word: &str, name: &str| {
        let rest = word.strip_prefix(name);
        rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    names.iter().find(|(name, _)| words().any(|word| is(&word.to_ascii_lowercase(), name))).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Recorded;

    #[test]
    fn a_core_is_told_by_its_files_its_options_and_its_name() {
        let mut machine = Recorded::default();
        assert_eq!(co_kernel(&machine, None), None);
        let config = |line: &str| KernelConfig::from_bytes("/x", format!("CONFIG_A=y\n{line}\n").as_bytes());
        let by = |line: &str| co_kernel(&Recorded::default(), config(line).as_ref());
        assert_eq!((by("CONFIG_XENOMAI=y"), by("CONFIG_EVL=y")), (Some("Xenomai"), Some("EVL")));
        assert_eq!((by("CONFIG_IPIPE=y"), by("CONFIG_DOVETAIL=y")), (Some("I-pipe"), Some("Dovetail")));
        assert_eq!((by("# CONFIG_DOVETAIL is not set"), by("CONFIG_XENOMAI_X=y")), (None, None));
        machine.set("/proc/xenomai/version", Read::Known(b"3.2.1\n".to_vec()));
        assert_eq!(co_kernel(&machine, None), Some("Xenomai"));
    }

    #[test]
    fn a_release_is_read_by_whole_words() {
        assert_eq!(by_name("4.19.128-ipipe"), Some("I-pipe"));
        assert_eq!(by_name("5.15.77-evl2+"), Some("EVL"));
        assert_eq!(by_name("5.10.89-xenomai-3.2.1"), Some("Xenomai"));
        assert_eq!(by_name("4.4.43-rtai-5.0.1"), Some("RTAI"));
        assert_eq!((by_name("6.1.0-28-amd64"), by_name("6.12.9-develop-rt1")), (None, None));
    }
}
