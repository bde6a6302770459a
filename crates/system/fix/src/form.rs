//! How a kernel file shows a value that was written: `0-1` for `0,1`, `[word]` among others, `0x3` for a mask.

use punctual_units::{CpuId, CpuList};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    Text,
    /// A list of CPUs: `0-3,8`.
    Cpus,
    /// A hexadecimal mask of CPUs: `f`, `1,00000001`.
    Mask,
    /// All choices, with the active one in brackets or parentheses: `always [madvise] never`.
    Marked,
    /// Several numbers of which only the first is of interest: kernel.printk.
    First,
    /// Words with or without the prefix `NO_`; writing a word switches it: sched/features.
    Toggle,
    /// Names; `+name` adds a name and `-name` removes it: cgroup.subtree_control.
    Signed,
    /// `Y` or `N`, or `1` or `0`: module parameters.
    Switch,
}

impl Form {
    /// Determines the form from the path and the current content.
    pub fn of(path: &str, now: &str) -> Form {
        let name = path.rsplit('/').next().unwrap_or(path);
        match name {
            "printk" => Form::First,
            "features" if path.contains("/sched/") || path.ends_with("sched_features") => Form::Toggle,
            "default_smp_affinity" | "smp_affinity" | "rps_cpus" | "xps_cpus" => Form::Mask,
            "cpumask" if path.contains("workqueue") => Form::Mask,
            "cgroup.subtree_control" => Form::Signed,
            "smp_affinity_list" | "watchdog_cpumask" | "cpuset.cpus" => Form::Cpus,
            _ if marked(now).is_some() && now.split_whitespace().count() > 1 => Form::Marked,
            _ if path.contains("/module/") && matches!(now.trim(), "Y" | "N") => Form::Switch,
            _ => Form::Text,
        }
    }

    /// Returns the value in a text. If there are several, `wanted` selects one.
    pub fn value(self, text: &str, wanted: &str) -> String {
        let text = text.trim();
        let words = || text.split_whitespace().collect::<Vec<_>>().join(" ");
        match self {
            Form::Text => words(),
            Form::Cpus => text.parse::<CpuList>().map_or_else(|_| words(), |cpus| cpus.to_string()),
            Form::Mask => mask_cpus(text).map_or_else(words, |cpus| cpus.to_string()),
            Form::Marked => marked(text).unwrap_or(text).to_owned(),
            Form::First => text.split_whitespace().next().unwrap_or_default().to_owned(),
            Form::Toggle => {
                let word = wanted.trim().trim_start_matches("NO_");
                let is = |candidate: &&str| candidate.trim_start_matches("NO_") == word;
                text.split_whitespace().find(is).unwrap_or_default().to_owned()
            }
            Form::Signed => {
                let name = wanted.trim().trim_start_matches(['+', '-']);
                let is_there = text.split_whitespace().any(|word| word.trim_start_matches('+') == name);
                format!("{}{name}", if is_there { '+' } else { '-' })
            }
            Form::Switch => match text {
                "Y" | "y" | "1" => "1".to_owned(),
                "N" | "n" | "0" => "0".to_owned(),
                other => other.to_owned(),
            },
        }
    }

    pub fn same(self, one: &str, other: &str, wanted: &str) -> bool {
        self.value(one, wanted) == self.value(other, wanted)
    }

    /// Returns the text to write so that the file reads as before. It is a newline if that text is empty, because
    /// writing nothing has no effect.
    pub fn back(self, old: &str, wanted: &str) -> String {
        match self {
            Form::Marked | Form::Toggle | Form::Signed => self.value(old, wanted) + "\n",
            _ if old.is_empty() => "\n".to_owned(),
            _ => old.to_owned(),
        }
    }
}

fn marked(text: &str) -> Option<&str> {
    let strip =
        |word: &'_ str, open, close| word.strip_prefix(open).and_then(|w: &str| w.strip_suffix(close)).map(str::len);
    text.split_whitespace().find_map(|word| {
        let length = strip(word, '[', ']').or_else(|| strip(word, '(', ')'))?;
        word.get(1..1 + length)
    })
}

