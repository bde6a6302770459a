#![allow(dead_code)]

use punctual_import::{Options, read, recording};
use punctual_model::{LostKind, Phase, Recording};
use std::path::PathBuf;

pub fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

pub fn with(name: &str, options: &Options) -> Recording {
    let file = std::fs::File::open(path(name)).unwrap();
    recording(vec![read(name, file, options).unwrap_or_else(|e| panic!("{e}"))])
}

pub fn import(name: &str) -> Recording {
    with(name, &Options::default())
}

pub fn from_text(text: &str) -> Recording {
    let imported = read("paste.txt", text.as_bytes(), &Options::default()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    recording(vec![imported])
}

pub fn total(run: &Recording) -> u64 {
    run.run.phases.iter().flat_map(|p| &p.cpus).map(|c| c.ran).sum()
}

pub fn max_ns(run: &Recording) -> u64 {
    run.run.phases.iter().flat_map(|p| &p.cpus).filter_map(|c| c.max_ns).max().unwrap()
}

pub fn phase(run: &Recording, n: usize) -> &Phase {
    &run.run.phases[n]
}

pub fn losses(run: &Recording, kind: LostKind) -> usize {
    run.run.import.as_ref().unwrap().lost.iter().filter(|l| l.kind == kind).count()
}

pub fn problems(run: &Recording) -> Vec<String> {
    let of_phases = run.run.phases.iter().flat_map(|p| &p.problems);
    run.run.problems.iter().chain(of_phases).map(|p| p.text.clone()).collect()
}

pub fn close(a: Option<f64>, b: f64) -> bool {
    a.is_some_and(|a| (a - b).abs() < 1e-6)
}

/// Number of cycles of the first thread of ct-stress30b.json.
pub const STRESS_0: u64 = 146_324;
/// Mean time of a batch, s, according to the README of the data. The next constants are the times for the other kernel
/// and for one thread.
pub const RT_MULTI: f64 = 24.27;
pub const STD_MULTI: f64 = 21.79;
pub const RT_SINGLE: f64 = 67.55;
pub const STD_SINGLE: f64 = 66.72;
