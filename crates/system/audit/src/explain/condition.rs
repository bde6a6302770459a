//! Describes in words the conditions of rules, and the values that rules read.

use crate::rule::{Form, Part, Set, Source, Test, When, Word};

/// Describes a condition, for example as `on is 1 and mode is not none`.
pub(super) fn text(when: &When) -> String {
    when.iter().flat_map(|(name, test)| clauses(name, test)).collect::<Vec<_>>().join(" and ")
}

fn clauses(name: &str, test: &Test) -> Vec<String> {
    let words = |list: &[Word]| list.iter().map(|word| word.0.as_str()).collect::<Vec<_>>().join(" or ");
    let is = |yes: bool, what: &str| format!("is {}{what}", if yes { "" } else { "not " });
    let own = [
        test.present.map(|yes| is(yes, "present")),
        test.empty.map(|yes| is(yes, "empty")),
        test.is.as_ref().map(|word| format!("is {}", word.0)),
        test.not.as_ref().map(|word| format!("is not {}", word.0)),
        test.one_of.as_ref().map(|list| format!("is {}", words(list))),
        test.contains.as_ref().map(|part| format!("contains {part}")),
        test.lacks.as_ref().map(|part| format!("lacks {part}")),
        test.min.map(|min| format!("is at least {min}")),
        test.max.map(|max| format!("is at most {max}")),
    ];
    let mut all: Vec<String> = own.into_iter().flatten().map(|part| format!("{name} {part}")).collect();
    for (inner, which) in [(&test.all, "each of"), (&test.any, "one of")] {
        all.extend(inner.iter().flat_map(|inner| clauses(&format!("{which} {name}"), inner)));
    }
    all
}

/// Describes in words where a rule reads a value.
pub(super) fn source(source: &Source) -> String {
    let list = |names: &[String]| names.join(", ");
    match source {
        Source::File { path, part, form } | Source::Files { pattern: path, part, form, .. } => {
            format!("{path}{}{}", of_part(part), of_form(form))
        }
        Source::List { folder, names } if names.is_empty() => format!("the names in {folder}"),
        Source::List { folder, names } => format!("{} in {folder}", list(names)),
        Source::Exists(path) => format!("whether {path} exists"),
        Source::Kconfig(option) => format!("CONFIG_{option}"),
        Source::Kconfigs(options) => format!("those of CONFIG_{} that are on", options.join(", CONFIG_")),
        Source::Cmdline(name) => format!("kernel parameter {name}="),
        Source::Supports(name) => format!("kernel support of {name}"),
        Source::Parameters(names) => format!("kernel parameters {}", list(names)),
        Source::Cpus(set) => format!("the {} CPUs", of_set(*set)),
        Source::Units(names) => format!("units of systemd: {}", list(names)),
        Source::Processes(names) => format!("programs: {}", list(names)),
        Source::Log(texts) => format!("lines of the kernel's log with: {}", list(texts)),
        Source::Irqs(_) => "interrupts that match".to_owned(),
        Source::Probe { name, .. } => name.replace('-', " "),
    }
}

fn of_part(part: &Part) -> String {
    match part {
        Part::All => String::new(),
        Part::Key(key) => format!(" at {key}"),
        Part::Field(n) => format!(", word {n}"),
        Part::Lines(texts) => format!(", lines with {}", texts.join(" or ")),
    }
}

fn of_form(form: &Form) -> String {
    let within = form.within.map(|set| format!(", of these the {} CPUs", of_set(set)));
    let without = form.without.map(|set| format!(", without the {} CPUs", of_set(set)));
    within.into_iter().chain(without).collect()
}

fn of_set(set: Set) -> &'static str {
    match set {
        Set::Measured => "measured",
        Set::Isolated => "isolated",
        Set::Housekeeping => "housekeeping",
        Set::Online => "online",
        Set::Tickless => "tickless",
    }
}
