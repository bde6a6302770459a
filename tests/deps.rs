//! Lists which crate may use which. An unlisted crate or edge fails this test; change the table together with
//! ARCHITECTURE.md, and add only edges that point downwards. Also checks which crates may contain `unsafe`, and that no
//! comment has an example that no test runs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Every crate, including those in apps/, and the workspace crates on which it may depend.
const ALLOWED: &[(&str, &[&str])] = &[
    ("units", &[]),
    ("uapi", &["units"]),
    ("watchdog", &["units", "uapi"]),
    ("directory", &["uapi", "watchdog"]),
    ("rt", &["units", "uapi", "gpio"]),
    ("capi", &["uapi", "rt"]),
    ("starter", &["directory"]),
    ("gpio", &["units", "uapi"]),
    ("wires", &["rt", "gpio"]),
    ("model", &["units"]),
    ("clean", &[]),
    ("archive", &["clean", "directory"]),
    ("rotary-dial", &["units", "uapi", "rt", "wires", "record"]),
    ("metronome", &["units", "uapi", "rt", "gpio", "wires", "record", "model", "loads"]),
    ("stats", &[]),
    ("rundir", &["units", "directory", "model"]),
    ("judge", &["units", "model", "stats", "cycles"]),
    ("record", &["rt", "model", "rundir", "machine"]),
    ("compare", &["units", "model", "stats", "judge"]),
    ("machine", &["units", "model"]),
    ("audit", &["units", "model", "machine"]),
    ("boot", &["model", "machine"]),
    ("loads", &["units", "uapi", "watchdog", "model"]),
    ("measure", &["units", "uapi", "rt", "model"]),
    ("live", &["units", "uapi", "model", "measure"]),
    ("trace", &[]),
    ("bound", &["units", "model", "trace"]),
    ("cycles", &["units"]),
    ("perf", &["units", "uapi"]),
    ("stacks", &[]),
    ("check", &["units", "uapi", "watchdog", "model", "machine", "journal", "tracefs", "perf", "stacks", "cycles"]),
    ("journal", &["units", "watchdog"]),
    ("fix", &["units", "uapi", "watchdog", "model", "machine", "audit", "boot", "journal"]),
    ("tracefs", &["directory", "journal", "trace"]),
    ("explain", &["units", "model", "trace", "cycles"]),
    ("analyse", &["units", "directory", "model", "rundir", "trace", "explain"]),
    ("import", &["units", "model"]),
    ("formats", &["clean", "units", "model", "trace", "report"]),
    ("references", &[]),
    ("remote", &["archive", "clean", "directory", "model"]),
    ("report", &["clean", "units", "model", "stats", "fix", "references"]),
    ("history", &["directory", "units", "model", "stats"]),
    (
        "proof",
        &[
            "units",
            "uapi",
            "watchdog",
            "directory",
            "rt",
            "model",
            "rundir",
            "judge",
            "machine",
            "audit",
            "loads",
            "measure",
            "explain",
            "analyse",
            "report",
            "journal",
            "fix",
            "trace",
            "tracefs",
            "stacks",
            "stats",
            "check",
            "cycles",
            "bound",
        ],
    ),
    (
        "cli",
        &[
            "archive",
            "bound",
            "check",
            "clean",
            "units",
            "uapi",
            "watchdog",
            "directory",
            "rt",
            "model",
            "rundir",
            "judge",
            "machine",
            "audit",
            "boot",
            "loads",
            "explain",
            "analyse",
            "references",
            "remote",
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
            "starter",
            "watch",
            "import",
            "fix",
            "journal",
            "tune",
            "compare",
            "events",
            "sched",
            "bench",
            "kernel",
            "kbuild",
            "deploy",
        ],
    ),
    (
        "watch",
        &[
            "analyse",
            "units",
            "uapi",
            "watchdog",
            "directory",
            "rt",
            "model",
            "rundir",
            "measure",
            "proof",
            "formats",
            "report",
        ],
    ),
    ("bench", &["units", "uapi", "watchdog", "directory", "model", "machine", "measure", "loads", "rundir", "queens"]),
    ("events", &["units", "uapi", "watchdog", "directory", "rt", "gpio", "model", "rundir", "loads", "measure"]),
    ("workloads", &[]),
    (
        "sched",
        &[
            "units",
            "uapi",
            "watchdog",
            "directory",
            "rt",
            "model",
            "rundir",
            "measure",
            "trace",
            "tracefs",
            "journal",
            "workloads",
            "cycles",
        ],
    ),
    ("vm", &["directory", "watchdog"]),
    ("kernel", &["directory", "watchdog", "model", "machine", "boot"]),
    ("kbuild", &["directory", "watchdog", "kernel", "vm"]),
    ("deploy", &["watchdog", "model", "machine", "boot", "directory", "fix", "kernel"]),
    ("lab", &["units", "directory", "watchdog", "model", "rundir", "judge", "compare", "report", "vm"]),
    ("cyclictest", &["units", "uapi", "watchdog", "directory", "rt", "machine", "journal"]),
    ("selftest", &["units", "uapi", "watchdog", "rt", "model", "machine", "audit", "measure"]),
    (
        "tune",
        &[
            "units",
            "uapi",
            "watchdog",
            "directory",
            "model",
            "stats",
            "rundir",
            "machine",
            "audit",
            "report",
            "fix",
            "proof",
        ],
    ),
    ("queens", &[]),
    ("inject", &["units", "uapi", "rt"]),
    ("testing", &["units", "model", "machine", "audit", "boot", "fix", "kernel", "kbuild", "remote"]),
    ("rf-switch", &["units", "uapi", "directory", "rt", "gpio", "wires", "model", "loads", "journal", "tracefs"]),
    (
        "fuzz",
        &[
            "archive",
            "directory",
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
            "references",
            "report",
            "loads",
            "sched",
            "stacks",
            "deploy",
            "rf-switch",
        ],
    ),
    (
        "trials",
        &[
            "units", "uapi", "watchdog", "model", "stats", "judge", "compare", "history", "trace", "explain", "tune",
            "inject", "vm", "kernel", "kbuild", "fuzz", "testing", "xtask",
        ],
    ),
    ("xtask", &["model", "rundir", "audit", "fix", "report", "selftest", "kernel", "kbuild", "deploy", "lab"]),
];

