//! Which crate may use which. An unlisted crate or edge fails this test; change the table together with ARCHITECTURE.md, and only
//! downwards. Also: which crates may hold `unsafe`, and no example in a comment that no test runs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Every crate, also of apps/, and the crates of ours it may depend on.
const ALLOWED: &[(&str, &[&str])] = &[
    ("units", &[]),
    ("uapi", &["units"]),
    ("rt", &["units", "uapi", "gpio"]),
    ("capi", &["uapi", "rt"]),
    ("gpio", &["units", "uapi"]),
    ("wires", &["units", "rt", "gpio"]),
    ("model", &["units"]),
    ("rotary-dial", &["units", "uapi", "rt", "wires", "record"]),
    ("metronome", &["units", "uapi", "rt", "gpio", "wires", "record", "model", "loads"]),
    ("stats", &[]),
    ("rundir", &["units", "model"]),
    ("judge", &["units", "model", "stats"]),
    ("record", &["units", "rt", "model", "rundir", "machine"]),
    ("compare", &["units", "model", "stats", "judge"]),
    ("machine", &["units", "model"]),
    ("audit", &["units", "model", "machine"]),
    ("boot", &["model", "machine"]),
    ("loads", &["units", "uapi", "model"]),
    ("measure", &["units", "uapi", "rt", "model"]),
    ("live", &["units", "uapi", "model", "measure"]),
    ("trace", &["units"]),
    ("journal", &[]),
    ("fix", &["units", "uapi", "model", "machine", "audit", "boot", "journal"]),
    ("tracefs", &["journal", "trace"]),
    ("explain", &["units", "model", "trace"]),
    ("import", &["units", "model"]),
    ("formats", &["units", "model", "trace", "report"]),
    ("references", &[]),
    ("report", &["units", "model", "stats", "references"]),
    ("history", &["units", "model", "stats"]),
    (
        "proof",
        &[
            "units", "uapi", "rt", "model", "rundir", "judge", "machine", "audit", "loads", "measure", "explain",
            "report", "journal", "trace", "tracefs", "stats",
        ],
    ),
    (
        "cli",
        &[
            "units",
            "uapi",
            "rt",
            "model",
            "rundir",
            "judge",
            "machine",
            "audit",
            "loads",
            "explain",
            "references",
            "report",
            "proof",
            "vm",
            "lab",
            "live",
            "trace",
            "formats",
            "history",
            "cyclictest",
            "selftest",
            "watch",
            "fleet",
            "import",
            "fix",
            "tune",
            "tuning",
            "compare",
            "events",
            "sched",
            "bench",
            "kernel",
            "kbuild",
            "deploy",
        ],
    ),
    ("fleet", &["units", "model", "stats"]),
    ("watch", &["units", "uapi", "rt", "model", "rundir", "measure", "proof", "formats", "report"]),
    ("bench", &["units", "uapi", "model", "machine", "measure", "loads", "rundir", "queens"]),
    ("events", &["units", "uapi", "rt", "gpio", "model", "rundir", "loads", "measure"]),
    ("workloads", &[]),
    ("sched", &["units", "uapi", "rt", "model", "rundir", "measure", "trace", "tracefs", "journal", "workloads"]),
    ("vm", &[]),
    ("kernel", &["machine"]),
    ("kbuild", &["kernel", "vm"]),
    ("deploy", &["model", "machine", "boot", "fix", "kernel"]),
    ("lab", &["units", "model", "rundir", "judge", "compare", "vm"]),
    ("cyclictest", &["units", "uapi", "rt", "machine", "journal"]),
    ("selftest", &["units", "uapi", "rt", "model", "machine", "audit", "measure"]),
    ("tune", &["units", "model", "stats"]),
    ("tuning", &["units", "uapi", "model", "rundir", "machine", "audit", "report", "fix", "tune", "proof"]),
    ("queens", &[]),
    ("plant", &["units", "uapi", "rt"]),
    ("rf-switch", &["units", "uapi", "rt", "gpio", "wires", "model", "loads", "journal", "tracefs"]),
    (
        "fuzz",
        &[
            "units",
            "model",
            "machine",
            "audit",
            "boot",
            "import",
            "trace",
            "explain",
            "rundir",
            "kernel",
            "judge",
            "report",
            "loads",
            "sched",
            "deploy",
            "rf-switch",
        ],
    ),
    (
        "xtask",
        &["units", "uapi", "model", "stats", "trace", "explain", "plant", "vm", "rundir", "kernel", "kbuild", "fuzz"],
    ),
];

