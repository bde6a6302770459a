//! Plans for the recorded machines, as golden files.

use punctual_kernel::{PlanError, Request, Situation, Tracer, plan};
use punctual_machine::{Live, Recorded};
use punctual_testing::golden;
use std::path::PathBuf;

fn machines() -> Vec<(String, Recorded)> {
    let named =
        |path: PathBuf| (path.file_name().unwrap().to_str().unwrap().to_owned(), Recorded::open(&path).unwrap());
    punctual_testing::machines().into_iter().map(named).collect()
}

fn said(situation: Result<Situation, PlanError>, request: &Request) -> String {
    match situation.and_then(|situation| plan(&situation, request)) {
        Ok(plan) => plan.to_string(),
        Err(error) => format!("no plan: {error}\n"),
    }
}

fn compare(name: &str, found: &str) {
    golden(format!("tests/golden/{name}"), found);
}

#[test]
fn every_recorded_machine_has_its_plan() {
    let text: String = machines()
        .into_iter()
        .map(|(name, machine)| format!("===== {name}\n{}\n", said(Situation::of(&machine, None), &Request::default())))
        .collect();
    compare("machines.txt", &text);
}

/// Returns the machines of `tests/roots.txt` as directory trees.
fn roots() -> Vec<(String, tempfile::TempDir)> {
    let text = include_str!("../roots.txt");
    let write = |section: &str| {
        let (name, files) = section.split_once('\n').unwrap();
        let folder = tempfile::tempdir().unwrap();
        for line in files.lines().filter(|line| !line.is_empty()) {
            let (path, content) = line.split_once(' ').unwrap_or((line, ""));
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content.replace("\\n", "\n")).unwrap();
        }
        (name.to_owned(), folder)
    };
    text.split("===== ")
        .skip(1)
        .filter(|section| section.contains('\n'))
        .filter(|s| !s.starts_with("NAME`"))
        .map(write)
        .collect()
}

#[test]
fn every_distribution_and_loader_has_its_plan() {
    let mut text = String::new();
    for (name, folder) in roots() {
        let said = said(Situation::of(&Live::under(folder.path()), None), &Request::default());
        text += &format!("===== {name}\n{said}\n");
    }
    compare("distributions.txt", &text);
}

#[test]
fn wishes_lead_to_the_source_that_has_them() {
    let request = |series: &str, hz: Option<u32>, tracers: &[Tracer]| Request {
        series: (!series.is_empty()).then(|| series.parse().unwrap()),
        hz,
        tracers: tracers.to_vec(),
        ..Request::default()
    };
    let cases = [
        ("debian-rt-6.12-server", request("", Some(1000), &[])),
        ("debian-rt-6.12-server", request("", Some(250), &[Tracer::Timerlat])),
        ("debian-rt-6.12-server", request("6.6", None, &[])),
        ("laptop-smt-6.8", request("", None, &[Tracer::Irqsoff])),
        ("raspberry-pi-4-stock-6.6", request("", Some(1000), &[Tracer::Timerlat, Tracer::Osnoise])),
        ("raspberry-pi-4-stock-6.6", request("6.6", None, &[])),
        ("raspberry-pi-4-stock-6.6", request("6.18", None, &[])),
        ("raspberry-pi-4-stock-6.6", request("6.7", None, &[])),
        ("raspberry-pi-4-stock-6.6", request("5.10", None, &[Tracer::Timerlat])),
        ("raspberry-pi-4-stock-6.6", request("", Some(123), &[])),
        ("raspberry-pi-5-rt-6.12", request("6.18", None, &[])),
    ];
    let all = machines();
    let text: String = cases
        .iter()
        .map(|(name, request)| {
            let machine = &all.iter().find(|(n, _)| n == name).unwrap().1;
            let tracers: Vec<&str> = request.tracers.iter().map(|t| t.name()).collect();
            let asked =
                format!("series {:?}, hz {:?}, tracers {tracers:?}", request.series.map(|s| s.to_string()), request.hz);
            format!("===== {name}, {asked}\n{}\n", said(Situation::of(machine, None), request))
        })
        .collect();
    compare("requests.txt", &text);
}

#[test]
fn a_board_alone_is_planned_for() {
    let old = Request { series: Some("4.19".parse().unwrap()), ..Request::default() };
    let mut text = String::new();
    for board in punctual_kernel::boards() {
        let title = format!("===== {}\n", board.key);
        text += &format!("{title}{}\n", said(Situation::of_board(&board.key), &Request::default()));
    }
    text += &format!("===== raspberry-pi-4-32, 4.19\n{}\n", said(Situation::of_board("raspberry-pi-4-32"), &old));
    text += &format!("===== raspberry-pi-5, 4.19\n{}\n", said(Situation::of_board("raspberry-pi-5"), &old));
    text += &format!("===== riscv64-board, 4.19\n{}\n", said(Situation::of_board("riscv64-board"), &old));
    compare("boards.txt", &text);
}

#[test]
fn another_board_than_this_machine_takes_nothing_from_it() {
    let all = machines();
    let machine = |name: &str| &all.iter().find(|(n, _)| n == name).unwrap().1;
    let foreign = Situation::of(machine("debian-rt-6.12-server"), Some("raspberry-pi-5")).unwrap();
    assert_eq!((foreign.release, foreign.is_rt, foreign.system), (None, None, None));
    let own = Situation::of(machine("raspberry-pi-4-rt-5.4"), Some("raspberry-pi-4-64")).unwrap();
    assert_eq!(own.release.as_deref(), Some("5.4.140-rt64"));
}

#[test]
fn a_plan_keeps_its_keys_as_json() {
    let all = machines();
    let machine = &all.iter().find(|(n, _)| n == "raspberry-pi-4-stock-6.6").unwrap().1;
    let plan = plan(&Situation::of(machine, None).unwrap(), &Request::default()).unwrap();
    compare("pi4.json", &(serde_json::to_string_pretty(&plan).unwrap() + "\n"));
}

#[test]
fn a_newer_patch_of_an_index_replaces_the_tables() {
    let request = |newest: &str| Request {
        series: Some("6.6".parse().unwrap()),
        newest_rt: Some(newest.parse().unwrap()),
        ..Request::default()
    };
    let situation = Situation::of_board("arm64-board").unwrap();
    assert!(plan(&situation, &request("6.6.200-rt99")).unwrap().to_string().contains("patch-6.6.200-rt99.patch"));
    assert!(!plan(&situation, &request("6.1.200-rt99")).unwrap().to_string().contains("6.1.200"));
}
