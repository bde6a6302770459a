//! `cargo run -p punctual-explain --example timeline -- FILE`: the timelines of the latest wakeups, as JSON.

use punctual_explain::{Facts, Options, explain, timelines};
use std::fs::File;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("name a trace")?;
    let options = punctual_trace::Options::default();
    let mut source = punctual_trace::open(File::open(&path)?, options)?;
    let explanation = explain(source.as_mut(), Options::default());
    let mut again = punctual_trace::open(File::open(&path)?, options)?;
    let found = timelines(again.as_mut(), &explanation.victims, Facts::default());
    for (victim, timeline) in explanation.victims.iter().zip(found) {
        println!("{}\n{}", victim.verdict, serde_json::to_string(&timeline)?);
    }
    Ok(())
}
