use super::request::{Origin, Request, Want, every, one};
use punctual_units::CpuList;
use serde_json::json;

/// Parameters that end in a CPU list, which can be written in several ways.
const LISTS: &[&str] = &[
    "isolcpus",
    "nohz_full",
    "rcu_nocbs",
    "irqaffinity",
    "kthread_cpus",
    "systemd.cpu_affinity",
    "workqueue.unbound_cpus",
];

/// Returns one request per parameter, with its origin. For a repeatable parameter each value is required, for others
/// the last, as in the kernel.
pub(super) fn requests(words: &[(String, String)]) -> Vec<Request> {
    let mut requests = Vec::new();
    for (at, (word, whence)) in words.iter().enumerate() {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let same = |other: &&(String, String)| other.0.split('=').next().is_some_and(|key| is_same(key, name));
        let others: Vec<&(String, String)> = words.iter().filter(same).collect();
        let is_several = SEVERAL.contains(&name);
        let is_repeated =
            words.iter().skip(at + 1).any(|other| if is_several { other.0 == *word } else { same(&other) });
        if name.is_empty() || is_repeated {
            continue;
        }
        let id = if is_several && others.len() > 1 { format!("cmdline-{word}") } else { format!("cmdline-{name}") };
        let origin = Origin { id, group: "cmdline", what: format!("kernel parameter {word}"), whence: whence.clone() };
        let absent = ("FAIL", format!("the profile sets {word}, but the kernel command line has no {name}"));
        let request = match is_several {
            true => {
                let given = json!({ "parameters": [name], "only": { "is": word } });
                every(origin, given, &Want::is(word.clone()), absent)
            }
            false => one(origin, json!({ "cmdline": name }), &Want::OneOf(spellings(name, value)), absent),
        };
        // The words within it would be treated as separate parameters.
        requests.push(match word.contains(|c: char| c.is_whitespace() || c == '"') {
            true => request.by_hand("set it manually: its quotes must reach both the boot loader and the kernel"),
            false => request.fix(word, "persist", json!({ "boot": { "add": word } })),
        });
    }
    requests
}

const SEVERAL: &[&str] = &["console", "hugepagesz", "hugepages", "module_blacklist", "initcall_blacklist", "earlycon"];

/// Compares names of kernel parameters, in which `-` and `_` are equal (kernel/params.c, parameq).
fn is_same(one: &str, other: &str) -> bool {
    one.replace('-', "_") == other.replace('-', "_")
}

/// Returns the value as written and, if it ends in a CPU list, also as the kernel prints the list and number by number.
fn spellings(name: &str, value: &str) -> Vec<String> {
    let mut all = vec![value.to_owned()];
    let name = name.replace('-', "_");
    let is_flag = |part: &&str| part.starts_with(|c: char| c.is_ascii_lowercase());
    let parts: Vec<&str> = value.split(',').collect();
    let flags = parts.iter().take_while(|part| is_flag(part)).count();
    let (flags, list) = parts.split_at(flags);
    if LISTS.contains(&name.as_str())
        && let Ok(cpus) = list.join(",").parse::<CpuList>()
        && !cpus.is_empty()
    {
        let numbers: Vec<String> = cpus.iter().map(|cpu| cpu.to_string()).collect();
        let before: String = flags.iter().map(|flag| format!("{flag},")).collect();
        for list in [cpus.to_string(), numbers.join(",")] {
            let spelled = format!("{before}{list}");
            if !all.contains(&spelled) {
                all.push(spelled);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_several_spellings() {
        assert_eq!(spellings("isolcpus", "domain,2,3"), ["domain,2,3", "domain,2-3"]);
        assert_eq!(spellings("nohz_full", "2-4"), ["2-4", "2,3,4"]);
        assert_eq!(spellings("idle", "poll"), ["poll"]);
    }

    #[test]
    fn a_value_with_blanks_is_no_other_parameter() {
        for word in ["dyndbg=file a.c +p init=/bin/sh", "x=\"y", "a\u{a0}b=c\td"] {
            let requests = requests(&[(word.to_owned(), "x, line 1".to_owned())]);
            assert!(requests[0].fix.to_string().contains("manually"), "{word}: {}", requests[0].fix);
        }
    }

    #[test]
    fn the_last_of_a_name_counts() {
        let word = |text: &str| (text.to_owned(), "x, line 1".to_owned());
        let ids: Vec<String> =
            requests(&[word("a=1"), word("a=2"), word("console=tty0"), word("console=ttyS0"), word("quiet")])
                .iter()
                .map(|request| format!("{} {}", request.id, request.what))
                .collect();
        assert_eq!(
            ids,
            [
                "cmdline-a kernel parameter a=2",
                "cmdline-console=tty0 kernel parameter console=tty0",
                "cmdline-console=ttyS0 kernel parameter console=ttyS0",
                "cmdline-quiet kernel parameter quiet",
            ]
        );
    }
}
