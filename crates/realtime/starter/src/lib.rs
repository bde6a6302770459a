//! Generates a real-time program to start from: a 1 kHz loop with a bounded queue to a logger, statistics, start-up
//! checks, a systemd unit, CI jobs and a README.
//!
//! The project uses the library of the package punctual-rt-dev, or the one in [`Project::library`].

#![forbid(unsafe_code)]

use punctual_directory::{Dir, Staging, Whose};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Installation path of the Rust library's sources in punctual-rt-dev.
pub const SOURCES: &str = "/usr/share/punctual-rt/rust/rt";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    Rust,
    C,
    Cpp,
}

/// A project to write.
#[derive(Clone, Debug)]
pub struct Project {
    pub name: String,
    pub language: Language,
    /// Folder of the Rust crate `punctual-rt`; `None` for [`SOURCES`]. Ignored for C and C++.
    pub library: Option<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The name is not valid. It is also the name of a program, a thread, a systemd unit and a crate.
    #[error(
        "{0:?} is not a valid program name: use a letter, then letters, digits and -, at most 32 characters, all lower case"
    )]
    Name(String),
    #[error("{0:?} is the name of one of cargo's folders: choose another name")]
    Cargo(String),
    /// The name already belongs to a crate of the library, or to this tool.
    #[error("{0:?} is reserved for punctual itself: choose a name that does not begin with punctual")]
    Own(String),
    #[error("the path of the library cannot be written to Cargo.toml, because it is not UTF-8 or contains control characters: {:?}", .0.display())]
    Library(PathBuf),
    #[error("{} already exists: name another folder, or remove it", .0.display())]
    Exists(PathBuf),
    #[error("{path}: {source}", path = .path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Directory(#[from] punctual_directory::Error),
}

impl Project {
    /// Returns the name and text of each file.
    ///
    /// # Errors
    /// [`Error::Name`], [`Error::Cargo`], [`Error::Own`], [`Error::Library`].
    pub fn files(&self) -> Result<Vec<(String, String)>, Error> {
        let name = checked(&self.name, self.language)?;
        let library = match &self.library {
            None => SOURCES,
            Some(path) => {
                let plain = path.to_str().filter(|text| !text.contains(char::is_control));
                plain.ok_or_else(|| Error::Library(path.clone()))?
            }
        };
        let (program, build) = match self.language {
            Language::Rust => (format!("target/release/{name}"), "cargo build --release"),
            Language::C | Language::Cpp => (format!("./{name}"), "sh build.sh"),
        };
        let about = match self.language {
            Language::Rust => format!("The library is a dependency by path in `Cargo.toml`: {library}."),
            Language::C | Language::Cpp => {
                "The library comes from the package punctual-rt-dev, or from wherever `pkg-config --libs punctual-rt` points."
                    .to_owned()
            }
        };
        // The kernel keeps 15 bytes of a thread's name: prctl(2), PR_SET_NAME.
        let thread = &name[..name.len().min(15)];
        let fill = |text: &str| {
            let text = text.replace("PROGRAM", &program).replace("BUILD", build).replace("THREAD", thread);
            // NAME is last, because it can be any text.
            text.replace("NAME", name).replace("LIBRARY", &about)
        };
        let mut files = match self.language {
            Language::Rust => vec![
                ("src/main.rs", fill(include_str!("../templates/main.rs"))),
                ("Cargo.toml", manifest(name, library)),
                (".gitignore", "/target\n/punctual-runs\n".to_owned()),
            ],
            Language::C => vec![
                ("main.c", fill(include_str!("../templates/main.c"))),
                ("build.sh", script(name, "main.c", "${CC:-cc} -std=c11 ${CFLAGS:-}")),
                (".gitignore", format!("/{name}\n/punctual-runs\n")),
            ],
            Language::Cpp => vec![
                ("main.cpp", fill(include_str!("../templates/main.cpp"))),
                ("build.sh", script(name, "main.cpp", "${CXX:-c++} -std=c++17 ${CXXFLAGS:-}")),
                (".gitignore", format!("/{name}\n/punctual-runs\n")),
            ],
        };
        let unit = format!("{name}.service");
        files.push((&unit, fill(include_str!("../templates/service"))));
        files.push((".github/workflows/real-time.yml", fill(include_str!("../templates/workflow.yml"))));
        files.push(("README.md", fill(include_str!("../templates/README.md"))));
        Ok(files.into_iter().map(|(name, text)| (name.to_owned(), text)).collect())
    }

    /// Writes the project into a new folder. If that fails, nothing is left. Returns the names of the files.
    ///
    /// # Errors
    /// The folder exists, the name is invalid, or a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<Vec<String>, Error> {
        const INNER: &str = "project";
        let files = self.files()?;
        if folder.symlink_metadata().is_ok() {
            return Err(Error::Exists(folder.to_owned()));
        }
        let staging = Staging::create(folder, Whose::Results)?;
        let project = staging.dir().make_dir(INNER)?;
        for (name, text) in &files {
            let (dir, file) = place(&project, Path::new(name))?;
            let io = |source| Error::Io { path: folder.join(name), source };
            dir.as_ref().unwrap_or(&project).create_new(file)?.write_all(text.as_bytes()).map_err(io)?;
        }
        drop(project);
        staging.publish(INNER)?;
        Ok(files.into_iter().map(|(name, _)| name).collect())
    }
}

/// Opens the directory of a file, and creates it if it is missing. Returns `None` for the project's own directory, and
/// the file's name.
fn place<'n>(project: &Dir, name: &'n Path) -> Result<(Option<Dir>, &'n Path), Error> {
    let mut dir: Option<Dir> = None;
    let mut parts = name.iter().peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return Ok((dir, Path::new(part)));
        }
        let above = dir.as_ref().unwrap_or(project);
        let below = if above.kind(part)?.is_some() { above.dir(part)? } else { above.make_dir(part)? };
        dir = Some(below);
    }
    Ok((dir, name))
}

/// Names of folders in cargo's target folder; a program must not have one of these names.
const OF_CARGO: [&str; 4] = ["build", "deps", "examples", "incremental"];

fn checked(name: &str, language: Language) -> Result<&str, Error> {
    let mut letters = name.bytes();
    let first = letters.next().is_some_and(|b| b.is_ascii_lowercase());
    let rest = letters.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if !(first && rest && name.len() <= 32 && !name.ends_with('-')) {
        return Err(Error::Name(name.chars().take(64).collect()));
    }
    if name == "punctual" || name.starts_with("punctual-") {
        return Err(Error::Own(name.to_owned()));
    }
    if language == Language::Rust && OF_CARGO.contains(&name) {
        return Err(Error::Cargo(name.to_owned()));
    }
    Ok(name)
}

/// Returns the Cargo.toml. The project is its own workspace, because its folder may be created within another one.
fn manifest(name: &str, library: &str) -> String {
    let library = library.replace('\\', "\\\\").replace('"', "\\\"");
    format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\npunctual-rt = {{ path = \"{library}\" }}\n\n\
         [profile.release]\npanic = \"abort\"\ndebug = \"line-tables-only\"\n\n[workspace]\n"
    )
}

fn script(name: &str, source: &str, compiler: &str) -> String {
    let text = include_str!("../templates/build.sh").replace("COMPILER", compiler).replace("SOURCE", source);
    text.replace("NAME", name)
}
