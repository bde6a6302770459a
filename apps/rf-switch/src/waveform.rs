//! Converts a code to the times at which the carrier is switched on and off, and back.
//!
//! A bit takes 8 T. `0`: T on, 3 T off, T on, 3 T off; `1`: T on, 3 T off, 3 T on, T off. The twelve bits are followed
//! by the stop: T on, then the stop gap off, 36 T in the paper. With T = 360 µs a frame has 25 pulses and takes 12 × 8
//! T + 37 T = 47.88 ms.

use crate::code::{BITS, Code};
use punctual_rt::{AlarmSet, AlarmsFull, Rung};
use punctual_units::Nanos;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

pub const PULSES: usize = 2 * BITS + 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// T, the unit of all times in a frame.
    pub t: Nanos,
    /// Off time after a frame, in units of T.
    pub stop_gap: u32,
}

/// The timing of the paper: T = 360 µs, stop gap 36 T.
impl Default for Timing {
    fn default() -> Timing {
        Timing { t: Nanos::from_micros(360), stop_gap: 36 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTiming {
    #[error("T of {0}: choose 20us to 10ms; the sockets need 300us to 400us")]
    T(Nanos),
    #[error("a stop gap of {0} T: choose 4 to 1000; the sockets need 30 to 40")]
    StopGap(u32),
}

impl Timing {
    /// Creates a timing. T must be 20 µs to 10 ms; the stop gap must be 4 to 1000 T, longer than any gap within a
    /// frame.
    ///
    /// # Errors
    /// [`BadTiming`].
    pub fn new(t: Nanos, stop_gap: u32) -> Result<Timing, BadTiming> {
        match (t, stop_gap) {
            (t, _) if !(Nanos::from_micros(20)..=Nanos::from_millis(10)).contains(&t) => Err(BadTiming::T(t)),
            (_, gap) if !(4..=1000).contains(&gap) => Err(BadTiming::StopGap(gap)),
            _ => Ok(Timing { t, stop_gap }),
        }
    }

    pub fn times(&self, n: u32) -> Nanos {
        Nanos(self.t.0 * u64::from(n))
    }

    /// Returns the duration of a frame, including its stop gap.
    pub fn frame(&self) -> Nanos {
        self.times(8 * BITS as u32 + 1 + self.stop_gap)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pulse {
    pub mark: Nanos,
    /// Off time until the next pulse, ns.
    pub space: Nanos,
}

pub fn pulses(code: Code, timing: &Timing) -> Vec<Pulse> {
    let pulse = |mark, space| Pulse { mark: timing.times(mark), space: timing.times(space) };
    let bits = code.bits().into_iter().flat_map(|bit| [pulse(1, 3), if bit { pulse(3, 1) } else { pulse(1, 3) }]);
    bits.chain([pulse(1, timing.stop_gap)]).collect()
}

/// Decodes a frame of 25 pulses as a receiver that knows T does: on for less than 2 T is short, for less than 4 T is
/// long. Used to check captures without another program; rtl_433 is the independent decoder.
pub fn read_frame(pulses: &[Pulse], timing: &Timing) -> Option<Code> {
    let long = |pulse: &Pulse| (pulse.mark < timing.times(4)).then(|| pulse.mark >= timing.times(2));
    let (stop, bits) = pulses.split_last()?;
    if pulses.len() != PULSES || long(stop)? || bits.iter().any(|pulse| pulse.space >= timing.times(4)) {
        return None;
    }
    let mut read = [false; BITS];
    for (bit, pair) in read.iter_mut().zip(bits.chunks_exact(2)) {
        if long(&pair[0])? {
            return None;
        }
        *bit = long(&pair[1])?;
    }
    Code::of_bits(read)
}

/// Splits pulses into frames, at spaces of at least half the stop gap.
pub fn frames<'a>(pulses: &'a [Pulse], timing: &Timing) -> impl Iterator<Item = &'a [Pulse]> {
    let end = Nanos(timing.times(timing.stop_gap).0 / 2);
    pulses.split_inclusive(move |pulse| pulse.space >= end)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Drive(bool),
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameEnd {
    /// The whole frame was sent, including the stop gap.
    Sent,
    Failed,
}

/// A frame as alarms. All alarms of a bit are absolute from the start of the bit, and the starts of the bits are
/// absolute from the start of the frame: a late edge does not delay later ones.
#[derive(Clone, Debug)]
pub struct Waveform {
    bits: [AlarmSet<Action, 4>; 2],
    stop: AlarmSet<Action, 3>,
    bit: Nanos,
    frame: Nanos,
}

fn alarms<const N: usize>(steps: &[(Nanos, Action)]) -> Result<AlarmSet<Action, N>, AlarmsFull> {
    let mut set = AlarmSet::new();
    steps.iter().try_for_each(|(at, action)| set.at(*at, *action))?;
    Ok(set)
}

impl Waveform {
    /// Creates the alarms of both kinds of bits and of the stop.
    ///
    /// # Errors
    /// Cannot fail with this number of alarms.
    pub fn new(timing: &Timing) -> Result<Waveform, AlarmsFull> {
        let edge = |n, level| (timing.times(n), Action::Drive(level));
        let bit = |off| alarms(&[edge(0, true), edge(1, false), edge(4, true), edge(off, false)]);
        let end = (timing.times(1 + timing.stop_gap), Action::End);
        let stop = alarms(&[edge(0, true), edge(1, false), end])?;
        Ok(Waveform { bits: [bit(5)?, bit(7)?], stop, bit: timing.times(8), frame: timing.frame() })
    }

    /// Returns the start of frame number `frame` in a message that starts at `epoch`.
    pub fn start(&self, epoch: Nanos, frame: u32) -> Nanos {
        epoch + Nanos(self.frame.0 * u64::from(frame))
    }

    /// Sends a frame that starts at `start`, in the calling thread, which should be real-time: sleeps until each alarm
    /// is due and calls `drive`. If `start` has passed, it does not sleep, and [`Rung::due`] is the ideal time. Does
    /// not allocate. Returns when the stop gap is over, or early if `drive` returns `false`.
    pub fn send(&self, code: Code, start: Nanos, mut drive: impl FnMut(bool, Rung) -> bool) -> FrameEnd {
        let failed = AtomicBool::new(false);
        let mut carry_out = |action: &Action, rung: Rung| match action {
            Action::Drive(level) if !drive(*level, rung) => failed.store(true, Relaxed),
            _ => {}
        };
        let mut at = start;
        for bit in code.bits() {
            self.bits[usize::from(bit)].run(at, &failed, &mut carry_out);
            if failed.load(Relaxed) {
                return FrameEnd::Failed;
            }
            at = at + self.bit;
        }
        self.stop.run(at, &failed, &mut carry_out);
        if failed.load(Relaxed) { FrameEnd::Failed } else { FrameEnd::Sent }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Addresses;
    use proptest::prelude::*;

    fn d21() -> Code {
        Addresses::Usual.codes().find(|code| code.to_string() == "d21").unwrap()
    }

    /// Returns the edges of a frame whose alarms have all passed: nothing sleeps, so the times are ideal.
    fn edges(code: Code, timing: &Timing) -> Vec<(Nanos, bool)> {
        let mut edges = Vec::new();
        let end = Waveform::new(timing).unwrap().send(code, Nanos(1), |level, rung| {
            edges.push((rung.due - Nanos(1), level));
            true
        });
        assert_eq!(end, FrameEnd::Sent);
        edges
    }

    #[test]
    fn d21_is_25_pulses_of_47_88_ms() {
        let timing = Timing::default();
        let frame = pulses(d21(), &timing);
        let marks: String = frame.iter().map(|p| if p.mark == timing.t { 's' } else { 'L' }).collect();
        assert_eq!(marks, "sL sL ss ss sL ss ss ss ss sL sL sL s".replace(' ', ""));
        let total: u64 = frame.iter().map(|p| p.mark.0 + p.space.0).sum();
        assert_eq!((frame.len(), Nanos(total)), (25, Nanos::from_micros(47_880)));
        assert_eq!(frame.last().unwrap().space, Nanos::from_micros(12_960));
    }

    #[test]
    fn alarms_drive_the_line_as_the_pulses_say() {
        for (code, t) in Addresses::All.codes().zip([333, 350, 360].into_iter().cycle()) {
            let timing = Timing::new(Nanos::from_micros(t), 32).unwrap();
            let mut expected = Vec::new();
            let mut at = Nanos::ZERO;
            for pulse in pulses(code, &timing) {
                expected.extend([(at, true), (at + pulse.mark, false)]);
                at = at + pulse.mark + pulse.space;
            }
            assert_eq!(edges(code, &timing), expected);
        }
    }

    #[test]
    fn sending_allocates_nothing() {
        let (waveform, code) = (Waveform::new(&Timing::default()).unwrap(), d21());
        let mut count = 0u32;
        let allocated = allocation_counter::measure(|| {
            waveform.send(code, Nanos(1), |_, _| {
                count += 1;
                true
            });
        });
        assert_eq!((allocated.count_total, count), (0, 50));
    }

    #[test]
    fn a_line_that_cannot_be_driven_ends_the_frame_at_once() {
        let mut count = 0;
        let end = Waveform::new(&Timing::default()).unwrap().send(d21(), Nanos(1), |_, _| {
            count += 1;
            count < 7
        });
        assert_eq!((end, count), (FrameEnd::Failed, 7));
    }

    #[test]
    fn times_that_cannot_be_sent_are_refused() {
        assert_eq!(Timing::new(Nanos(5), 36), Err(BadTiming::T(Nanos(5))));
        assert_eq!(Timing::new(Nanos::from_micros(360), 3), Err(BadTiming::StopGap(3)));
    }

    proptest! {
        #[test]
        fn a_frame_is_read_back_whatever_the_times(n in 0usize..512, t in 20u64..10_000, gap in 9u32..1000, late in proptest::collection::vec(0u64..400, 25)) {
            let code = Addresses::All.codes().nth(n).unwrap();
            let timing = Timing::new(Nanos::from_micros(t), gap).unwrap();
            // Each mark is up to 0.4 T longer at the expense of its space.
            let late = late.iter().map(|l| t * 1_000 * l / 1_000);
            let frame: Vec<Pulse> = pulses(code, &timing).into_iter().zip(late).map(|(p, l)| Pulse { mark: Nanos(p.mark.0 + l), space: Nanos(p.space.0 - l) }).collect();
            let read: Vec<_> = frames(&frame, &timing).map(|one| read_frame(one, &timing)).collect();
            prop_assert_eq!(read, vec![Some(code)]);
        }
    }
}
