use proptest::prelude::*;
use punctual_queens::Error;
use punctual_queens::csv::{CentiCelsius, HEADER, Repetition, read, write};

const FILES: [(&str, usize, f64); 4] = [
    (include_str!("../fixtures/rt_kernel_4B_multithread_output.csv"), 100, 24.27),
    (include_str!("../fixtures/std_kernel_4B_multithread_output.csv"), 100, 21.79),
    (include_str!("../fixtures/rt_kernel_4B_singlethread_output.csv"), 45, 67.55),
    (include_str!("../fixtures/std_kernel_4B_singlethread_output.csv"), 45, 66.72),
];

#[test]
fn the_published_files_are_read_with_their_published_means_and_written_again_byte_for_byte() {
    for (text, count, mean_s) in FILES {
        let repetitions = read(text).unwrap();
        assert_eq!(repetitions.len(), count);
        assert!(
            repetitions.iter().all(|r| r.queens == 12 && r.solutions == 14_200 && r.cpu.is_some() && r.gpu.is_some())
        );
        let sum_us: u64 = repetitions.iter().map(|r| r.elapsed_us).sum();
        assert_eq!((sum_us as f64 / count as f64 / 1e4).round() / 100.0, mean_s);
        assert_eq!(write(&repetitions), text);
    }
}

#[test]
fn a_published_line_means_what_it_says() {
    let first = read(FILES[0].0).unwrap()[0];
    let (cpu, gpu) = (Some(CentiCelsius(6281)), Some(CentiCelsius(6200)));
    let expected = Repetition {
        time_s: 1_566_547_208,
        queens: 12,
        threads: 4,
        solutions: 14_200,
        elapsed_us: 18_152_861,
        cpu,
        gpu,
    };
    assert_eq!(first, expected);
}

#[test]
fn temperatures_that_were_not_read_stay_unknown() {
    let line = |rest: &str| read(&format!("{HEADER}\n1, 12, 1, 14200, 0, 7{rest}\n")).unwrap()[0];
    assert_eq!((line("").cpu, line("").gpu), (None, None));
    assert_eq!(line(", 62.81, ").cpu, Some(CentiCelsius(6281)));
    assert_eq!(line(", 62.81, ").gpu, None);
    assert_eq!(line(", -0.50, 0.00").cpu, Some(CentiCelsius(-50)));
    assert_eq!(line(", -0.50, 0.00").gpu, Some(CentiCelsius(0)));
    let written = write(&[line("")]);
    assert_eq!(written, format!("{HEADER}\n1, 12, 1, 14200, 0, 7, , \n"));
    let columns = |line: &str| line.split(',').count();
    assert!(written.lines().all(|line| columns(line) == columns(HEADER)));
}

#[test]
fn a_wrong_line_is_named_with_what_is_wrong() {
    for (line, why) in [
        ("1, 12, 1, 14200, 0", "5 columns"),
        ("1, 12, 1, 14200, 0, 1000000", "microseconds"),
        ("1, 12, 1, -4, 0, 1", "solutions"),
        ("1, 12, 1, 14200, 0, 1, 62, 62.00", "cpu_temp"),
        ("1, 12, 1, 14200, 0, 1, 62.00, nan", "gpu_temp"),
        ("+1, 12, 1, 14200, 0, 1", "time"),
        ("1, 12, 1, 14200, 18446744073709551615, 1", "seconds"),
    ] {
        let error = read(&format!("{HEADER}\n1, 12, 1, 14200, 0, 1\n{line}\n")).unwrap_err();
        assert!(matches!(&error, Error::Csv { line: 3, reason } if reason.contains(why)), "{line}: {error}");
    }
    assert!(matches!(read(""), Err(Error::Csv { line: 1, .. })));
    assert!(matches!(read(&format!("{HEADER}\n1, 12, 1, 14200, 0, 1")), Err(Error::Csv { line: 2, .. })), "cut off");
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(
        times in (any::<u64>(), any::<u32>(), any::<u32>(), any::<u64>(), 0..u64::MAX / 2),
        cpu in proptest::option::of(-99_999i32..999_999),
        gpu in proptest::option::of(-99_999i32..999_999),
    ) {
        let (time_s, queens, threads, solutions, elapsed_us) = times;
        let (cpu, gpu) = (cpu.map(CentiCelsius), gpu.map(CentiCelsius));
        let repetition = Repetition { time_s, queens, threads, solutions, elapsed_us, cpu, gpu };
        prop_assert_eq!(read(&write(&[repetition, repetition])).unwrap(), [repetition, repetition]);
    }

    #[test]
    fn no_text_panics(text in "[-0-9., \n]{0,80}") {
        let _ = read(&format!("{HEADER}\n{text}"));
        let _ = read(&text);
    }
}
