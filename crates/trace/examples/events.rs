//! Counts the events of a trace by kind, and shows what is known about it: `events FILE`, `-v` prints every event.

use punctual_trace::{Kind, Options, open};
use std::collections::BTreeMap;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let verbose = arguments.iter().position(|a| a == "-v").map(|at| arguments.remove(at)).is_some();
    let path = arguments.first().ok_or("usage: events [-v] FILE")?;
    let mut source = open(std::fs::File::open(path)?, Options::default())?;
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let mut hash = 0u64;
    for event in source.by_ref() {
        hash = hash.rotate_left(5) ^ event.t_ns;
        if verbose {
            println!("{event:?}");
        }
        *counts.entry(name(&event.kind)).or_default() += 1;
    }
    println!("{counts:#?}\n{:#?}\n{hash:x}", source.info());
    Ok(())
}

fn name(kind: &Kind) -> String {
    match kind {
        Kind::Other { name, .. } => format!("Other {name}"),
        kind => format!("{kind:?}").split([' ', '(']).next().unwrap_or_default().to_owned(),
    }
}
