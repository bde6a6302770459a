//! Explains a trace: `cargo run --release -p punctual-explain --example explain -- FILE [TID]`.

use punctual_explain::{ExplainOptions, Victims, explain};
use punctual_trace::open;
use std::error::Error;
use std::fs::File;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let file = File::open(args.next().ok_or("which file?")?)?;
    let victims = match args.next() {
        Some(tid) => Victims::Tid(tid.parse()?),
        None => Victims::default(),
    };
    let mut source = open(file, punctual_trace::Options::default())?;
    let explanation = explain(source.as_mut(), ExplainOptions { victims, ..ExplainOptions::default() });
    println!("{explanation:#?}");
    Ok(())
}
