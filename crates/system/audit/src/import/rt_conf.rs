//! rt-conf's YAML. Older versions write keys with `_` and rules as lists, newer ones write keys with `-` and labelled
//! rules; both are accepted.

use super::request::{Origin, Request, Want, every};
use super::yaml::{self, Node, Value};
use super::{Imported, boot};
use crate::rule::expression;
use crate::{Profile, ProfileFileError};
use punctual_machine::parameters;
use punctual_units::CpuList;
use serde_json::json;

const TOP: &[&str] = &["kernel-cmdline", "irq-tuning", "irq-tunning", "cpu-governance"];

/// Parameters that had separate keys before `parameters` was a list.
const OLD: &[&str] = &["isolcpus", "nohz", "nohz_full", "kthread_cpus", "irqaffinity", "rcu_nocbs"];

pub(super) fn is_top(line: &str) -> bool {
    line.split_once(':').is_some_and(|(key, _)| TOP.contains(&dashed(key).as_str()))
}

fn dashed(key: &str) -> String {
    key.replace('_', "-")
}

pub(super) fn import(file: &str, text: &str) -> Result<Imported, ProfileFileError> {
    let root = yaml::parse(file, text)?;
    let mut reader = Reader { file, requests: Vec::new(), notes: Vec::new() };
    for (key, value) in reader.map(&root, "the file")? {
        match dashed(key.word().unwrap_or_default()).as_str() {
            "kernel-cmdline" => reader.cmdline(value)?,
            "irq-tuning" | "irq-tunning" => reader.each(value, Reader::irq)?,
            "cpu-governance" => reader.each(value, Reader::governance)?,
            _ => reader.note(key, "is not a supported key of rt-conf"),
        }
    }
    let Reader { requests, notes, .. } = reader;
    let isolates = requests.iter().any(|request| request.id == "cmdline-isolcpus");
    let base = if isolates { Profile::DedicatedCore } else { Profile::ControlLoop };
    Ok(Imported { base, description: format!("rt-conf's {file}"), requests, notes })
}

struct Reader<'f> {
    file: &'f str,
    requests: Vec<Request>,
    notes: Vec<String>,
}

struct Labelled<'n> {
    label: String,
    node: &'n Node,
}

impl<'n> Reader<'_> {
    fn note(&mut self, at: &Node, why: &str) {
        self.notes.push(format!("{} (line {}): {why}", at.word().unwrap_or_default(), at.line));
    }

