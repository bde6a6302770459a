//! Finds the first error of make: with parallel jobs, the last lines are about other files.

use std::fmt;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    pub status: String,
    pub target: Option<String>,
    /// The first file and line for which a compiler reports an error, with the error message.
    pub place: Option<Place>,
    pub tail: String,
    pub log: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub file: String,
    pub line: u32,
    pub said: String,
}

impl Broken {
    pub(super) fn of(log: &str, status: String, path: &Path) -> Broken {
        let place = log.lines().find_map(place);
        let target = log.lines().find_map(target);
        let lines: Vec<&str> = log.lines().filter(|line| !line.trim().is_empty()).collect();
        let tail = lines[lines.len().saturating_sub(6)..].join("\n");
        Broken { status, target, place, tail, log: path.to_owned() }
    }
}

/// Parses `dir/file.c:12:3: error: …`, `fatal error: …`, and the assembler's `file.S:4: Error: …`.
fn place(line: &str) -> Option<Place> {
    let at = ["error: ", "Error: "]
        .iter()
        .find_map(|tag| line.find(&format!(": {tag}")).or_else(|| line.find(&format!(": fatal {tag}"))))?;
    let (start, said) = (&line[..at], line[at + 2..].to_owned());
    let mut words = start.split(':');
    let file = words.next().filter(|file| !file.is_empty() && !file.contains(' '))?;
    let number = words.next()?.parse().ok()?;
    Some(Place { file: file.to_owned(), line: number, said })
}

/// Parses `make[3]: *** [scripts/Makefile.build:244: kernel/foo.o] Error 1`.
fn target(line: &str) -> Option<String> {
    let rest = line.strip_prefix("make")?.split_once(": *** ")?.1;
    match rest.strip_prefix('[') {
        Some(named) => named.split(']').next()?.rsplit(": ").next().map(str::to_owned),
        // As in "No rule to make target …".
        None => Some(rest.trim_end_matches(".  Stop.").to_owned()),
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "make ended with {}", self.status)?;
        match (&self.place, &self.target) {
            (Some(place), _) => write!(f, ": {} line {}: {}", place.file, place.line, place.said)?,
            (None, Some(target)) => write!(f, " at {target}")?,
            (None, None) => write!(f, ":\n{}\n", self.tail)?,
        }
        if let (Some(_), Some(target)) = (&self.place, &self.target) {
            write!(f, " (make failed to build {target})")?;
        }
        write!(f, "; full output: {}; once it is fixed, run the same command again to continue", self.log.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LOG: &str = "  CC      kernel/a.o\nIn file included from x.h:1:\n../kernel/b.c:12:3: warning: unused\n\
                       ../kernel/b.c:40:9: error: expected ';' before 'return'\nmake[3]: *** [scripts/Makefile.build:244: kernel/b.o] Error 1\n\
                       make[3]: *** Waiting for unfinished jobs....\n../mm/c.c:1:1: error: later\nmake[2]: *** [Makefile:1: kernel] Error 2\n";

    #[test]
    fn the_first_file_and_line_are_named() {
        let broken = Broken::of(LOG, "exit status: 2".into(), Path::new("build.log"));
        let place = broken.place.as_ref().unwrap();
        assert_eq!((place.file.as_str(), place.line), ("../kernel/b.c", 40));
        let said = broken.to_string();
        assert!(
            said.contains("../kernel/b.c line 40: error: expected ';'")
                && said.contains("make failed to build kernel/b.o"),
            "{said}"
        );
    }

    #[test]
    fn other_failures_are_named_too() {
        let of = |log: &str| Broken::of(log, "exit status: 2".into(), Path::new("l")).to_string();
        let key = "make[2]: *** No rule to make target 'debian/certs/x.pem', needed by 'certs/x'.  Stop.\n";
        assert!(of(key).contains("No rule to make target 'debian/certs/x.pem'"), "{}", of(key));
        assert!(of("a.c:3:10: fatal error: gelf.h: No such file\n").contains("a.c line 3: fatal error: gelf.h"));
        assert!(of("arch/x.S:7: Error: unknown mnemonic\n").contains("arch/x.S line 7: Error: unknown"));
        assert!(of("Killed\n").contains("Killed"));
    }

    proptest! {
        #[test]
        fn any_log_is_answered(log in "(.|\n|error: |: |make: \\*\\*\\* \\[){0,80}") {
            let _ = Broken::of(&log, String::new(), Path::new("l")).to_string();
        }
    }
}
