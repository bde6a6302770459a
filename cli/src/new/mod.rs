//! Implements `new`, which writes a real-time program to start from.

pub mod args;

use crate::args::common::OutputArgs;
use crate::finish::{Answer, finish};
use crate::refusal::Refusal;
use args::{Lang, NewArgs};
use punctual_model::Argv;
use punctual_starter::{Error, Language, Project, SOURCES};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub fn new(args: &NewArgs) -> ExitCode {
    finish("new", OutputArgs::default(), written(args))
}

fn written(args: &NewArgs) -> Result<Answer, Refusal> {
    let language = match args.lang {
        Lang::Rust => Language::Rust,
        Lang::C => Language::C,
        Lang::Cpp => Language::Cpp,
    };
    if args.library.is_some() && language != Language::Rust {
        return Err(Refusal::usage("--library is for --lang rust; build.sh of C and C++ uses pkg-config: omit it"));
    }
    let library = args.library.as_deref().map(crate_of).transpose()?;
    let project = Project { name: args.name.clone(), language, library: library.clone() };
    let folder = args.dir.clone().unwrap_or_else(|| PathBuf::from(&args.name));
    let files = project.write(&folder).map_err(|error| match error {
        Error::Name(_) | Error::Cargo(_) | Error::Own(_) | Error::Library(_) | Error::Exists(_) => {
            Refusal::usage(error.to_string())
        }
        Error::Io { .. } | Error::Directory(_) => Refusal::environment(error.to_string()),
    })?;
    let build = if language == Language::Rust { "cargo build --release" } else { "sh build.sh" };
    let program =
        if language == Language::Rust { format!("target/release/{}", args.name) } else { format!("./{}", args.name) };
    let text = format!(
        "{}: {}\n\nNext  1. {} && {build}\n      2. sudo {program} 5      five seconds, and its statistics\n      3. README.md\n",
        folder.display(),
        files.join(", "),
        Argv::new(["cd".to_owned(), folder.display().to_string()]).line(),
    );
    let missing = missing(language, library.as_deref());
    Ok(Answer::text(0, text).with_notes(missing))
}

/// Returns the absolute path of the crate's folder, which the project's manifest contains.
fn crate_of(folder: &Path) -> Result<PathBuf, Refusal> {
    let manifest = folder.join("Cargo.toml");
    let is_it = std::fs::read_to_string(&manifest).is_ok_and(|text| text.contains("name = \"punctual-rt\""));
    match folder.canonicalize() {
        Ok(folder) if is_it => Ok(folder),
        _ => Err(Refusal::usage(format!(
            "{} is not the crate punctual-rt: name its folder, crates/realtime/rt of the sources",
            folder.display()
        ))),
    }
}

fn missing(language: Language, library: Option<&Path>) -> Option<String> {
    let headers = ["/usr/include", "/usr/local/include"];
    let found = match language {
        Language::Rust => library.is_some() || Path::new(SOURCES).join("Cargo.toml").exists(),
        Language::C | Language::Cpp => headers.iter().any(|folder| Path::new(folder).join("punctual_rt.h").exists()),
    };
    (!found).then(|| {
        "the library is not installed where the project looks for it: install punctual-rt-dev, or name its directory with --library".to_owned()
    })
}
