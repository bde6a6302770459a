//! Packages and releases: `cargo xtask deb`, `deb-check` and `release`.

mod archive;
mod check;
mod dev;
mod release;
mod sbom;

use crate::cross::{self, Target, succeed};
use crate::{root, target_dir};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use check::run as check;
pub use dev::run as dev;
pub use release::run as release;

/// Packages of the programs that are installed, the main program first.
const PROGRAMS: [&str; 4] = ["punctual", "punctual-rf-switch", "punctual-rotary-dial", "punctual-metronome"];
/// Shell, and the file name that the script must have for it.
const COMPLETIONS: [(&str, &str); 3] = [("bash", "punctual"), ("zsh", "_punctual"), ("fish", "punctual.fish")];
/// Directory in which the manifest (cli/Cargo.toml) expects all files.
const STAGE: &str = "target/deb/stage";

/// Builds a package for each of the targets, in dist/.
pub fn deb(wanted: &str) -> Result<(), String> {
    for target in cross::wanted(wanted) {
        println!("{}", package(target)?.display());
    }
    Ok(())
}

/// Returns an error if the release binary is too large.
pub fn size(file: Option<PathBuf>) -> Result<(), String> {
    let file = file.unwrap_or_else(|| target_dir().join("dist/punctual"));
    println!("{} bytes  {}", cross::check_size(cross::native()?, &file)?, file.display());
    Ok(())
}

/// Builds, stages and packs. Returns the path of the package.
fn package(target: &Target) -> Result<PathBuf, String> {
    let built = cross::build(target, &PROGRAMS)?;
    let root = root();
    stage(target, &built, &root.join(STAGE))?;
    let dist = root.join("dist");
    make(&dist)?;
    let file = dist.join(format!("punctual_{}_{}.deb", env!("CARGO_PKG_VERSION"), target.debian));
    let mut deb = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
    // The package has the sources' time stamps, so that the same sources always give the same bytes.
    deb.env("SOURCE_DATE_EPOCH", archive::epoch()?.to_string());
    // Quiet, because cargo-deb warns about every file that cargo did not build.
    deb.args([
        "deb",
        "--quiet",
        "--no-build",
        "--no-strip",
        "--package",
        "punctual",
        "--target",
        target.triple,
        "--output",
    ]);
    deb.arg(&file).current_dir(root);
    succeed(&mut deb, "cargo deb (cargo install cargo-deb --locked)")?;
    Ok(file)
}

/// Copies everything a package contains into one directory, as cli/Cargo.toml expects it.
fn stage(target: &Target, built: &Path, stage: &Path) -> Result<(), String> {
    remove(stage)?;
    let (bin, units) = (stage.join("bin"), stage.join("units"));
    [&bin, &units, &stage.join("completions")].into_iter().try_for_each(|folder| make(folder))?;
    for program in PROGRAMS.map(cross::program) {
        copy(&built.join(program), &bin.join(program))?;
    }
    written(target, &bin.join("punctual"), stage)?;
    for folder in ["apps/rf-switch/systemd", "apps/rotary-dial/systemd", "apps/metronome/systemd"] {
        for file in files(&root().join(folder))? {
            let text = read(&file)?;
            write(&units.join(file.file_name().unwrap_or_default()), &installed(&text))?;
        }
    }
    let ours = ["punctual-serve.service", "punctual-watch.service"];
    ours.iter().try_for_each(|unit| copy(&root().join("packaging").join(unit), &units.join(unit)))
}

/// Writes the files that the program generates.
fn written(target: &Target, program: &Path, stage: &Path) -> Result<(), String> {
    succeed(cross::runner(target, program).arg("man").arg(stage.join("man")), "punctual man")?;
    for (shell, name) in COMPLETIONS {
        let script = cross::runner(target, program).args(["completions", shell]).output();
        let script = script.map_err(|e| format!("punctual completions: {e}"))?;
        if !script.status.success() {
            return Err(format!("punctual completions {shell} ended with {}", script.status));
        }
        let path = stage.join("completions").join(format!("{shell}-{name}"));
        fs::write(&path, script.stdout).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(())
}

/// Returns a systemd unit as the package contains it: with programs in /usr/bin, and without advice on manual
/// installation.
fn installed(unit: &str) -> String {
    let lines =
        unit.lines().filter(|line| !line.starts_with("# Install:") && !line.starts_with("#          systemctl"));
    lines.map(|line| line.replace("/usr/local/bin/", "/usr/bin/") + "\n").collect()
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let read = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut files: Vec<PathBuf> = read.flatten().map(|entry| entry.path()).collect();
    files.sort();
    Ok(files)
}

fn make(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))
}

fn remove(folder: &Path) -> Result<(), String> {
    match fs::remove_dir_all(folder) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(format!("{}: {e}", folder.display())),
        _ => Ok(()),
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    fs::copy(from, to).map(drop).map_err(|e| format!("{} to {}: {e}", from.display(), to.display()))
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_unit_of_a_package_names_a_program_that_it_does_not_install() {
        for folder in ["rf-switch", "rotary-dial", "metronome"] {
            for file in files(&root().join("apps").join(folder).join("systemd")).unwrap() {
                let unit = installed(&read(&file).unwrap());
                assert!(!unit.contains("/usr/local"), "{}: {unit}", file.display());
                assert!(unit.contains("[Unit]"), "{}", file.display());
            }
        }
    }

    /// metronome and `prove` measure within their systemd units, so these units have no system call filter.
    #[test]
    #[ignore = "live: systemd-analyze"]
    fn services_are_exposed_by_3_0_at_most() {
        let units =
            ["packaging", "apps/rf-switch/systemd", "apps/rotary-dial/systemd"].map(|folder| root().join(folder));
        let units = units.iter().flat_map(|folder| files(folder).unwrap());
        let services: Vec<_> = units.filter(|unit| unit.extension().is_some_and(|kind| kind == "service")).collect();
        assert_eq!(services.len(), 5, "{services:?}");
        for unit in services {
            let rated = Command::new("systemd-analyze")
                .args(["security", "--no-pager", "--offline=true", "--threshold=30"])
                .arg(&unit)
                .output()
                .unwrap();
            assert!(rated.status.success(), "{}: {}", unit.display(), String::from_utf8_lossy(&rated.stdout));
        }
    }

    #[test]
    fn the_manifest_packs_every_staged_program() {
        let manifest = read(&root().join("cli/Cargo.toml")).unwrap();
        for program in PROGRAMS.map(cross::program) {
            assert!(manifest.contains(&format!("{STAGE}/bin/{program}\"")), "{program}");
        }
        for (shell, name) in COMPLETIONS {
            assert!(manifest.contains(&format!("{STAGE}/completions/{shell}-{name}\"")), "{shell}");
        }
    }
}
