//! CPU lists as the kernel parses them: bitmap_parselist(), lib/bitmap-str.c (before Linux 6.5 lib/bitmap.c).

use punctual_units::{CpuId, CpuList};

/// A kernel release: major and minor number.
pub(crate) type Release = (u32, u32);

/// Maximum number of CPUs of a Linux kernel (CONFIG_NR_CPUS of arch/x86/Kconfig).
const MAX: u32 = 8192;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope {
    /// Number of the last CPU, which a list may write as `N`.
    pub last: u32,
    /// The kernel's release; `None` assumes a recent one.
    pub release: Option<Release>,
    /// Number of CPUs a list can name (nr_cpumask_bits of include/linux/cpumask.h): a list with a larger number is
    /// rejected as a whole. `None` if unknown.
    pub bits: Option<u32>,
}

impl Scope {
    pub fn is_before(self, release: Release) -> bool {
        self.release.is_some_and(|this| this < release)
    }
}

/// # Errors
/// Why the kernel rejects the list, as the end of a sentence about it.
pub(crate) fn parse(text: &str, scope: Scope) -> Result<CpuList, String> {
    match parse_partly(text, scope) {
        (cpus, None) => Ok(cpus),
        (_, Some(why)) => Err(why),
    }
}

/// Like [`parse`], but also returns the CPUs before a rejected part: the kernel has already set them in the mask.
pub(crate) fn parse_partly(text: &str, scope: Scope) -> (CpuList, Option<String>) {
    let mut cpus = CpuList::new();
    for part in text.split(|c: char| c == ',' || c.is_ascii_whitespace()).filter(|part| !part.is_empty()) {
        match region(part, scope) {
            Ok(region) => region.for_each(|cpu| cpus.insert(CpuId(cpu))),
            Err(why) => return (cpus, Some(format!("`{}` {why}", shown(part)))),
        }
    }
    (cpus, None)
}

/// Parses systemd's lists: numbers and ranges separated by white space or commas (systemd-system.conf(5),
/// CPUAffinity=).
///
/// # Errors
/// See [`parse`].
pub(crate) fn parse_systemd(text: &str) -> Result<CpuList, String> {
    match text.split([',', ' ']).find(|part| part.contains(|c: char| !c.is_ascii_digit() && c != '-')) {
        Some(part) => Err(format!("`{}` is not a CPU number or range", shown(part))),
        None => parse(text, Scope { last: 0, release: None, bits: None }),
    }
}

fn shown(part: &str) -> String {
    punctual_machine::scrub(part).chars().take(40).collect()
}

/// Parses a region such as `9-38:4/10`: the first 4 of each group of 10.
fn region(part: &str, scope: Scope) -> Result<impl Iterator<Item = u32>, String> {
    let (range, pattern) = match part.split_once(':') {
        // __bitmap_parselist() of lib/bitmap.c, commit 2d13e6ca4868.
        Some(_) if scope.is_before((4, 9)) => return Err("has a stride, supported since Linux 4.9".to_owned()),
        Some((range, pattern)) => (range, Some(pattern)),
        None => (part, None),
    };
    let (first, last) = if range.eq_ignore_ascii_case("all") {
        // Commit b18def121f07.
        if scope.is_before((5, 14)) {
            return Err("is supported since Linux 5.14".to_owned());
        }
        (0, scope.last)
    } else {
        match range.split_once('-') {
            Some((first, last)) => (number(first, part, scope)?, number(last, part, scope)?),
            None if pattern.is_some() => return Err("has a stride but no range".to_owned()),
            None => number(range, part, scope).map(|cpu| (cpu, cpu))?,
        }
    };
    let (used, group) = match pattern.map(|pattern| pattern.split_once('/')) {
        None => (1, 1),
        Some(None) => return Err("has a stride without `/`".to_owned()),
        Some(Some((used, group))) => (number(used, part, scope)?, number(group, part, scope)?),
    };
    if first > last {
        return Err("runs backwards".to_owned());
    }
    if group == 0 || used > group {
        return Err("selects more CPUs than a group has".to_owned());
    }
    if last >= MAX {
        return Err("names a CPU beyond the limit of any kernel".to_owned());
    }
    if let Some(bits) = scope.bits.filter(|bits| last >= *bits) {
        return Err(format!("names CPU {last}, but the highest CPU of this kernel is {}", bits.saturating_sub(1)));
    }
    Ok((first..=last).filter(move |cpu| (cpu - first) % group < used))
}

