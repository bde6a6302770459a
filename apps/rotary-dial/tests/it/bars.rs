//! Tests the reliability of the decoder in simulated time, with a hundred thousand dialled numbers per test.

use punctual_units::Nanos;
use rotary_dial::{Dial, Random, Sampling, Tried};

/// Minimum percentage of digits that must be decoded instead of rejected.
const DECODED: u64 = 99;

const NUMBERS: usize = 100_000;

fn numbers(random: &mut Random) -> impl Iterator<Item = Vec<u8>> + use<> {
    let mut random = Random::new(random.bits());
    (0..NUMBERS).map(move |_| (0..1 + random.up_to(5)).map(|_| random.up_to(9) as u8).collect())
}

#[test]
fn no_digit_is_wrong_from_7_to_12_pulses_a_second_with_bounce_and_late_samples() {
    let mut random = Random::new(421);
    let sampling = Sampling { lateness: Nanos::from_millis(9), lost_per_million: 0 };
    let mut tried = Tried::default();
    for digits in numbers(&mut random) {
        let dial = Dial {
            pulses_per_second: random.between(7.0, 12.0),
            make: random.between(0.3, 0.5),
            bounce: Nanos::from_millis(3),
            pause: Nanos(250_000_000 + random.up_to(650_000_000)),
        };
        tried.dial(&digits, &dial, &sampling, &mut random);
    }
    println!("{tried:?}");
    assert_eq!(tried.numbers, NUMBERS as u64);
    assert!(tried.right * 1000 >= tried.digits * 999, "{} of {} digits", tried.right, tried.digits);
    assert!(tried.wrong.is_empty(), "{} wrong: {:#?}", tried.wrong.len(), &tried.wrong[..tried.wrong.len().min(3)]);
}

#[test]
fn no_digit_is_wrong_where_one_sample_in_a_thousand_is_lost() {
    let mut random = Random::new(420);
    for lateness in [Nanos::ZERO, Nanos::from_millis(9)] {
        let sampling = Sampling { lateness, lost_per_million: 1_000 };
        let mut tried = Tried::default();
        for digits in numbers(&mut random) {
            tried.dial(&digits, &Dial::default(), &sampling, &mut random);
        }
        println!("{tried:?}");
        assert!(tried.right * 100 >= tried.digits * DECODED, "{} of {} digits", tried.right, tried.digits);
        // Every digit is decoded, rejected, or reported as uncertain.
        assert!(tried.right + tried.rejected() + tried.blind >= tried.digits);
        assert!(tried.rejected() > 0);
        assert!(tried.wrong.is_empty(), "{} wrong: {:#?}", tried.wrong.len(), &tried.wrong[..tried.wrong.len().min(3)]);
    }
}

/// The trial detects wrong digits if there are any: these dials are too fast for 100 samples per second.
#[test]
fn dials_far_too_fast_are_decoded_wrongly_and_that_is_seen() {
    let mut random = Random::new(1);
    let sampling = Sampling { lateness: Nanos::from_millis(9), lost_per_million: 0 };
    let mut tried = Tried::default();
    for digits in numbers(&mut random).take(2_000) {
        let dial = Dial { pulses_per_second: 16.0, make: 0.2, ..Dial::default() };
        tried.dial(&digits, &dial, &sampling, &mut random);
    }
    assert!(!tried.wrong.is_empty() && tried.rejected() > 0);
}
