//! Tests that docs/api-map.md has each service in each language, or says why there is none; that each name there
//! exists; and that each public name of Rust, C and C++ is on the page.

use crate::api_map::{Source, exported, has_word, page, quoted, root};
use std::collections::BTreeSet;
use std::fs;

/// A row of the table: the service, and its cells for Rust, C and C++.
type Row = (String, [String; 3]);

fn rows() -> Vec<Row> {
    let page = page();
    let (_, table) = page.split_once("\n## Languages\n").unwrap();
    let (table, _) = table.split_once("\n## ").unwrap();
    let lines = table.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| service"));
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [service, rust, c, cpp] = cells[..] else { panic!("four cells: {line}") };
        (service.to_owned(), [rust, c, cpp].map(str::to_owned))
    };
    lines.map(row).collect()
}

/// Returns the names in the cells of a language, including those that a reason mentions.
fn names(language: usize) -> BTreeSet<String> {
    rows().iter().flat_map(|(_, cells)| quoted(&cells[language]).map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// Returns the C++ headers without the contents of the namespace `detail`.
fn cpp() -> String {
    let folder = root().join("crates/realtime/capi/include/punctual");
    let files = fs::read_dir(folder).unwrap().map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
    let public = |text: String| {
        let parts = text.split("namespace detail {").enumerate();
        let after = |(n, part): (usize, &str)| match n {
            0 => part.to_owned(),
            _ => part.split_once("} // namespace detail").unwrap().1.to_owned(),
        };
        parts.map(after).collect::<String>()
    };
    files.map(public).collect()
}

/// Returns the types and functions of the namespace: those that are defined at the beginning of a line.
fn defined(cpp: &str) -> BTreeSet<&str> {
    cpp.lines().filter_map(defines).collect()
}

/// Returns the name of the type or function that a line defines.
fn defines(line: &str) -> Option<&str> {
    let line = line.strip_prefix("template <class T> ").unwrap_or(line);
    if let Some(rest) = ["class ", "struct ", "enum class "].iter().find_map(|kind| line.strip_prefix(kind)) {
        return rest.contains('{').then(|| rest.split(' ').next()).flatten();
    }
    let begins = line.starts_with(|c: char| c.is_ascii_alphabetic()) && !line.starts_with("using ");
    line.split_once('(').filter(|_| begins)?.0.rsplit(' ').next()
}

/// Returns true if the class or enum of this name has a member of that name.
fn has_member(cpp: &str, of: &str, member: &str) -> bool {
    let begins = cpp.match_indices('\n').map(|(at, _)| &cpp[at + 1..]);
    let mut of_type = begins.filter(|rest| rest.lines().next().and_then(defines) == Some(of));
    of_type.any(|rest| has_word(rest.split("\n}").next().unwrap_or_default(), member))
}

/// Describes what is wrong with a name of C++; `None` if it is valid.
fn fault(cpp: &str, name: &str) -> Option<String> {
    let (of, member) = name.split_once("::").map_or((name, None), |(of, member)| (of, Some(member)));
    let whole = defined(cpp).contains(of) && member.is_none_or(|member| has_member(cpp, of, member));
    (!whole).then(|| format!("punctual::{name} does not exist"))
}

#[test]
fn each_service_has_a_name_or_a_reason_in_each_language() {
    let (source, cpp) = (Source::read(), cpp());
    let mut faults = Vec::new();
    for (service, cells) in rows() {
        for (language, cell) in ["Rust", "C", "C++"].iter().zip(&cells) {
            let said = cell.strip_prefix("none: ").map_or(quoted(cell).next().is_some(), |reason| reason.len() > 5);
            if !said {
                faults.push(format!("{service}: neither a name nor a reason for {language}"));
            }
            let wrong = quoted(cell).filter_map(|name| match *language {
                "C++" if !name.starts_with("prt_") => fault(&cpp, name),
                _ => source.fault(name),
            });
            faults.extend(wrong.map(|wrong| format!("{service}: {wrong}")));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
    for wrong in ["moon", "mutex::moon", "clock::lock"] {
        assert!(fault(&cpp, wrong).is_some(), "{wrong} was found");
    }
}

/// For every function of the header, the table contains at least one name of its family, such as prt_mutex.
#[test]
fn each_function_of_c_belongs_to_a_service() {
    let family = |name: &str| name.splitn(3, '_').take(2).collect::<Vec<_>>().join("_");
    let families: BTreeSet<String> = names(1).iter().map(|name| family(name)).collect();
    let map = fs::read_to_string(root().join("crates/realtime/capi/punctual_rt.map")).unwrap();
    let functions: Vec<&str> = map.lines().filter_map(|line| line.trim().strip_suffix(';')).collect();
    let missing: Vec<&&str> =
        functions.iter().filter(|name| name.starts_with("prt_") && !families.contains(&family(name))).collect();
    assert!(functions.len() > 100 && missing.is_empty(), "not in the table: {missing:?}");
}

#[test]
fn each_type_and_function_of_cpp_belongs_to_a_service() {
    let named: BTreeSet<String> = names(2).iter().map(|name| name.split("::").next().unwrap().to_owned()).collect();
    let cpp = cpp();
    let all = defined(&cpp);
    let missing: Vec<&&str> = all.iter().filter(|name| !named.contains(**name)).collect();
    assert!(all.len() > 30 && missing.is_empty(), "not in the table: {missing:?}");
}

/// Public names of Rust that the table leaves out: values, results, errors, and the types that create a service of the
/// table.
const RUST_VALUES: &str = "AlarmsFull Applied Arg Arrival At Block Bridge CapacityError Checked Counted CpuId CpuList End Fifo Finished Frame Full \
    Histogram InterruptStats IrqThreadError Line LockError LogCounts MOST_EVENTS MailboxCounts MarkCounts MutexGuard Nanos NotOpened NotSent Outcome \
    Overflowed Parsed PipeCounts Policy PoolCounts Priority QueueCounts Received Refused Remarks Report Reservation RtReceiver RtSender Rung \
    Scheduling SendError ServeError Severity SharedWriter SpawnError StartError TaskUsage TimedOut Unsteady Wait Wakeup Woke Words WorstCycle";

#[test]
fn each_name_of_rust_belongs_to_a_service() {
    let named: BTreeSet<String> = names(0).iter().map(|name| name.split("::").next().unwrap().to_owned()).collect();
    let exported = exported();
    // Exports look like `{A, B}` or `module::A`. Modules and functions are in lower case.
    let words: Vec<&str> = exported.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != ':').collect();
    let is_module = |word: &str| word.ends_with("::");
    let words = words.iter().filter(|word| !word.is_empty() && !is_module(word));
    let words = words
        .map(|word| word.rsplit("::").next().unwrap_or_default())
        .filter(|word| *word != "as" && *word != "punctual_gpio");
    let missing: Vec<&str> = words.filter(|word| !named.contains(*word) && !has_word(RUST_VALUES, word)).collect();
    assert!(missing.is_empty(), "not in the table: {missing:?}");
    let stale: Vec<&str> =
        RUST_VALUES.split_whitespace().filter(|word| !has_word(&exported, word) || named.contains(*word)).collect();
    assert!(stale.is_empty(), "not exported, or in the table: {stale:?}");
}
