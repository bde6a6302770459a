//! Writes docs/reliability.md: the table with the most recent result for each fault.

use super::{FAULTS, Fault, How};
use std::collections::BTreeMap;
use std::fs;

const HEAD: &str = "# What it withstands

Each fault is one that the trusted tools lose results by, or worse. `cargo trials faults` tries those that have no command of their own
(as root; guests in QEMU), `cargo trials faults --write` puts its figures here.

| | fault | has to hold | tried by | figures |
|---:|---|---|---|---|
";

pub fn write(figures: &[(u32, String)]) -> Result<(), String> {
    let path = xtask::root().join("docs/reliability.md");
    let mut known = fs::read_to_string(&path).map(|text| read(&text)).unwrap_or_default();
    known.extend(figures.iter().cloned());
    let rows: Vec<String> = FAULTS.iter().map(|fault| row(fault, &known)).collect();
    fs::write(&path, HEAD.to_owned() + &rows.concat()).map_err(|e| format!("{}: {e}", path.display()))
}

fn row(fault: &Fault, known: &BTreeMap<u32, String>) -> String {
    let by = match fault.how {
        How::Here(_) => format!("cargo trials faults {}", fault.name),
        How::By(command) => command.to_owned(),
    };
    let by: Vec<String> = by.split("; ").map(|command| format!("`{command}`")).collect();
    let figures = known.get(&fault.number).map_or("not yet", String::as_str);
    format!("| {} | {} | {} | {} | {figures} |\n", fault.number, fault.fault, fault.reach, by.join(", "))
}

fn read(text: &str) -> BTreeMap<u32, String> {
    let row = |line: &str| {
        let mut cells = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ");
        Some((cells.next()?.parse().ok()?, cells.last()?.to_owned()))
    };
    text.lines().filter_map(row).filter(|(_, figures)| figures != "not yet").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stay_where_others_are_written() {
        let known: BTreeMap<u32, String> = [(2, "100 of 100".to_owned()), (13, "a, b".to_owned())].into();
        let text: String = FAULTS.iter().map(|fault| row(fault, &known)).collect();
        assert_eq!(read(&text), known);
        assert_eq!(text.lines().count(), FAULTS.len());
    }

    #[test]
    fn faults_are_numbered_as_they_are_listed() {
        assert!(FAULTS.iter().enumerate().all(|(n, fault)| fault.number as usize == n + 1));
    }
}
