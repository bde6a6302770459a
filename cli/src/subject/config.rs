//! Implements `--config FILE…`: an audit of single files of a machine.

use crate::refusal::Refusal;
use punctual_machine::{Given, Kind, READ_LIMIT};
use punctual_model::Finding;
use std::io::Read;

/// Returns a machine that consists of the given files; `None` if there are none.
pub fn given(words: &[String]) -> Result<Option<Given>, Refusal> {
    let mut given = Given::new();
    for word in words {
        let (kind, file) = split(word);
        let bytes = read(file)?;
        given.add(file, &bytes, kind).map_err(Refusal::usage)?;
    }
    Ok((!words.is_empty()).then_some(given))
}

/// Splits off the type before the colon, if there is one.
pub fn split(word: &str) -> (Option<Kind>, &str) {
    let said = Kind::ALL.iter().find_map(|(kind, name)| {
        let file = word.strip_prefix(name)?.strip_prefix(':')?;
        Some((Some(*kind), file))
    });
    said.unwrap_or((None, word))
}

/// Reads a file, but at most one byte more than the size limit. Accepts pipes: `--config <(ssh pi cat /proc/cmdline)`.
fn read(file: &str) -> Result<Vec<u8>, Refusal> {
    let failed = |error: std::io::Error| {
        Refusal::usage(format!(
            "cannot read {file}: {error}; --config takes a kernel's .config, a saved /proc/cmdline or a config.txt"
        ))
    };
    let opened = std::fs::File::open(file).map_err(failed)?;
    if opened.metadata().map_err(failed)?.is_dir() {
        return Err(Refusal::usage(format!(
            "{file} is a directory: name a file in it, or audit the whole tree with --root {file}"
        )));
    }
    let mut bytes = Vec::new();
    opened.take(READ_LIMIT as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// Lists the files with their types.
pub fn names(given: &Given) -> String {
    let named = given.kinds().map(|(kind, name)| format!("{name} ({})", kind.describe()));
    named.collect::<Vec<_>>().join(", ")
}

/// Replaces the usual paths in findings by the names of the given files.
pub fn name_sources(findings: &mut [Finding], given: &Given) {
    for finding in findings {
        finding.summary = given.named(&finding.summary);
        for evidence in &mut finding.evidence {
            evidence.source = given.named(&evidence.source);
            evidence.value = given.named(&evidence.value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_may_stand_before_the_file() {
        assert_eq!(split("cmdline:/tmp/x"), (Some(Kind::Cmdline), "/tmp/x"));
        assert_eq!(split("config.txt:a:b"), (Some(Kind::ConfigTxt), "a:b"));
        assert_eq!(split("/boot/config-6.12"), (None, "/boot/config-6.12"));
    }
}
