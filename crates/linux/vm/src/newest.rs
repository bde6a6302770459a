use crate::arch::Arch;

/// The parts of a name such as `linux-image-6.12.111+deb12-rt-amd64-unsigned`.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Name<'a> {
    version: Vec<u64>,
    signed: bool,
    whole: &'a str,
}

/// Returns the newest of `names`, with or without PREEMPT_RT, optionally of a series such as `6.12`.
pub(crate) fn newest<'a>(names: &'a [String], arch: Arch, rt: bool, series: Option<&str>) -> Option<&'a str> {
    let mut found: Vec<Name> = names.iter().filter_map(|name| parse(name, arch, rt)).collect();
    if let Some(series) = series {
        let series = numbers(series);
        found.retain(|name| name.version.starts_with(&series));
    }
    found.into_iter().max().map(|name| name.whole)
}

fn parse<'a>(whole: &'a str, arch: Arch, rt: bool) -> Option<Name<'a>> {
    let rest = whole.strip_prefix("linux-image-")?;
    let (rest, signed) = match rest.strip_suffix("-unsigned") {
        Some(rest) => (rest, false),
        None => (rest, true),
    };
    let rest = rest.strip_suffix(arch.debian())?.strip_suffix('-')?;
    let version = match (rest.strip_suffix("-rt"), rt) {
        (Some(version), true) => version,
        (None, false) => rest,
        _ => return None,
    };
    // Excludes metapackages (`6.12`) and flavours (`6.12.1-cloud`).
    let is_version = version.starts_with(|c: char| c.is_ascii_digit()) && version.matches('.').count() >= 2;
    let flavour = version.rsplit('-').next().is_some_and(|last| last.starts_with(|c: char| c.is_ascii_alphabetic()));
    (is_version && !flavour).then(|| Name { version: numbers(version), signed, whole })
}

fn numbers(version: &str) -> Vec<u64> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_is_by_number_and_kind() {
        let names: Vec<String> = [
            "linux-image-6.1.0-9-amd64",
            "linux-image-6.1.0-47-amd64",
            "linux-image-6.1.0-47-amd64-unsigned",
            "linux-image-6.1.0-55-cloud-amd64",
            "linux-image-6.1.0-47-rt-amd64",
            "linux-image-6.12.111+deb12-rt-amd64-unsigned",
            "linux-image-6.12.107+deb12-rt-amd64-unsigned",
            "linux-image-6.12-rt-amd64-dbg",
            "linux-image-amd64",
            "linux-image-6.12.111+deb12-rt-arm64-unsigned",
        ]
        .map(String::from)
        .to_vec();
        let newest = |rt, series| newest(&names, Arch::Amd64, rt, series);
        assert_eq!(newest(true, None), Some("linux-image-6.12.111+deb12-rt-amd64-unsigned"));
        assert_eq!(newest(true, Some("6.1")), Some("linux-image-6.1.0-47-rt-amd64"));
        assert_eq!(newest(false, None), Some("linux-image-6.1.0-47-amd64"));
        assert_eq!(newest(false, Some("6.12")), None);
    }
}
