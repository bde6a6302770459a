//! Computes how the lateness of edges affects the number of frames that a receiver decodes, which shows why alarms are
//! absolute. The edges are computed from the transmitter's own alarms, with added lateness. Nothing sleeps, and the
//! same seed gives the same table.

use crate::code::{Addresses, Code};
use crate::error::Error;
use crate::ook::{EdgeAt, OokWriter};
use crate::rtl433;
use crate::waveform::{Timing, Waveform};
use punctual_directory::{Scratch, Whose};
use punctual_units::Nanos;
use serde::Serialize;
use std::collections::BTreeSet;
use std::io;

const COMMANDS: usize = 60;
const REPEATS: u32 = 4;
/// Time for which the line is low before each command is sent.
const PAUSE: Nanos = Nanos::from_millis(200);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Lateness {
    /// Lateness uniformly distributed between 0 and this value, µs.
    UniformUs(u64),
    /// The same lateness for every edge, µs.
    ConstantUs(u64),
}

pub const ROWS: [Lateness; 11] = [
    Lateness::UniformUs(0),
    Lateness::UniformUs(50),
    Lateness::UniformUs(100),
    Lateness::UniformUs(150),
    Lateness::UniformUs(200),
    Lateness::UniformUs(250),
    Lateness::UniformUs(300),
    Lateness::ConstantUs(50),
    Lateness::ConstantUs(100),
    Lateness::ConstantUs(150),
    Lateness::ConstantUs(200),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadlines {
    /// Alarms relative to the start of the bit, as in this program: lateness does not accumulate.
    Absolute,
    /// Alarms relative to the previous edge: lateness accumulates.
    Relative,
}

/// Number of decoded frames and commands, out of 60 commands with 4 frames each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Decoded {
    /// Decoded frames, of 240.
    pub frames: u64,
    /// Commands with at least one decoded frame, of 60.
    pub commands: u64,
    pub wrong: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    pub lateness: Lateness,
    pub absolute: Decoded,
    pub relative: Decoded,
}

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
#[derive(Clone, Debug)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}

impl Lateness {
    fn draw(self, random: &mut Random) -> Nanos {
        match self {
            Lateness::UniformUs(us) => Nanos(random.next() % (us * 1_000 + 1)),
            Lateness::ConstantUs(us) => Nanos::from_micros(us),
        }
    }

    fn words(self) -> String {
        match self {
            Lateness::UniformUs(0) => "none".into(),
            Lateness::UniformUs(us) => format!("0 to {us} µs"),
            Lateness::ConstantUs(us) => format!("{us} µs, all"),
        }
    }
}

fn edges(
    waveform: &Waveform,
    code: Code,
    from: Nanos,
    late: impl FnMut() -> Nanos,
    deadlines: Deadlines,
) -> Vec<EdgeAt> {
    let mut late = late;
    let (mut edges, mut before): (Vec<EdgeAt>, Option<Nanos>) = (Vec::new(), None);
    for frame in 0..REPEATS {
        // All times have passed: no alarm sleeps, and `due` is the ideal time.
        waveform.send(code, waveform.start(Nanos(1), frame), |level, rung| {
            let due = from + rung.due;
            let last = edges.last().map(|edge| edge.at);
            let at = match (deadlines, before, last) {
                (Deadlines::Relative, Some(before), Some(last)) => last + (due - before) + late(),
                // An alarm runs after the previous one, however late that is.
                (_, _, last) => (due + late()).max(last.unwrap_or(due)),
            };
            before = Some(due);
            edges.push(EdgeAt { at, level });
            true
        });
    }
    edges
}

