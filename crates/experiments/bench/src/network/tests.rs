use super::*;
use punctual_model::BenchParts;

fn settings(folder: &Path, beside: Beside) -> NetworkSettings {
    let (to, folder) = (None, Some(folder.to_owned()));
    NetworkSettings { to, secret_file: None, folder, bytes: 10_000, duration_ns: Nanos::from_millis(50), beside }
}

fn repeat(settings: &NetworkSettings) -> Measured {
    let stop = AtomicBool::new(false);
    let earlier = BenchParts::default();
    let mut turn = Turn { number: 1, earlier, stop: &stop, log: &mut |_| Ok(()), share: &mut |_| {} };
    match Network::new(settings).unwrap().repetition(&mut turn).unwrap() {
        Ended::Done(measured) => measured,
        Ended::Stopped => panic!("stopped"),
    }
}

#[test]
fn images_over_loopback_are_counted_and_leave_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let measured = repeat(&settings(folder.path(), Beside::Nothing));
    let names: Vec<&str> = measured.figures.iter().map(|f| f.name.as_str()).collect();
    assert!(names.starts_with(&["images", "rate"]) && names.contains(&"NET_RX softirqs"), "{names:?}");
    assert!(measured.distributions[0].histogram.count() > 0);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
#[ignore = "live: timing"]
fn queens_beside_are_counted_right() {
    let folder = tempfile::tempdir().unwrap();
    let measured = repeat(&settings(folder.path(), Beside::Nqueens { n: 6, threads: 1 }));
    assert!(measured.figures.iter().any(|f| f.name == "time per N-queens count"));
    assert!(measured.checks.len() == 1 && !measured.checks[0].is_wrong() && measured.checks[0].got == 4);
}

#[test]
#[ignore = "live: timing"]
fn a_measurement_beside_has_its_latencies() {
    let folder = tempfile::tempdir().unwrap();
    let measured = repeat(&settings(folder.path(), Beside::Measure));
    let latencies = measured.distributions.iter().find(|d| d.name == "wakeup latency").unwrap();
    assert!(latencies.histogram.count() >= 40);
}

#[test]
fn a_server_that_is_not_there_is_named_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let to = NetworkSettings { to: Some(nobody.clone()), folder: None, ..settings(folder.path(), Beside::Nothing) };
    let error = plan(to, 1).unwrap_err().to_string();
    assert!(error.contains(&nobody) && error.contains("punctual serve --store"), "{error}");
    let missing = settings(&folder.path().join("none"), Beside::Nothing);
    assert!(plan(missing, 1).unwrap_err().to_string().contains("--store DIR"));
}

#[test]
fn an_image_has_the_size_that_was_asked_for() {
    for bytes in [64, 1000, 500_000] {
        let image = image(bytes);
        assert!(image.len() as u64 == bytes && image.starts_with(b"P5\n16 "));
    }
}