    /// Returns the pairs of a mapping; empty for null, as in a file whose examples are all comments.
    fn map(&self, node: &'n Node, what: &str) -> Result<&'n [(Node, Node)], ProfileFileError> {
        match &node.value {
            Value::Map(pairs) => Ok(pairs),
            Value::Null => Ok(&[]),
            _ => Err(node.error(self.file, format!("{what} must be a mapping `key: value`, not {}", node.kind()))),
        }
    }

    fn word(&self, node: &'n Node, what: &str) -> Result<&'n str, ProfileFileError> {
        let kind = node.kind();
        node.word().ok_or_else(|| node.error(self.file, format!("{what} must be a word, not {kind}")))
    }

    fn origin(&self, id: String, group: &'static str, what: String, at: &Node) -> Origin {
        Origin { id, group, what, whence: format!("{}, line {}", self.file, at.line) }
    }

    fn cmdline(&mut self, node: &'n Node) -> Result<(), ProfileFileError> {
        let mut words: Vec<(String, &Node)> = Vec::new();
        for (key, value) in self.map(node, "kernel-cmdline")? {
            match (key.word().unwrap_or_default(), &value.value) {
                ("parameters", Value::List(items)) => {
                    for item in items {
                        words.push((self.word(item, "a parameter")?.to_owned(), item));
                    }
                }
                ("parameters", Value::Null) => {}
                ("parameters", _) => return Err(value.error(self.file, "parameters must be a list: `- isolcpus=2-3`")),
                (_, Value::Null) => {}
                (name, _) if OLD.contains(&name) => {
                    words.push((format!("{name}={}", self.word(value, name)?), value));
                }
                _ => self.note(key, "is not a supported key of kernel-cmdline"),
            }
        }
        let listed: Vec<(String, String)> = words
            .iter()
            .flat_map(|(word, at)| {
                parameters(word).into_iter().map(|p| (p, format!("{}, line {}", self.file, at.line)))
            })
            .collect();
        self.requests.extend(boot::requests(&listed));
        Ok(())
    }

    fn each(
        &mut self,
        node: &'n Node,
        read: fn(&mut Self, Labelled<'n>) -> Result<(), ProfileFileError>,
    ) -> Result<(), ProfileFileError> {
        let labelled: Vec<Labelled> = match &node.value {
            Value::List(items) => {
                let numbered = items.iter().enumerate();
                numbered.map(|(at, node)| Labelled { label: (at + 1).to_string(), node }).collect()
            }
            _ => {
                let pairs = self.map(node, "this")?.iter();
                pairs.map(|(key, node)| Labelled { label: key.word().unwrap_or_default().to_owned(), node }).collect()
            }
        };
        labelled.into_iter().filter(|one| one.node.value != Value::Null).try_for_each(|one| read(self, one))
    }

    /// Parses a CPU list; `None` if it depends on the number of the machine's last CPU.
    fn cpus(&mut self, node: &'n Node) -> Result<Option<CpuList>, ProfileFileError> {
        let text = self.word(node, "cpus")?;
        if text == "all" || text.contains('N') {
            self.note(node, "a list that depends on the machine's last CPU");
            return Ok(None);
        }
        match text.parse::<CpuList>() {
            Ok(cpus) if !cpus.is_empty() => Ok(Some(cpus)),
            _ => Err(node.error(self.file, format!("`{text}` is not a CPU list such as 2-3,6"))),
        }
    }

    fn field(&self, one: &Labelled<'n>, name: &str) -> Result<Option<&'n Node>, ProfileFileError> {
        let pairs = self.map(one.node, "an entry")?;
        let found = pairs.iter().find(|(key, _)| key.word().is_some_and(|key| dashed(key) == name));
        Ok(found.map(|(_, value)| value).filter(|value| value.value != Value::Null))
    }

    fn needed_cpus(&mut self, one: &Labelled<'n>) -> Result<Option<CpuList>, ProfileFileError> {
        match self.field(one, "cpus")? {
            Some(node) => self.cpus(node),
            None => Err(one.node.error(self.file, "cpus is missing: write `cpus: \"2-3\"`")),
        }
    }

    /// Notes unknown keys; the rest of the entry still counts.
    fn others(&mut self, pairs: &'n [(Node, Node)], known: &[&str]) {
        for (key, _) in pairs {
            if !key.word().is_some_and(|key| known.contains(&dashed(key).as_str())) {
                self.note(key, "is an unknown key");
            }
        }
    }

    fn governance(&mut self, entry: Labelled<'n>) -> Result<(), ProfileFileError> {
        let pairs = self.map(entry.node, "an entry")?;
        self.others(pairs, &["cpus", "scaling-governor", "min-freq", "max-freq"]);
        let Some(cpus) = self.needed_cpus(&entry)? else { return Ok(()) };
        let files = [
            ("scaling-governor", "governor", "scaling_governor"),
            ("min-freq", "min-freq", "scaling_min_freq"),
            ("max-freq", "max-freq", "scaling_max_freq"),
        ];
        for (key, id, file) in files {
            let Some(node) = self.field(&entry, key)? else { continue };
            let text = self.word(node, key)?;
            let value = match key {
                "scaling-governor" => Some(text.to_owned()),
                _ => kilohertz(text).map(|number| number.to_string()),
            };
            let Some(value) = value else {
                return Err(node.error(self.file, format!("`{text}` is not a frequency such as 1.2GHz")));
            };
            let what = format!("{file} = {value} on CPU {cpus}");
            let origin = self.origin(format!("{id}-{}", entry.label), "cpu", what, node);
            let pattern = format!("/sys/devices/system/cpu/cpu@/cpufreq/{file}");
            let read = json!({ "files": pattern, "on": cpus.to_string() });
            let none =
                ("FAIL", format!("CPU {cpus} has no {file}: the CPU does not exist, or its frequency is not scaled"));
            let fix = format!("/sys/devices/system/cpu/cpu*/cpufreq/{file} (for CPU {cpus})");
            let by_hand = format!("write {value} to {fix}");
            self.requests.push(every(origin, read, &Want::is(value), none).only_if("cpufreq").by_hand(&by_hand));
        }
        Ok(())
    }

    fn irq(&mut self, entry: Labelled<'n>) -> Result<(), ProfileFileError> {
        let pairs = self.map(entry.node, "an entry")?;
        self.others(pairs, &["cpus", "filter"]);
        let Some(cpus) = self.needed_cpus(&entry)? else { return Ok(()) };
        let mut read = json!({ "outside": cpus.to_string() });
        let mut shown = Vec::new();
        if let Some(filter) = self.field(&entry, "filter")? {
            let pairs = self.map(filter, "filter")?;
            self.others(pairs, &["actions", "chip-name", "name", "type"]);
            for (key, value) in pairs.iter().filter(|(_, value)| value.value != Value::Null) {
                let name = dashed(key.word().unwrap_or_default());
                if ["actions", "chip-name", "name", "type"].contains(&name.as_str()) {
                    let text = self.word(value, &name)?;
                    expression(text).map_err(|why| value.error(self.file, why))?;
                    shown.push(format!("{name} {text}"));
                    read[name.replace('-', "_")] = json!(text);
                }
            }
        }
        let filter = if shown.is_empty() { "all".to_owned() } else { format!("those with {}", shown.join(", ")) };
        let what = format!("interrupts ({filter}) on CPU {cpus}");
        let origin = self.origin(format!("irq-{}", entry.label), "isolation", what, entry.node);
        let by_hand = format!("write {cpus} to smp_affinity_list in /proc/irq for each of these interrupts");
        self.requests.push(irq_request(origin, json!({ "irqs": read })).by_hand(&by_hand));
        Ok(())
    }
}

fn irq_request(origin: Origin, read: serde_json::Value) -> Request {
    every(origin, read, &Want::is("none"), ("WARN", "no interrupt matches the profile's filter".to_owned()))
}

/// Parses a frequency as rt-conf does, in kHz: a number and GHz, MHz, kHz or Hz, in any case.
fn kilohertz(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let text = text.strip_suffix("hz")?;
    let (number, factor) = match text.chars().next_back()? {
        'g' => (text.strip_suffix('g')?, 1e6),
        'm' => (text.strip_suffix('m')?, 1e3),
        'k' => (text.strip_suffix('k')?, 1.0),
        _ => (text, 1e-3),
    };
    let number: f64 = number.trim().parse().ok()?;
    let kilohertz = number * factor;
    ((0.0..1e12).contains(&kilohertz)).then_some(kilohertz as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_are_read() {
        assert_eq!(kilohertz("1.2GHz"), Some(1_200_000));
        assert_eq!(kilohertz("800 mhz"), Some(800_000));
        assert_eq!(kilohertz("5000Hz"), Some(5));
        for wrong in ["", "Hz", "fast", "-1GHz", "NaNGHz", "1e300GHz"] {
            assert_eq!(kilohertz(wrong), None, "{wrong}");
        }
    }
}
