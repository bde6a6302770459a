//! Decodes the output with rtl_433, which is independent of this program. If rtl_433 is not installed, these tests fail
//! with a message: apt-get install rtl-433.

use crate::common;

use common::{Place, output};
use punctual_rf_switch::code::{Addresses, Code};
use punctual_rf_switch::lateness::{Decoded, Lateness, table};
use punctual_rf_switch::rtl433::decode;
use punctual_rf_switch::waveform::Timing;

#[test]
#[ignore = "live: rtl_433"]
fn all_512_codes_are_decoded() {
    let place = Place::new();
    let ook = place.path("all.ook");
    let codes: Vec<Code> = Addresses::All.codes().collect();
    let words: Vec<String> = codes.iter().map(Code::to_string).collect();
    let mut line =
        vec!["--dry-run", "--virtual-time", "--all-addresses", "--repeats", "1", "--ook", ook.to_str().unwrap()];
    line.extend(words.iter().map(String::as_str));
    let (code, _, said) = output(&line);
    assert_eq!(code, Some(0), "{said}");
    let read = decode(&ook).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(read.len(), 512);
    assert_eq!(read, codes);
}

#[test]
fn d21_is_the_pulse_text_it_has_always_been() {
    let place = Place::new();
    let ook = place.path("d21.ook");
    let (code, _, said) = output(&["--dry-run", "--virtual-time", "--ook", ook.to_str().unwrap(), "d21"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(std::fs::read_to_string(&ook).unwrap(), include_str!("../fixtures/d21.ook"));
}

#[test]
#[ignore = "live: rtl_433"]
fn d21_is_four_times_d21_to_the_receiver() {
    let ook = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/d21.ook");
    let read: Vec<String> =
        decode(&ook).unwrap_or_else(|error| panic!("{error}")).iter().map(Code::to_string).collect();
    assert_eq!(read, ["d21"; 4]);
    let (code, text, said) = output(&["--decode", ook.to_str().unwrap()]);
    assert_eq!((code, text.as_str()), (Some(0), "d21      4 frames\n1 codes in 4 frames\n"), "{said}");
}

#[test]
#[ignore = "live: rtl_433"]
fn absolute_deadlines_bear_lateness_that_relative_sleeps_do_not() {
    let rows = [Lateness::UniformUs(150), Lateness::UniformUs(200), Lateness::ConstantUs(200)];
    let rows = table(&rows, &Timing::default()).unwrap_or_else(|error| panic!("{error}"));
    let all = Decoded { frames: 240, commands: 60, wrong: 0 };
    assert_eq!((rows[0].absolute, rows[0].relative), (all, all));
    let (absolute, relative) = (rows[1].absolute, rows[1].relative);
    assert!(absolute.commands == 60 && absolute.frames > 200 && relative.frames < 150, "{absolute:?} {relative:?}");
    assert_eq!((rows[2].absolute, rows[2].relative.frames), (all, 0));
}
