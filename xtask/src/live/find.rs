//! Finds live tests: the marks in the sources, and the test programs that contain them.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const MARK: &str = "#[ignore = \"live: ";

/// A live test, as marked in a source file.
pub struct Marked {
    pub folder: PathBuf,
    pub name: String,
    /// Requirements in the mark.
    pub needs: Vec<String>,
}

pub struct Live {
    pub package: String,
    pub folder: PathBuf,
    pub program: PathBuf,
    /// Name of the test in libtest.
    pub path: String,
    pub needs: Vec<String>,
}

pub fn marked(root: &Path) -> Result<Vec<Marked>, String> {
    let mut marks = Vec::new();
    for pattern in ["cli", "crates/*/*", "apps/*", "apps/support/*", "qa/*", "xtask"] {
        for folder in matching(root, pattern)? {
            let folder = folder.canonicalize().map_err(|e| format!("{}: {e}", folder.display()))?;
            for part in ["src", "tests"].map(|part| folder.join(part)).into_iter().filter(|part| part.is_dir()) {
                within(&part, &mut |file| {
                    let text = fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
                    marks.extend(of(&text).into_iter().map(|(name, needs)| Marked {
                        folder: folder.clone(),
                        name,
                        needs,
                    }));
                    Ok(())
                })?;
            }
        }
    }
    Ok(marks)
}

/// Returns the directories that match a pattern, in which `*` stands for any one entry.
fn matching(root: &Path, pattern: &str) -> Result<Vec<PathBuf>, String> {
    pattern.split('/').try_fold(vec![root.to_owned()], |folders, part| match part {
        "*" => Ok(folders.iter().map(|folder| entries(folder)).collect::<Result<Vec<_>, _>>()?.concat()),
        part => Ok(folders.iter().map(|folder| folder.join(part)).collect()),
    })
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let read = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut paths: Vec<PathBuf> = read.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

fn within(folder: &Path, each: &mut dyn FnMut(&Path) -> Result<(), String>) -> Result<(), String> {
    for path in entries(folder)? {
        if path.is_dir() {
            within(&path, each)?;
        } else if path.extension().is_some_and(|e| e == "rs") {
            each(&path)?;
        }
    }
    Ok(())
}

/// Returns the name and the requirements of each marked test in a source file.
fn of(text: &str) -> Vec<(String, Vec<String>)> {
    let mut lines = text.lines();
    let mut marks = Vec::new();
    while let Some(line) = lines.next() {
        let Some(needs) = line.trim().strip_prefix(MARK).and_then(|rest| rest.strip_suffix("\"]")) else { continue };
        let name =
            lines.find_map(|line| line.trim().strip_prefix("fn ")?.split_once('(').map(|(name, _)| name.to_owned()));
        marks.extend(name.map(|name| (name, needs.split(", ").map(String::from).collect())));
    }
    marks
}

/// Returns the compiler's first errors. With `--message-format json` they are only in cargo's messages.
fn errors(messages: &str) -> String {
    let rendered = |line: &str| {
        let message = serde_json::from_str::<Value>(line).ok()?;
        let text = message["message"]["rendered"].as_str()?;
        (message["message"]["level"] == "error").then(|| text.to_owned())
    };
    messages.lines().filter_map(rendered).take(5).collect()
}

/// Builds all test programs and gets the list of ignored tests from each. With `compares`, those that compare with other
/// implementations are built, too.
pub fn tests(marked: &[Marked], compares: bool) -> Result<Vec<Live>, String> {
    let mut words = vec!["test", "--workspace", "--no-run", "--quiet", "--message-format", "json"];
    if compares {
        words.extend(["--features", super::FEATURES]);
    }
    // `cargo` is found by name: if run directly, rustup's cargo would let the rust-toolchain file of a dependency
    // choose another compiler.
    let built = Command::new("cargo").args(words).stderr(std::process::Stdio::inherit()).output();
    let built = built.map_err(|e| format!("cargo: {e}"))?;
    if !built.status.success() {
        return Err(format!("the tests do not build:\n{}", errors(&String::from_utf8_lossy(&built.stdout))));
    }
    let mut found = Vec::new();
    for line in String::from_utf8_lossy(&built.stdout).lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
        let (Some(program), Some(manifest)) = (message["executable"].as_str(), message["manifest_path"].as_str())
        else {
            continue;
        };
        if message["profile"]["test"] != true {
            continue;
        }
        let folder = Path::new(manifest).parent().unwrap_or(Path::new("."));
        let listed = Command::new(program).args(["--list", "--ignored", "--format", "terse"]).output();
        let listed = listed.map_err(|e| format!("{program}: {e}"))?;
        for path in String::from_utf8_lossy(&listed.stdout).lines().filter_map(|line| line.strip_suffix(": test")) {
            let name = path.rsplit("::").next().unwrap_or(path);
            let Some(mark) = marked.iter().find(|mark| mark.name == name && mark.folder == folder) else { continue };
            found.push(Live {
                package: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                folder: folder.into(),
                program: program.into(),
                path: path.into(),
                needs: mark.needs.clone(),
            });
        }
    }
    let is_found =
        |mark: &&Marked| found.iter().any(|test| test.folder == mark.folder && test.path.ends_with(&mark.name));
    match marked.iter().find(|mark| compares && !is_found(mark)) {
        Some(mark) => Err(format!("{} of {} is in no test program", mark.name, mark.folder.display())),
        None => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_compiler_are_shown() {
        let messages = r#"{"reason":"compiler-message","message":{"level":"warning","rendered":"w"}}
{"reason":"compiler-message","message":{"level":"error","rendered":"error: no\n"}}
no JSON"#;
        assert_eq!(errors(messages), "error: no\n");
    }

    #[test]
    fn a_mark_has_its_name_and_needs() {
        let text = "#[test]\n#[ignore = \"live: root, make\"]\nfn x() {}\n#[ignore = \"a minute\"]\nfn y() {}\n";
        assert_eq!(of(text), [("x".into(), vec!["root".into(), "make".into()])]);
    }

    #[test]
    fn every_need_of_the_workspace_is_known() {
        for mark in marked(crate::root()).unwrap() {
            for need in &mark.needs {
                assert!(super::super::needs::is_known(need), "{}: {need}", mark.name);
            }
        }
    }
}
