//! Compares the requested options with the result of kconfig, which silently drops options with unmet dependencies,
//! with exit code 0 (Documentation/kbuild/kconfig-language.rst).

mod expr;
mod kconfig;
pub mod make;

pub use kconfig::Kconfig;

use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Value(String);

impl Value {
    /// Returns the value as in `.config`: `y`, `m`, `n`, a number, or a quoted string.
    pub fn text(&self) -> &str {
        &self.0
    }

    pub fn string(text: &str) -> Value {
        Value(format!("\"{text}\""))
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0 == "n" { "off" } else { &self.0 })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FragmentError {
    #[error("line {line}: `{text}` is not an option: write CONFIG_NAME=value or # CONFIG_NAME is not set")]
    Line {
        /// Line number, starting at 1.
        line: usize,
        text: String,
    },
    #[error("CONFIG_{symbol} is set to both {first} and {second}: remove one")]
    Twice { symbol: String, first: Value, second: Value },
}

/// Options by name, without `CONFIG_`.
pub type Options = BTreeMap<String, Value>;

/// Parses a line; `None` for a blank line or a comment. An unset option has the form of a comment (`# CONFIG_X is not
/// set`).
fn option(line: &str) -> Option<Option<(String, Value)>> {
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let line = line.trim();
    if let Some(name) = line.strip_prefix("# CONFIG_").and_then(|rest| rest.strip_suffix(" is not set")) {
        return is_name(name).then(|| Some((name.to_owned(), Value("n".to_owned()))));
    }
    if line.is_empty() || line.starts_with('#') {
        return Some(None);
    }
    let (name, value) = line.strip_prefix("CONFIG_")?.split_once('=')?;
    let is_string = value.len() >= 2 && value.starts_with('"') && value.ends_with('"');
    let is_word = !value.is_empty() && value.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    (is_name(name) && (is_string || is_word)).then(|| Some((name.to_owned(), Value(value.to_owned()))))
}

/// Parses the options of a fragment.
///
/// # Errors
/// A line is not an option, or an option has two values.
pub fn requested(fragment: &str) -> Result<Options, FragmentError> {
    let mut options = Options::new();
    for (number, line) in fragment.lines().enumerate() {
        let wrong = || FragmentError::Line { line: number + 1, text: line.chars().take(60).collect() };
        let Some((symbol, second)) = option(line).ok_or_else(wrong)? else { continue };
        if let Some(first) = options.insert(symbol.clone(), second.clone()).filter(|first| *first != second) {
            return Err(FragmentError::Twice { symbol, first, second });
        }
    }
    Ok(options)
}

/// Formats the options, one per line.
pub fn fragment(options: &Options) -> String {
    let line = |(symbol, value): (&String, &Value)| match value.text() {
        "n" => format!("# CONFIG_{symbol} is not set\n"),
        value => format!("CONFIG_{symbol}={value}\n"),
    };
    options.iter().map(line).collect()
}

/// Parses a configuration; lines without options are skipped.
pub fn of_config(text: &str) -> Options {
    text.lines().filter_map(|line| option(line).flatten()).collect()
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Dropped {
    /// Name without `CONFIG_`.
    pub symbol: String,
    pub wanted: Value,
    /// The actual value; `n` if the configuration does not mention the option.
    pub got: Value,
    /// The reason, as far as the tree's Kconfig files show it.
    pub why: String,
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CONFIG_{}: requested {}, is {}: {}", self.symbol, self.wanted, self.got, self.why)
    }
}

/// Returns the requested options that the result lacks; empty if none is missing.
pub fn dropped(requested: &Options, result: &Options, kconfig: &Kconfig) -> Vec<Dropped> {
    let mut all = Vec::new();
    for (symbol, wanted) in requested {
        let got = result.get(symbol).cloned().unwrap_or(Value("n".to_owned()));
        // `CONFIG_X=""` is written for an empty string, and omitted if its dependencies are off.
        let is_empty = wanted.text() == "\"\"" && !result.contains_key(symbol);
        if got != *wanted && !is_empty {
            let why = kconfig.why(symbol, wanted.text(), result);
            all.push(Dropped { symbol: symbol.clone(), wanted: wanted.clone(), got, why });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_fragment_is_read() {
        let text = "# a remark\n\nCONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=\"a b\"\nCONFIG_D=0x10\nCONFIG_E=-1\nCONFIG_A=y\n";
        let options = requested(text).unwrap();
        let text = |name: &str| options[name].text().to_owned();
        assert_eq!(
            (text("A"), text("B"), text("C"), text("D"), text("E")),
            ("y".into(), "n".into(), "\"a b\"".into(), "0x10".into(), "-1".into())
        );
    }

    #[test]
    fn what_sets_nothing_or_twice_is_refused() {
        for bad in [
            "PREEMPT_RT=y",
            "CONFIG_A",
            "CONFIG_A=",
            "CONFIG_A B=y",
            "CONFIG_A=y y",
            "CONFIG_A=\"",
            "CONFIG_=y",
            "# CONFIG_A B is not set",
        ] {
            assert!(matches!(requested(&format!("\n{bad}\n")), Err(FragmentError::Line { line: 2, .. })), "{bad}");
        }
        let twice = requested("CONFIG_A=y\n# CONFIG_A is not set\n").unwrap_err().to_string();
        assert_eq!(twice, "CONFIG_A is set to both y and off: remove one");
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in ".*", kconfig in ".*") {
            let _ = (requested(&text), of_config(&text));
            let _ = Kconfig::of_text(&kconfig).why("A", "y", &Options::new());
        }
    }
}