/// The only crates whose source may hold `unsafe`: system calls, the pointers of a C caller, and SIMD kernels.
const UNSAFE: &[&str] = &["uapi", "capi", "queens"];

/// Folder by name, of crates/ and apps/.
fn folders() -> BTreeMap<String, PathBuf> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let apps = crates.join("../apps");
    let entries = [crates, apps].into_iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    entries.map(|entry| (entry.file_name().into_string().unwrap(), entry.path())).collect()
}

fn manifests() -> BTreeMap<String, toml::Table> {
    let read = |path: PathBuf| fs::read_to_string(path.join("Cargo.toml")).unwrap().parse().unwrap();
    folders().into_iter().map(|(name, path)| (name, read(path))).collect()
}

#[test]
fn every_crate_is_listed_and_every_listed_crate_exists() {
    let found: Vec<String> = manifests().into_keys().collect();
    let mut listed: Vec<&str> = ALLOWED.iter().map(|(name, _)| *name).collect();
    listed.sort_unstable();
    assert_eq!(found, listed);
}

#[test]
fn dependencies_point_down_only() {
    for (name, manifest) in manifests() {
        let allowed = ALLOWED.iter().find(|(n, _)| *n == name).map(|(_, a)| *a).unwrap_or_default();
        let empty = toml::Table::new();
        let dependencies = manifest.get("dependencies").and_then(|d| d.as_table()).unwrap_or(&empty);
        for dependency in dependencies.keys().filter_map(|d| d.strip_prefix("punctual-")) {
            assert!(allowed.contains(&dependency), "{name} may not depend on {dependency}: see ARCHITECTURE.md");
        }
    }
}

#[test]
fn unsafe_stays_where_it_is_allowed() {
    for (_, folder) in folders().into_iter().filter(|(name, _)| !UNSAFE.contains(&name.as_str())) {
        let root =
            [folder.join("src/lib.rs"), folder.join("src/main.rs")].into_iter().find(|path| path.exists()).unwrap();
        let text = fs::read_to_string(&root).unwrap();
        assert!(text.contains("#![forbid(unsafe_code)]"), "{} must forbid unsafe code", root.display());
    }
}

/// Most crates have no example in their comments, and looking for one takes rustdoc half a second each: `doctest = false`.
#[test]
fn every_example_in_a_comment_is_run() {
    for (name, folder) in folders() {
        let manifest: toml::Table = fs::read_to_string(folder.join("Cargo.toml")).unwrap().parse().unwrap();
        let has_library = folder.join("src/lib.rs").exists();
        let is_run =
            manifest.get("lib").and_then(|lib| lib.get("doctest")).and_then(toml::Value::as_bool) != Some(false);
        let has_examples = has_library && sources(&folder.join("src")).iter().any(|path| has_example(path));
        assert_eq!(
            has_library && is_run,
            has_examples,
            "{name}: examples in comments, and `doctest` of [lib] in Cargo.toml"
        );
    }
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = entries.partition(|path| path.is_dir());
    let files = files.into_iter().filter(|path| path.extension().is_some_and(|e| e == "rs"));
    files.chain(folders.iter().flat_map(|folder| sources(folder))).collect()
}

/// Does it have a fenced block that rustdoc takes for Rust, or a page for a comment?
fn has_example(path: &Path) -> bool {
    let text = fs::read_to_string(path).unwrap();
    if text.contains("doc = include_str!") {
        return true;
    }
    let lines = text.lines().map(str::trim_start);
    let comments = lines.filter_map(|line| line.strip_prefix("///").or_else(|| line.strip_prefix("//!")));
    let mut fences = comments.filter_map(|line| line.trim_start().strip_prefix("```"));
    let mut found = false;
    while let Some(opening) = fences.next() {
        found |= matches!(opening, "" | "rust" | "no_run" | "should_panic" | "compile_fail");
        fences.next();
    }
    found
}
