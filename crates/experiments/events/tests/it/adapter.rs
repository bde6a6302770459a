//! Tests the adapter protocol with scripts that follow or violate it, and with a real adapter in C.

use punctual_events::{Adapter, Backend, COKERNELS, NotRun, Plan, Settings, find};
use punctual_model::{EventCounts, SuiteEnd};
use punctual_units::{Nanos, Priority};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const GREETING: &str = "read x; echo hello 1 fake; echo fact kernel 1.2 three; echo end; ";

fn script(body: &str, patience: Duration) -> Result<Adapter, NotRun> {
    let mut command = Command::new("sh");
    command.arg("-c").arg(body);
    Adapter::start(command, patience)
}

fn fake(answer: &str) -> Adapter {
    script(&format!("{GREETING}while read x; do {answer}; echo end; done"), Duration::from_secs(30)).unwrap()
}

fn plan(stop: &AtomicBool) -> Plan<'_> {
    let interval = Nanos::from_millis(1);
    let priority = Priority::try_from(80).unwrap();
    Plan { test: "periodic-1ms", interval, events: 10, deadline: interval, priority, cpu: None, stop }
}

fn failure(answer: &str) -> String {
    let stop = AtomicBool::new(false);
    fake(answer).periodic(&plan(&stop)).unwrap_err().to_string()
}

#[test]
fn arrivals_are_counted_here() {
    let stop = AtomicBool::new(false);
    let mut adapter = fake(
        "echo a 0 1 5; echo a 1 3 2500000; echo a 1 1 9; echo sent 6; echo overflowed 1; echo faults 0; echo note hi",
    );
    assert_eq!((adapter.name(), adapter.facts()["kernel"].as_str()), ("fake", "1.2 three"));
    for _ in 0..2 {
        let observed = adapter.periodic(&plan(&stop)).unwrap();
        assert_eq!((observed.page_faults, observed.mode_switches), (Some(0), None));
        assert_eq!(observed.notes, ["hi"]);
        let (counts, _) = observed.ledger.close(observed.sent);
        // The events are 2.5 ms, 1.5 ms and 0.5 ms late.
        let expected = EventCounts {
            sent: 6,
            received: 2,
            coalesced: 2,
            overflowed: 1,
            lost: 1,
            doubled: 1,
            late: 2,
            ..EventCounts::default()
        };
        assert_eq!(counts, expected);
    }
}

#[test]
fn a_request_names_everything() {
    let stop = AtomicBool::new(false);
    let observed = fake("echo note \"$x\"; echo sent 0").periodic(&plan(&stop)).unwrap();
    assert_eq!(observed.notes, ["run periodic-1ms interval_ns=1000000 events=10 deadline_ns=1000000 priority=80"]);
}

#[test]
fn what_is_wrong_is_reported() {
    assert_eq!(failure("echo unsupported no such thing"), "not available here: no such thing");
    assert_eq!(failure("echo failed it broke"), "it broke");
    assert!(failure("echo a 1 2").contains("'a 1 2', which is not a line of the protocol"));
    assert!(failure("exit 3").contains("it has ended"));
    assert!(failure("true").contains("how many events it sent"));
    assert!(failure("echo hello 1 again").contains("it answers the request with Hello"));
    let silent = script("read x; read y", Duration::from_millis(200)).err().unwrap();
    assert!(silent.to_string().contains("does not answer"), "{silent}");
    let newer = script("echo hello 2 x; echo end; read x", Duration::from_secs(30)).err().unwrap();
    assert!(newer.to_string().contains("its first line is Hello(2"), "{newer}");
}

#[test]
fn an_unwanted_mode_switch_is_a_failure() {
    let stop = AtomicBool::new(false);
    let settings = Settings {
        tests: vec![find("periodic-1ms").unwrap()],
        duration: Nanos::from_millis(3),
        deadline: None,
        priority: Priority::try_from(80).unwrap(),
        cpu: None,
    };
    for (switches, broken) in [(0, vec![]), (2, vec!["2 unwanted mode switches".to_owned()])] {
        let mut adapter = fake(&format!("echo a 0 3 5; echo sent 3; echo switches {switches}"));
        let results = punctual_events::run(&mut adapter, &settings, &stop, &mut |_| ());
        let SuiteEnd::Ran(ran) = &results[0].ended else { panic!("{results:?}") };
        assert_eq!(ran.broken, broken);
    }
}

/// Compiles and runs the header that all adapters include. The workspace needs a C compiler anyway (for SQLite).
#[test]
fn an_adapter_in_c_keeps_the_protocol() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("plain");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/adapters/plain.c");
    let compiled = Command::new("cc")
        .args(["-O2", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&program)
        .arg(source)
        .status()
        .unwrap();
    assert!(compiled.success());
    let mut adapter = Adapter::start(Command::new(&program), Duration::from_secs(60)).unwrap();
    assert_eq!(adapter.name(), "plain");
    let stop = AtomicBool::new(false);
    let observed = adapter.periodic(&plan(&stop)).unwrap();
    let (counts, lateness) = observed.ledger.close(observed.sent);
    assert_eq!((counts.sent, counts.received + counts.coalesced, lateness.count()), (10, 10, 10));
    assert!(matches!(adapter.alarms(&Plan { test: "alarms", ..plan(&stop) }), Err(NotRun::Unsupported(_))));
}

#[test]
fn a_cokernel_that_is_not_there_says_what_to_do() {
    for cokernel in COKERNELS {
        match cokernel.start() {
            Ok(adapter) => assert_eq!(adapter.name(), cokernel.name),
            Err(why) => assert!(why.to_string().contains(" kernel") || matches!(why, NotRun::Failed(_)), "{why}"),
        }
    }
}