/// The only crates whose source may contain `unsafe`: system calls, the pointers of a C caller, and SIMD kernels.
const UNSAFE: &[&str] = &["uapi", "capi", "queens"];

/// Returns the folder of each package of the workspace, by the folder's name.
fn folders() -> BTreeMap<String, PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let manifest: toml::Table = fs::read_to_string(root.join("Cargo.toml")).unwrap().parse().unwrap();
    let members = manifest["workspace"]["members"].as_array().unwrap().iter().map(|member| member.as_str().unwrap());
    members.flat_map(|member| matching(&root, member)).map(|path| (name_of(&path), path)).collect()
}

/// Returns the folders that a member's pattern matches, where `*` stands for any one folder.
fn matching(root: &Path, pattern: &str) -> Vec<PathBuf> {
    pattern.split('/').fold(vec![root.to_owned()], |folders, part| match part {
        "*" => {
            folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap()).map(|entry| entry.unwrap().path()).collect()
        }
        part => folders.iter().map(|folder| folder.join(part)).collect(),
    })
}

fn name_of(folder: &Path) -> String {
    folder.file_name().unwrap().to_str().unwrap().to_owned()
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
fn the_edges_are_those_of_the_table() {
    for (name, manifest) in manifests() {
        let mut allowed = ALLOWED.iter().find(|(n, _)| *n == name).map(|(_, a)| a.to_vec()).unwrap_or_default();
        let empty = toml::Table::new();
        let dependencies = manifest.get("dependencies").and_then(|d| d.as_table()).unwrap_or(&empty);
        let found: Vec<&str> = dependencies
            .keys()
            .filter_map(|d| d.strip_prefix("punctual-").or((d == "xtask").then_some("xtask")))
            .collect();
        allowed.sort_unstable();
        assert_eq!(found, allowed, "{name}: [dependencies] of its Cargo.toml differs from the table in tests/deps.rs");
    }
}

#[test]
fn every_dependency_is_used() {
    for (name, folder) in folders() {
        let manifest: toml::Table = fs::read_to_string(folder.join("Cargo.toml")).unwrap().parse().unwrap();
        let Some(dependencies) = manifest.get("dependencies").and_then(|d| d.as_table()) else { continue };
        let mut files = sources(&folder.join("src"));
        files.extend(manifest["package"].get("build").and_then(|b| b.as_str()).map(|path| folder.join(path)));
        let text: String = files.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
        let is_optional =
            |one: &toml::Value| one.get("optional").is_some_and(|optional| optional.as_bool() == Some(true));
        for (dependency, _) in dependencies.iter().filter(|(_, one)| !is_optional(one)) {
            assert!(text.contains(&dependency.replace('-', "_")), "{name} does not use {dependency}");
        }
    }
}

/// Groups of folders, each of which uses only crates of its own and of the groups before it.
const GROUPS: &[&str] = &[
    "crates/base",
    "crates/realtime",
    "crates/system",
    "crates/analysis",
    "crates/output",
    "crates/measurement",
    "crates/experiments",
    "crates/linux",
    "apps",
    "cli",
    "xtask",
    "qa",
];

#[test]
fn no_group_uses_one_above_it() {
    let folders = folders();
    let group = |name: &str| {
        let path = folders[name].to_str().unwrap();
        GROUPS.iter().position(|group| path.contains(&format!("/../{group}"))).unwrap()
    };
    for (name, used) in ALLOWED {
        let above: Vec<&&str> = used.iter().filter(|one| group(one) > group(name)).collect();
        assert!(above.is_empty(), "{name} in {} may not use {above:?}", GROUPS[group(name)]);
    }
}

/// The functions of punctual-testing panic, so nothing but the trials uses it outside of tests.
#[test]
fn testing_is_only_a_dev_dependency() {
    assert!(!ALLOWED.iter().any(|(name, used)| *name != "trials" && used.contains(&"testing")));
}

/// Clippy reads only the nearest clippy.toml, so the program's file must repeat what the workspace's file denies.
#[test]
fn the_program_denies_what_the_workspace_denies() {
    let denied = |file: &str| -> Vec<String> {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file)).unwrap();
        let paths = text.lines().filter_map(|line| line.split("path = \"").nth(1)?.split('"').next());
        paths.map(str::to_owned).collect()
    };
    let own = denied("cli/clippy.toml");
    assert!(denied("clippy.toml").iter().all(|path| own.contains(path)), "{own:?}");
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

/// Most crates have no example in their comments, and looking for one takes rustdoc half a second per crate:
/// `doctest = false`.
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
            "{name}: `doctest` of [lib] in Cargo.toml does not agree with whether comments have examples"
        );
    }
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = entries.partition(|path| path.is_dir());
    let files = files.into_iter().filter(|path| path.extension().is_some_and(|e| e == "rs"));
    files.chain(folders.iter().flat_map(|folder| sources(folder))).collect()
}

/// Returns true if the file has a fenced block that rustdoc treats as Rust, or includes a page as its documentation.
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
