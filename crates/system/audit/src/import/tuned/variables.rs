//! TuneD's variables and functions: `${name}`, `${f:function:argument}` (tuned/profiles/variables.py, functions/).
//! Those that only TuneD on the machine can evaluate are left as written.

use crate::rule::expression;
use punctual_units::{CpuId, CpuList};
use std::collections::BTreeMap;

/// Maximum length of a value, bytes: a variable that uses another one twice doubles the length.
const LONGEST: usize = 1 << 14;

/// Maximum nesting depth of `${…}`.
const DEEPEST: usize = 8;

#[derive(Debug, Default)]
pub(crate) struct Variables {
    values: BTreeMap<String, String>,
    /// Online CPUs of the audited machine, if known.
    online: Option<CpuList>,
}

impl Variables {
    pub fn on(online: Option<CpuList>) -> Variables {
        Variables { online, ..Variables::default() }
    }

    pub fn set(&mut self, name: &str, value: &str) {
        let value = self.expand(value);
        self.values.insert(name.to_owned(), value);
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    pub fn expand(&self, text: &str) -> String {
        self.fill(text, 0)
    }

    fn fill(&self, text: &str, depth: usize) -> String {
        let mut filled = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            let (before, from) = rest.split_at(at);
            filled.push_str(before);
            // A backslash escapes `${`.
            let end = (depth < DEEPEST && !before.ends_with('\\')).then(|| closing(from)).flatten();
            let Some(end) = end else {
                filled.push_str("${");
                rest = from.get(2..).unwrap_or_default();
                continue;
            };
            let written = from.get(..end).unwrap_or_default();
            let inside = written.get(2..end.saturating_sub(1)).unwrap_or_default();
            filled.push_str(&self.value(inside, depth).unwrap_or_else(|| written.to_owned()));
            rest = from.get(end..).unwrap_or_default();
            if filled.len() > LONGEST {
                return text.to_owned();
            }
        }
        filled + rest
    }

    fn value(&self, inside: &str, depth: usize) -> Option<String> {
        match inside.strip_prefix("f:") {
            Some(call) => function(&self.fill(call, depth + 1), self.online.as_ref()),
            None => self.get(inside).map(str::to_owned),
        }
    }
}

pub(crate) fn is_open(text: &str) -> bool {
    text.contains("${")
}

/// Returns the index of the brace that closes the leading `${`.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth <= 1 => return Some(at + 1),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Evaluates `name:argument:argument`; `\:` is a colon within an argument.
fn function(call: &str, online: Option<&CpuList>) -> Option<String> {
    let mut parts: Vec<String> = vec![String::new()];
    let mut chars = call.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&':') => parts.last_mut()?.push(chars.next()?),
            ':' => parts.push(String::new()),
            c => parts.last_mut()?.push(c),
        }
    }
    let (name, arguments) = parts.split_first()?;
    if arguments.iter().any(|argument| is_open(argument)) && name != "regex_search_ternary" {
        return None;
    }
    let list = || arguments.join(",").parse::<CpuList>().ok();
    let numbers = |cpus: &CpuList| cpus.iter().map(|cpu| cpu.to_string()).collect::<Vec<_>>().join(",");
    match (name.as_str(), arguments) {
        ("strip", _) => Some(arguments.concat().trim().to_owned()),
        ("cpulist_unpack", _) => Some(numbers(&list()?)),
        ("cpulist_pack", _) => Some(list()?.to_string()),
        // The complement with respect to the online CPUs (functions/function_cpulist_invert.py).
        ("cpulist_invert", _) => Some(numbers(&online?.minus(&list()?))),
        ("cpulist2hex_invert", _) => Some(mask(&online?.minus(&list()?))),
        ("cpulist_online", _) => Some(numbers(&online?.and(&list()?))),
        ("cpulist2hex", _) => Some(mask(&list()?)),
        ("regex_search_ternary", [text, pattern, found, other]) => {
            Some(if expression(pattern).ok()?.is_match(text) { found } else { other }.clone())
        }
        _ => None,
    }
}

/// Formats a mask as TuneD writes it: groups of 32 bits, highest first.
fn mask(cpus: &CpuList) -> String {
    let highest = cpus.iter().last().map_or(0, |CpuId(cpu)| cpu / 32);
    let group =
        |at: u32| (0..32).filter(|bit| cpus.contains(CpuId(at * 32 + bit))).fold(0_u32, |word, bit| word | 1 << bit);
    (0..=highest).rev().map(|at| format!("{:08x}", group(at))).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn with(pairs: &[(&str, &str)]) -> Variables {
        let mut variables = Variables::default();
        pairs.iter().for_each(|(name, value)| variables.set(name, value));
        variables
    }

    #[test]
    fn variables_and_functions_are_filled_in() {
        let v = with(&[("cores", "2-4"), ("both", "${cores},6"), ("irq", "Y")]);
        for (text, wanted) in [
            ("isolcpus=${both}", "isolcpus=2-4,6"),
            ("${f:cpulist_unpack:${cores}}", "2,3,4"),
            ("${f:cpulist_pack:2,3,4}", "2-4"),
            ("${f:cpulist2hex:${f:cpulist_unpack:${cores}}}", "0000001c"),
            ("${f:cpulist2hex:33}", "00000002,00000000"),
            ("${f:regex_search_ternary:${irq}:\\b[y,Y,1,t,T]\\b:managed_irq,domain,:}2", "managed_irq,domain,2"),
            ("${f:regex_search_ternary:${none}:\\b[y,Y,1,t,T]\\b:managed_irq,domain,:}2", "2"),
            ("${none} ${f:cpulist_invert:2}", "${none} ${f:cpulist_invert:2}"),
            ("\\${cores} ${", "\\${cores} ${"),
        ] {
            assert_eq!(v.expand(text), wanted, "{text}");
        }
    }

    #[test]
    fn complements_are_those_of_the_machine() {
        let v = Variables::on("0-3".parse().ok());
        assert_eq!(v.expand("irqaffinity=${f:cpulist_invert:2-3}"), "irqaffinity=0,1");
        assert_eq!(v.expand("${f:cpulist2hex_invert:2-3}"), "00000003");
        assert_eq!(v.expand("${f:cpulist_online:2-9}"), "2,3");
    }

    #[test]
    fn what_doubles_stays_bounded() {
        let mut v = with(&[("a", "0123456789")]);
        for _ in 0..60 {
            v.set("a", "${a}${a}");
        }
        assert!(v.get("a").unwrap().len() <= 2 * LONGEST);
        assert!(v.expand(&"${f:strip:".repeat(1000)).len() < 20_000);
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "[${}a:f\\\\0-9,-]{0,60}", other in ".{0,100}") {
            let v = with(&[("a", "0-3"), ("f", "${a}")]);
            let _ = v.expand(&text);
            let _ = v.expand(&other);
        }
    }
}