/// Parses a mask as bitmap_parse() in lib/bitmap-str.c does: groups of 32 bits, highest first; `None` if it is invalid.
fn mask_cpus(text: &str) -> Option<CpuList> {
    let mut cpus = CpuList::new();
    for (at, group) in text.rsplit(',').enumerate() {
        let bits = u32::from_str_radix(group.trim().trim_start_matches("0x"), 16).ok()?;
        let first = u32::try_from(at).ok()?.checked_mul(32).filter(|first| *first < 8192)?;
        (0..32).filter(|bit| bits >> bit & 1 == 1).for_each(|bit| cpus.insert(CpuId(first + bit)));
    }
    Some(cpus)
}

/// Formats a mask as the kernel reads it: groups of 32 bits, highest first.
pub fn mask(cpus: &CpuList) -> String {
    let last = cpus.iter().last().map_or(0, |CpuId(cpu)| cpu);
    let group =
        |at: u32| (0..32).filter(|bit| cpus.contains(CpuId(at * 32 + bit))).fold(0_u32, |bits, bit| bits | 1 << bit);
    let mut groups = (0..=last / 32).rev().map(group);
    let first = groups.next().unwrap_or(0);
    groups.fold(format!("{first:x}"), |text, group| format!("{text},{group:08x}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_the_kernel_writes_otherwise_is_the_same() {
        assert!(Form::Cpus.same("0,1\n", "0-1", ""));
        assert!(Form::Mask.same("00000003\n", "3", ""));
        assert!(Form::Marked.same("always [madvise] never\n", "madvise", ""));
        assert!(Form::Marked.same("none voluntary (full) lazy\n", "full", ""));
        assert!(Form::First.same("4\t4\t1\t7\n", "4", ""));
        assert!(Form::Toggle.same("A NO_RT_RUNTIME_SHARE B", "NO_RT_RUNTIME_SHARE", "NO_RT_RUNTIME_SHARE"));
        assert!(!Form::Toggle.same("RT_RUNTIME_SHARE B", "NO_RT_RUNTIME_SHARE", "NO_RT_RUNTIME_SHARE"));
        assert!(Form::Switch.same("Y\n", "1", ""));
        assert!(!Form::Text.same("isolated invalid (x)", "isolated", ""));
    }

    #[test]
    fn forms_are_told_by_path_and_content() {
        assert_eq!(Form::of("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never"), Form::Marked);
        assert_eq!(Form::of("/proc/sys/kernel/printk", "4 4 1 7"), Form::First);
        assert_eq!(Form::of("/sys/module/zswap/parameters/enabled", "Y\n"), Form::Switch);
        assert_eq!(Form::of("/proc/sys/vm/stat_interval", "1\n"), Form::Text);
    }

    #[test]
    fn the_way_back_is_what_the_file_takes() {
        assert_eq!(Form::Marked.back("always [madvise] never\n", "never"), "madvise\n");
        assert_eq!(Form::Toggle.back("A RT_RUNTIME_SHARE", "NO_RT_RUNTIME_SHARE"), "RT_RUNTIME_SHARE\n");
        assert_eq!((Form::Text.back("", "x"), Form::Text.back("1\n", "x")), ("\n".to_owned(), "1\n".to_owned()));
    }

    proptest! {
        #[test]
        fn masks_read_back(cpus in proptest::collection::btree_set(0_u32..200, 1..20)) {
            let cpus: CpuList = cpus.into_iter().map(CpuId).collect();
            prop_assert_eq!(mask_cpus(&mask(&cpus)), Some(cpus));
        }

        #[test]
        fn any_text_is_answered(path in ".{0,30}", text in ".{0,60}", wanted in ".{0,10}") {
            let form = Form::of(&path, &text);
            prop_assert!(form.same(&text, &text, &wanted));
            let _ = form.back(&text, &wanted);
        }
    }
}