fn number(text: &str, part: &str, scope: Scope) -> Result<u32, String> {
    if text == "N" {
        // Merged for 5.13: "Bitmap support for N as alias for last bit".
        return if scope.is_before((5, 13)) {
            Err("contains `N`, supported since Linux 5.13".to_owned())
        } else {
            Ok(scope.last)
        };
    }
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        return text.parse().map_err(|_| "contains too large a number".to_owned());
    }
    Err(mistake(part))
}

fn mistake(part: &str) -> String {
    let mask = part.strip_prefix("0x").or_else(|| part.strip_prefix("0X")).and_then(crate::sight::mask);
    match mask {
        Some(cpus) => format!("is a hexadecimal mask, not a list: write {cpus}"),
        None if let Some(what) = typographic(part) => format!("contains a typographic {what}"),
        None => "is not a CPU number or range".to_owned(),
    }
}

/// Recognises the characters by which word processors and web pages replace `"`, `'` and `-`.
pub(crate) fn typographic(text: &str) -> Option<&'static str> {
    if text.contains(['\u{201c}', '\u{201d}', '\u{201e}', '\u{2018}', '\u{2019}']) {
        Some("quote")
    } else if text.contains(['\u{2010}', '\u{2011}', '\u{2012}', '\u{2013}', '\u{2014}', '\u{2212}']) {
        Some("dash")
    } else {
        None
    }
}

/// Returns the largest CPU number in a list's text, even if the list is invalid.
pub(crate) fn largest(text: &str) -> u32 {
    let numbers = text.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse::<u32>().ok());
    numbers.filter(|number| *number < MAX).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<String, String> {
        parse(text, Scope { last: 7, release: None, bits: None }).map(|cpus| cpus.to_string())
    }

    #[test]
    fn lists_are_those_of_the_kernel() {
        for (text, cpus) in [
            ("2,3", "2-3"),
            ("4-N", "4-7"),
            ("N", "7"),
            ("all", "0-7"),
            ("ALL:1/2", "0,2,4,6"),
            ("2-7:1/2", "2,4,6"),
            ("0-7:2/4", "0-1,4-5"),
            ("", ""),
            (",,1, 3", "1,3"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(cpus), "{text}");
        }
    }

    #[test]
    fn what_the_kernel_refuses_has_a_reason() {
        for (text, why) in [
            ("0xc", "mask, not a list: write 2-3"),
            ("3-2", "backwards"),
            ("2-3,domain", "not a CPU number"),
            ("2,3\u{201d}", "typographic"),
            ("2\u{2013}3", "typographic dash"),
            ("0..3", "not a CPU number"),
            ("1-", "not a CPU number"),
            ("1:1/2", "no range"),
            ("0-7:2", "without `/`"),
            ("0-7:1/0", "group"),
            ("0-7:3/2", "group"),
            ("0-8192", "limit of any kernel"),
            ("99999999999", "too large"),
            ("n", "not a CPU number"),
        ] {
            let said = read(text).unwrap_err();
            assert!(said.contains(why), "{text}: {said}");
        }
    }

    #[test]
    fn words_count_from_their_release() {
        let old = |text| parse(text, Scope { last: 3, release: Some((5, 10)), bits: None });
        assert!(old("2-N").is_err() && old("all").is_err() && old("0-3:1/2").is_ok());
        assert!(parse("0-3:1/2", Scope { last: 3, release: Some((4, 4)), bits: None }).is_err());
    }

    #[test]
    fn what_precedes_a_mistake_is_kept() {
        let (cpus, why) = parse_partly("2-3,x,5", Scope { last: 7, release: Some((4, 4)), bits: None });
        assert_eq!((cpus.to_string().as_str(), why.is_some()), ("2-3", true));
    }

    #[test]
    fn a_cpu_beyond_the_kernels_masks_refuses_the_whole_list() {
        let of = |text, bits| parse(text, Scope { last: 3, release: None, bits }).map(|cpus| cpus.to_string());
        assert_eq!(of("0,12", Some(4)), Err("`12` names CPU 12, but the highest CPU of this kernel is 3".to_owned()));
        assert_eq!(of("0-3:1/2,3", Some(4)).as_deref(), Ok("0,2-3"));
        assert!(of("2-9", Some(4)).is_err() && of("2-9", Some(16)).is_ok() && of("2-9", None).is_ok());
    }

    #[test]
    fn systemd_has_lists_of_its_own() {
        assert_eq!(parse_systemd("0 1,3-4").map(|cpus| cpus.to_string()).as_deref(), Ok("0-1,3-4"));
        assert!(parse_systemd("all").is_err() && parse_systemd("0x3").is_err());
    }

    proptest! {
        #[test]
        fn any_list_is_answered(text in "[a-zN0-9,:/. -]{0,40}") {
            let _ = (read(&text), parse_systemd(&text), largest(&text));
        }
    }
}
