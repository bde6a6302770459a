//! Writes every line that it reads from /run/punctual-in to /run/punctual-out, and logs it. As root:
//!
//! ```text
//! cargo run -p punctual-rt --example pipes &
//! cat /run/punctual-out &
//! echo d21 > /run/punctual-in
//! echo end > /run/punctual-in
//! ```

use punctual_rt::{Level, Line, Log, Overflow, monotonic, pipe, pipe_out};
use punctual_units::Nanos;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let log = Log::start(std::io::stderr())?;
    let mut recorder = log.recorder("echo", 64)?;
    let (mut commands, bridge_in) = pipe::<Line, 64>("punctual-in", Overflow::DropNewest)?;
    let (mut answers, bridge_out) = pipe_out::<Line, 64>("punctual-out", Overflow::DropNewest)?;
    // As in a real-time thread from here on: no allocation, no lock, no waiting for the process at the other end.
    loop {
        let Ok(line) = commands.receive_until(monotonic() + Nanos::from_secs(1)) else { continue };
        if line.as_bytes() == b"end" {
            break;
        }
        recorder.record(Level::Info, "a command of {} bytes", &[(line.as_bytes().len() as u64).into()]);
        if answers.send(line).is_err() {
            recorder.record(Level::Warning, "an answer was refused", &[]);
        }
    }
    println!("in {:?}\nout {:?}", bridge_in.counts(), bridge_out.counts());
    Ok(())
}
