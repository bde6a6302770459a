//! Prints which dials can be decoded, in simulated time.

use crate::play::Dial;
use crate::random::Random;
use crate::trial::{Sampling, Tried};
use punctual_units::Nanos;
use std::fmt::Write;

const NUMBERS: u64 = 300;

const SPEEDS: [f64; 10] = [5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 14.0, 16.0];
const MAKES: [f64; 7] = [0.2, 0.25, 0.3, 0.33, 0.4, 0.5, 0.6];

const CASES: [(&str, Sampling); 5] = [
    ("samples on time", sampling(0, 0)),
    ("samples up to 9 ms late", sampling(9, 0)),
    ("one sample in 1000 lost", sampling(0, 1_000)),
    ("one sample in 100 lost", sampling(0, 10_000)),
    ("samples up to 9 ms late, one in 100 lost", sampling(9, 10_000)),
];

const fn sampling(lateness_ms: u64, lost_per_million: u64) -> Sampling {
    Sampling { lateness: Nanos::from_millis(lateness_ms), lost_per_million }
}

/// Returns the table: percentage of dialled digits that were decoded, and the number of wrongly decoded numbers, by
/// pulses per second and make ratio.
pub(crate) fn table() -> String {
    let mut text = format!(
        "Digits decoded, in per cent of those dialled; the rest were rejected. After a slash: numbers with a wrong digit.\n\
         {} digits each, 3 ms bounce, 600 ms between digits.\n",
        NUMBERS * 10
    );
    for (heading, sampling) in CASES {
        let _ = write!(text, "\n{heading}\npulses/s");
        for make in MAKES {
            let _ = write!(text, "{:>8.0} %", make * 100.0);
        }
        text.push_str(" make\n");
        for speed in SPEEDS {
            let _ = write!(text, "{speed:>8}");
            for make in MAKES {
                let _ = write!(text, "{:>10}", entry(speed, make, &sampling));
            }
            text.push('\n');
        }
    }
    text
}

fn entry(pulses_per_second: f64, make: f64, sampling: &Sampling) -> String {
    let dial = Dial { pulses_per_second, make, ..Dial::default() };
    let (mut random, mut tried) = (Random::new(1), Tried::default());
    for _ in 0..NUMBERS {
        let digits: [u8; 10] = std::array::from_fn(|_| random.up_to(9) as u8);
        tried.dial(&digits, &dial, sampling, &mut random);
    }
    let percent = 100.0 * tried.right as f64 / tried.digits as f64;
    match tried.wrong.len() {
        0 => format!("{percent:.1}"),
        wrong => format!("{percent:.1}/{wrong}"),
    }
}
