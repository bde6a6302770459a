//! The table of built-in experiments. Each has a file in `experiments/` and a line here.

use crate::error::SpecError;
use crate::spec::Spec;

/// Name and TOML text of each experiment, in the order in which they are listed.
pub const EXPERIMENTS: &[(&str, &str)] = &[
    ("case-1", include_str!("../../../../experiments/case-1.toml")),
    ("case-2", include_str!("../../../../experiments/case-2.toml")),
    ("case-3", include_str!("../../../../experiments/case-3.toml")),
    ("case-3-io", include_str!("../../../../experiments/case-3-io.toml")),
    ("case-4", include_str!("../../../../experiments/case-4.toml")),
    ("case-5", include_str!("../../../../experiments/case-5.toml")),
    ("deadline", include_str!("../../../../experiments/deadline.toml")),
    ("rr-quantum", include_str!("../../../../experiments/rr-quantum.toml")),
    ("nice", include_str!("../../../../experiments/nice.toml")),
];

/// An experiment with every setting, explained in comments.
pub const EXAMPLE: &str = include_str!("example.toml");

/// Returns the experiment with this name. `1` is short for `case-1`.
///
/// # Errors
/// No error occurs in a released version, because a test parses all experiments.
pub fn builtin(name: &str) -> Option<Result<Spec, SpecError>> {
    let is_number = name.len() == 1 && name.bytes().all(|b| b.is_ascii_digit());
    let name = if is_number { format!("case-{name}") } else { name.to_owned() };
    let (name, text) = EXPERIMENTS.iter().find(|(known, _)| *known == name)?;
    Some(Spec::parse(&format!("experiments/{name}.toml"), text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn every_file_is_listed_and_reads_as_what_it_is_called() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../experiments");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .map(|name| name.strip_suffix(".toml").unwrap().to_owned())
            .collect();
        files.sort();
        let mut listed: Vec<&str> = EXPERIMENTS.iter().map(|(name, _)| *name).collect();
        listed.sort_unstable();
        assert_eq!(files, listed);
        for (name, _) in EXPERIMENTS {
            let spec = builtin(name).unwrap().unwrap();
            assert_eq!(&spec.name, name);
            assert!(!spec.about.contains('\n'), "{name}: --list shows it in one line");
        }
    }

    #[test]
    fn the_example_is_an_experiment_and_the_documented_one() {
        let spec = Spec::parse("example.toml", EXAMPLE).unwrap();
        assert_eq!((spec.threads.len(), spec.repetitions), (3, 3));
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/sched.md");
        assert!(std::fs::read_to_string(docs).unwrap().contains(EXAMPLE));
    }

    #[test]
    fn a_number_is_a_case() {
        assert_eq!(builtin("3").unwrap().unwrap().name, "case-3");
        assert!(builtin("9").is_none() && builtin("case").is_none());
    }
}
