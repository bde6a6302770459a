use crate::LoadError;
use crate::builtin::{self, NAMES};
use std::fmt;
use std::str::FromStr;

/// A load that was selected by name. The name is valid, but the load has not been started.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LoadSpec(Kind);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Idle,
    Builtin(&'static str),
    All,
    Command(String),
}

impl LoadSpec {
    /// Returns true for `idle`, which starts no process.
    pub fn is_idle(&self) -> bool {
        self.0 == Kind::Idle
    }

    pub(crate) fn kind(&self) -> &Kind {
        &self.0
    }
}

impl fmt::Display for LoadSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Idle => f.pad("idle"),
            Kind::Builtin(name) => f.pad(name),
            Kind::All => f.pad("all"),
            Kind::Command(command) => f.pad(&format!("cmd:{command}")),
        }
    }
}

impl FromStr for LoadSpec {
    type Err = LoadError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text)
    }
}

/// Parses `idle`, `cpu`, … (see [`NAMES`]), `all`, or `cmd:ANY SHELL COMMAND`.
///
/// # Errors
/// [`LoadError::Unknown`] with the known names; [`LoadError::NoCommand`].
pub fn parse(name: &str) -> Result<LoadSpec, LoadError> {
    let name = name.trim();
    if let Some(command) = name.strip_prefix("cmd:") {
        let command = command.trim();
        return match command.is_empty() || command.contains('\0') {
            true => Err(LoadError::NoCommand),
            false => Ok(LoadSpec(Kind::Command(command.into()))),
        };
    }
    match name {
        "idle" => Ok(LoadSpec(Kind::Idle)),
        "all" => Ok(LoadSpec(Kind::All)),
        _ => match builtin::named(name).filter(|l| !l.is_command()) {
            Some(load) => Ok(LoadSpec(Kind::Builtin(load.name))),
            None => Err(LoadError::Unknown { given: name.escape_debug().to_string(), known: known() }),
        },
    }
}

fn known() -> String {
    let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).filter(|name| !name.starts_with("cmd:")).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_name_is_read_and_written_back() {
        for (name, about) in NAMES {
            let spec = parse(name).unwrap();
            assert_eq!(spec.to_string(), name);
            assert!(!about.is_empty());
        }
        assert_eq!(parse(" cmd: make -j4 ").unwrap().to_string(), "cmd:make -j4");
        assert!(parse("idle").unwrap().is_idle());
    }

    #[test]
    fn what_is_not_a_load_is_refused_with_the_names() {
        for bad in ["", "disk", "cpu,io", "CPU", "cmd", "a\x1b[31mb"] {
            let error = parse(bad).unwrap_err();
            let text = error.to_string();
            assert!(error.is_usage() && text.contains("cpu, memory, io") && !text.contains('\x1b'), "{text}");
        }
        assert!(matches!(parse("cmd: "), Err(LoadError::NoCommand)));
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "\\PC*") {
            let _ = parse(&text);
        }
    }
}
