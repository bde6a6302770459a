//! Counts the events of a trace by kind and shows facts about it: `events FILE`; `-v` prints every event.

use punctual_trace::{Kind, Options, open};
use std::collections::HashMap;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let verbose = arguments.iter().position(|a| a == "-v").map(|at| arguments.remove(at)).is_some();
    let path = arguments.first().ok_or("usage: events [-v] FILE")?;
    let mut source = open(std::fs::File::open(path)?, Options::default())?;
    let mut counts = HashMap::new();
    for event in source.by_ref() {
        if verbose {
            println!("{event:?}");
        }
        counts.entry(std::mem::discriminant(&event.kind)).or_insert((0u64, event.kind)).0 += 1;
    }
    for (count, kind) in counts.values() {
        println!("{count:9} {}", name(kind));
    }
    println!("{:#?}", source.info());
    Ok(())
}

fn name(kind: &Kind) -> String {
    format!("{kind:?}").split([' ', '(']).next().unwrap_or_default().to_owned()
}
