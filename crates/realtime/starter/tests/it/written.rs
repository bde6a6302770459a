use punctual_starter::{Error, Language, Project};
use std::fs;

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
