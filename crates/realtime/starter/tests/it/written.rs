use punctual_starter::{Error, Language, Project};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const LANGUAGES: [Language; 3] = [Language::Rust, Language::C, Language::Cpp];

fn project(name: &str, language: Language) -> Project {
    Project { name: name.to_owned(), language, library: None }
}

#[test]
fn every_file_is_written_and_none_has_a_place_to_fill_in() {
    for language in LANGUAGES {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("my-loop");
        let written = project("my-loop", language).write(&folder).unwrap();
        assert!(written.len() >= 6, "{written:?}");
        for name in &written {
            let text = fs::read_to_string(folder.join(name)).unwrap();
            for place in ["NAME", "PROGRAM", "BUILD", "LIBRARY", "SOURCE", "COMPILER", "THREAD"] {
                assert!(!text.contains(place), "{place} in {name}:\n{text}");
            }
        }
        assert!(
            fs::read_to_string(folder.join("my-loop.service")).unwrap().contains("ExecStart=/usr/local/bin/my-loop\n")
        );
        assert!(fs::read_to_string(folder.join("README.md")).unwrap().lines().count() <= 45);
        let beside: Vec<_> = fs::read_dir(scratch.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(beside, ["my-loop"]);
    }
}

/// A claim names a thread as the kernel does, with the first 15 bytes of its name.
#[test]
fn a_long_name_is_a_claim_s_as_the_kernel_cuts_it() {
    let files = project("conveyor-belt-left", Language::C).files().unwrap();
    let text = |name: &str| files.iter().find(|(file, _)| file == name).unwrap().1.clone();
    for file in ["README.md", ".github/workflows/real-time.yml"] {
        assert!(text(file).contains("--claim 'late(conveyor-belt-l) = 0'"), "{}", text(file));
    }
}

#[test]
fn what_is_there_is_not_touched() {
    let scratch = tempfile::tempdir().unwrap();
    let error = project("a", Language::C).write(scratch.path()).unwrap_err();
    assert!(matches!(&error, Error::Exists(_)) && error.to_string().contains("already exists"), "{error}");
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
}

#[test]
fn a_name_that_is_none_is_refused() {
    for name in ["", "-a", "a-", "A", "a b", "a/b", "../a", "ä", "a$(reboot)", &"a".repeat(33)] {
        assert!(matches!(project(name, Language::Rust).files(), Err(Error::Name(_))), "{name}");
    }
    assert!(project("servo-2", Language::Rust).files().is_ok());
}

/// Cargo refuses these names: the names of its own folders, and of the crates of which the library consists.
#[test]
fn a_name_that_cannot_be_built_is_refused() {
    for name in ["build", "deps", "examples", "incremental"] {
        assert!(matches!(project(name, Language::Rust).files(), Err(Error::Cargo(_))), "{name}");
        assert!(project(name, Language::C).files().is_ok(), "{name}");
    }
    for name in ["punctual", "punctual-rt", "punctual-units"] {
        for language in LANGUAGES {
            assert!(matches!(project(name, language).files(), Err(Error::Own(_))), "{name}");
        }
    }
}

#[test]
fn the_path_of_the_library_is_written_as_it_is() {
    let library = "/srv/PROGRAM/BUILD \"NAME\"/THREAD";
    let project = Project { name: "servo".to_owned(), language: Language::Rust, library: Some(library.into()) };
    let files = project.files().unwrap();
    let text = |name: &str| &files.iter().find(|(file, _)| file == name).unwrap().1;
    assert!(text("README.md").contains(&format!("`Cargo.toml`: {library}.\n")), "{}", text("README.md"));
    let path = "path = \"/srv/PROGRAM/BUILD \\\"NAME\\\"/THREAD\"";
    assert!(text("Cargo.toml").contains(path), "{}", text("Cargo.toml"));
    for bytes in [&b"/srv/\xff"[..], b"/srv/a\nb"] {
        let library = Some(Path::new(OsStr::from_bytes(bytes)).to_owned());
        assert!(matches!(Project { library, ..project.clone() }.files(), Err(Error::Library(_))));
    }
}
