//! Checks properties of the decoder that must hold for any sequence of samples.

use proptest::prelude::*;
use punctual_units::Nanos;
use rotary_dial::{Change, Decoder, Dial, DigitMap, Heard, Play, Random, Reason, Sampling, Script, Timing, listen};

const LATE: Sampling = Sampling { lateness: Nanos::from_millis(9), lost_per_million: 0 };

fn play(digits: &[u8], dial: &Dial, random: &mut Random) -> Play {
    Play::call(&Script::of_digits(digits), DigitMap::Usual, dial, random)
}

fn dials() -> impl Strategy<Value = Dial> {
    (7.0..12.0f64, 0.3..0.5f64, 0u64..4, 250u64..900).prop_map(|(pulses_per_second, make, bounce, pause)| Dial {
        pulses_per_second,
        make,
        bounce: Nanos::from_millis(bounce),
        pause: Nanos::from_millis(pause),
    })
}

fn digits(heard: &[(Nanos, Heard)]) -> Vec<u8> {
    let digit = |heard: &Heard| match heard {
        Heard::Pulses(pulses) => DigitMap::Usual.digit(*pulses),
        _ => None,
    };
    heard.iter().filter_map(|(_, heard)| digit(heard)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_train_cut_by_hanging_up_is_never_a_digit(
        dial in dials(), dialled in proptest::collection::vec(0u8..10, 1..4), at in 0.0..1.0f64, seed: u64,
    ) {
        let mut random = Random::new(seed);
        let mut play = play(&dialled, &dial, &mut random);
        let cut = Nanos((play.end.0 as f64 * at) as u64);
        play.changes.retain(|change| change.at < cut);
        if play.changes.last().is_some_and(|last| last.closed) {
            play.changes.push(Change { at: cut, closed: false });
        }
        play.end = cut + Nanos::from_secs(1);
        let heard = listen(&play, &LATE, &mut random);
        let ended = play.digits.iter().filter(|(_, end)| *end < cut).count();
        let got = digits(&heard);
        prop_assert!(dialled.starts_with(&got) && got.len() <= ended, "{heard:?}");
        let lifted = heard.iter().filter(|(_, h)| *h == Heard::Lifted).count();
        let hung_up = heard.iter().filter(|(_, h)| matches!(h, Heard::HungUp { .. })).count();
        prop_assert_eq!(lifted, hung_up);
    }

    #[test]
    fn half_a_digit_at_the_start_is_never_a_digit(
        dial in dials(), dialled in proptest::collection::vec(0u8..10, 1..4), at in 0.0..1.0f64, seed: u64,
    ) {
        let mut random = Random::new(seed);
        let play = play(&dialled, &dial, &mut random);
        let start = Nanos((play.end.0 as f64 * at) as u64);
        let mut decoder = Decoder::new(Timing::default());
        let mut heard = Vec::new();
        for time in (start.0..play.end.0).step_by(10_000_000) {
            let closed = play.changes.iter().rfind(|c| c.at.0 <= time).is_some_and(|c| c.closed);
            heard.extend(decoder.sample(Nanos(time), closed).map(|what| (Nanos(time), what)));
        }
        let got = digits(&heard);
        let whole = play.digits.iter().filter(|(begin, _)| *begin >= start).count();
        prop_assert!(dialled.ends_with(&got) && got.len() <= whole, "{heard:?}");
    }

    #[test]
    fn no_digit_comes_while_the_dial_spins(
        dial in dials(), dialled in proptest::collection::vec(0u8..10, 1..5), seed: u64,
    ) {
        let mut random = Random::new(seed);
        let play = play(&dialled, &dial, &mut random);
        for (at, heard) in listen(&play, &LATE, &mut random) {
            if matches!(heard, Heard::Pulses(_)) {
                let spins = |(begin, end): &(Nanos, Nanos)| *begin <= at && at < *end;
                prop_assert!(!play.digits.iter().any(spins), "at {at}");
            }
        }
    }

    #[test]
    fn any_samples_are_answered(samples in proptest::collection::vec((0u64..400_000_000, any::<bool>()), 0..300)) {
        let mut decoder = Decoder::new(Timing::default());
        let mut at = Nanos::ZERO;
        for (step, closed) in samples {
            at = at + Nanos(step);
            if let Some(Heard::Pulses(pulses)) = decoder.sample(at, closed) {
                prop_assert!((1..=10).contains(&pulses));
            }
        }
        // A sample with an earlier time is ignored.
        prop_assert_eq!(decoder.sample(Nanos::ZERO, true), None);
    }
}

/// Decodes a sequence of levels, each with its duration in ms, sampled every 10 ms.
fn hear(levels: &[(bool, u64)]) -> Vec<Heard> {
    let (mut decoder, mut heard, mut at) = (Decoder::new(Timing::default()), Vec::new(), 0);
    for (closed, ms) in levels {
        for _ in 0..ms / 10 {
            heard.extend(decoder.sample(Nanos::from_millis(at), *closed));
            at += 10;
        }
    }
    heard
}

#[test]
fn what_is_neither_pulse_nor_hang_up_is_rejected_by_its_reason() {
    let (lifted, pulse) = ((true, 400), [(false, 60), (true, 40)]);
    let train = |middle: &[(bool, u64)]| [&[lifted][..], &pulse[..], middle, &[(true, 400)]].concat();
    assert_eq!(hear(&train(&[])), [Heard::Lifted, Heard::Pulses(1)]);
    for (middle, reason) in [
        (&[(false, 160)][..], Reason::LongBreak),
        (&[(true, 100), (false, 60)], Reason::LongMake),
        (&pulse.repeat(10), Reason::TooMany),
    ] {
        assert_eq!(hear(&train(middle)), [Heard::Lifted, Heard::Rejected(reason)], "{middle:?}");
    }
    let cut = hear(&[lifted, (false, 60), (true, 40), (false, 400)]);
    assert_eq!(cut, [Heard::Lifted, Heard::HungUp { cut: true }]);
    // A hook flash is longer than a pulse and shorter than hanging up.
    assert_eq!(hear(&[lifted, (false, 160), lifted]), [Heard::Lifted, Heard::Rejected(Reason::LongBreak)]);
}

#[test]
fn samples_that_are_missing_are_reported() {
    let mut decoder = Decoder::new(Timing::default());
    let ms = Nanos::from_millis;
    let mut heard: Vec<Heard> = (0..30).filter_map(|n| decoder.sample(ms(n * 10), true)).collect();
    // Half a second without a sample: a whole digit may have passed.
    heard.extend((80..100).filter_map(|n| decoder.sample(ms(n * 10), true)));
    assert_eq!(heard, [Heard::Lifted, Heard::Blind]);
    // Within a digit, this rejects the digit.
    let closed = |n: &u64| !(130..136).contains(n);
    let heard: Vec<Heard> =
        (100..180).filter(|n| !(138..142).contains(n)).filter_map(|n| decoder.sample(ms(n * 10), closed(&n))).collect();
    assert_eq!(heard, [Heard::Rejected(Reason::Samples)]);
}