/// Computes one cell of the table.
///
/// # Errors
/// rtl_433 is missing or fails, or no file can be written.
fn cell(lateness: Lateness, deadlines: Deadlines, timing: &Timing, seed: u64) -> Result<Decoded, Error> {
    let folder = Scratch::create("rf-switch", Whose::Results).map_err(io::Error::from);
    let folder = folder.map_err(Error::file("make a folder in", std::env::temp_dir()))?;
    let file = folder.path().join("simulated.ook");
    let failed = || Error::file("write", &file);
    let output = folder.dir().create_new("simulated.ook").map_err(io::Error::from).map_err(failed())?;
    let mut writer = OokWriter::new(output, timing, "a simulation").map_err(failed())?;
    let waveform = Waveform::new(timing)?;
    let mut random = Random(seed);
    // Each command has a distinct code, by which it is recognised.
    let codes: Vec<Code> = Addresses::All.codes().step_by(7).take(COMMANDS).collect();
    let mut from = PAUSE;
    for code in &codes {
        let message = edges(&waveform, *code, from, || lateness.draw(&mut random), deadlines);
        from = message.last().map_or(from, |edge| edge.at) + PAUSE;
        message.into_iter().try_for_each(|edge| writer.edge(edge)).map_err(failed())?;
    }
    writer.finish().map_err(failed())?;
    let read = rtl433::decode(&file)?;
    let (right, wrong): (Vec<Code>, Vec<Code>) = read.into_iter().partition(|code| codes.contains(code));
    let commands = right.iter().collect::<BTreeSet<_>>().len() as u64;
    Ok(Decoded { frames: right.len() as u64, commands, wrong: wrong.len() as u64 })
}

/// Computes the whole table.
///
/// # Errors
/// rtl_433 is missing or fails, or no file can be written.
pub fn table(rows: &[Lateness], timing: &Timing) -> Result<Vec<Row>, Error> {
    let row = |(n, lateness): (usize, &Lateness)| {
        let seed = n as u64 + 1;
        let absolute = cell(*lateness, Deadlines::Absolute, timing, seed)?;
        let relative = cell(*lateness, Deadlines::Relative, timing, seed)?;
        Ok(Row { lateness: *lateness, absolute, relative })
    };
    rows.iter().enumerate().map(row).collect()
}

pub fn text(rows: &[Row], json: bool) -> String {
    if json {
        return rows.iter().filter_map(|row| serde_json::to_string(row).ok()).map(|line| line + "\n").collect();
    }
    let mut text = String::from("edges late by   absolute: frames commands wrong   relative: frames commands wrong\n");
    for row in rows {
        let (a, r) = (row.absolute, row.relative);
        text.push_str(&format!(
            "{:<15} {:>16} {:>8} {:>5} {:>18} {:>8} {:>5}\n",
            row.lateness.words(),
            a.frames,
            a.commands,
            a.wrong,
            r.frames,
            r.commands,
            r.wrong
        ));
    }
    text.push_str("of 240 frames and 60 commands; decoded by rtl_433 -R 4\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_adds_up_with_relative_sleeps_only() {
        let timing = Timing::default();
        let waveform = Waveform::new(&timing).unwrap();
        let code = Addresses::Usual.codes().next().unwrap();
        let late = || Nanos::from_micros(100);
        let absolute = edges(&waveform, code, PAUSE, late, Deadlines::Absolute);
        let relative = edges(&waveform, code, PAUSE, late, Deadlines::Relative);
        assert_eq!((absolute.len(), relative.len()), (200, 200));
        let span = |edges: &[EdgeAt]| edges[199].at - edges[0].at;
        assert_eq!(span(&relative) - span(&absolute), Nanos::from_micros(199 * 100));
        assert!(
            relative
                .iter()
                .chain(&absolute)
                .zip([true, false].into_iter().cycle())
                .all(|(edge, level)| edge.level == level)
        );
    }

    #[test]
    fn edges_stay_in_order_however_late() {
        let waveform = Waveform::new(&Timing::default()).unwrap();
        let code = Addresses::Usual.codes().next().unwrap();
        let mut random = Random(1);
        let edges = edges(&waveform, code, PAUSE, || Lateness::UniformUs(5_000).draw(&mut random), Deadlines::Absolute);
        assert!(edges.is_sorted_by_key(|edge| edge.at));
    }
}
