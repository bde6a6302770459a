//! Quantities measured on an application's threads, for example `response(control)`.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A quantity measured once per cycle of a thread or, for a chain, once per release of its first thread.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AppValue {
    /// Response time: from the release of the thread to the end of its cycle.
    Response(String),
    /// Deviation of the time between two consecutive cycle starts from a whole number of periods.
    Jitter(String),
    /// CPU time of a cycle.
    Cpu(String),
    /// Time from the release of the first thread to the end of the resulting cycle of the last thread, or from one mark
    /// of the application to another.
    Chain(Vec<String>),
}

impl AppValue {
    /// Parses a value such as `response(control)` at the beginning of `text`. Returns the value and the rest of the
    /// text.
    ///
    /// # Errors
    /// The text does not begin with a value, or the thread's name is missing; the message says what was expected.
    pub fn split(text: &str) -> Result<(AppValue, &str), String> {
        let forms = "write response(THREAD), jitter(THREAD), cpu(THREAD) or chain(A > B)";
        let (word, rest) = text.split_once('(').ok_or(forms)?;
        let mut depth = 1;
        let end = rest.char_indices().find_map(|(at, c)| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            (depth == 0).then_some(at)
        });
        let end = end.ok_or("the bracket has no closing `)`")?;
        let (name, rest) = (rest[..end].trim(), &rest[end + 1..]);
        if name.is_empty() {
            return Err(format!("the name of a thread is missing: {forms}"));
        }
        let value = match word.trim() {
            "response" => AppValue::Response(name.into()),
            "jitter" => AppValue::Jitter(name.into()),
            "cpu" => AppValue::Cpu(name.into()),
            "chain" => {
                let names: Vec<String> = name.split('>').map(|name| name.trim().to_owned()).collect();
                if names.len() < 2 || names.iter().any(String::is_empty) {
                    return Err("a chain has two or more threads: chain(A > B)".into());
                }
                if let Some(twice) =
                    names.iter().enumerate().find_map(|(n, name)| names[..n].contains(name).then_some(name))
                {
                    return Err(format!("{twice} occurs twice in the chain"));
                }
                AppValue::Chain(names)
            }
            _ => return Err(forms.into()),
        };
        Ok((value, rest))
    }

    /// Returns true if the quantity has exactly one value for each release of a thread, including skipped releases.
    pub fn is_of_releases(&self) -> bool {
        matches!(self, AppValue::Response(_))
    }

    /// Returns the names of the threads in whose cycles the quantity is measured; for a chain, the names of its threads
    /// or marks.
    pub fn threads(&self) -> &[String] {
        match self {
            AppValue::Response(name) | AppValue::Jitter(name) | AppValue::Cpu(name) => std::slice::from_ref(name),
            AppValue::Chain(names) => names,
        }
    }

    pub fn kind(&self) -> &'static str {
        match self {
            AppValue::Response(_) => "response",
            AppValue::Jitter(_) => "jitter",
            AppValue::Cpu(_) => "cpu",
            AppValue::Chain(_) => "chain",
        }
    }

    /// Returns the label shown to users, for example `response of control`.
    pub fn label(&self) -> String {
        match self {
            AppValue::Response(name) => format!("response of {name}"),
            AppValue::Jitter(name) => format!("jitter of {name}"),
            AppValue::Cpu(name) => format!("CPU time of {name}"),
            AppValue::Chain(names) => format!("chain {}", names.join(" > ")),
        }
    }
}

impl fmt::Display for AppValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.kind(), self.threads().join(" > "))
    }
}

impl FromStr for AppValue {
    type Err = String;

    fn from_str(text: &str) -> Result<AppValue, String> {
        match AppValue::split(text)? {
            (value, rest) if rest.trim().is_empty() => Ok(value),
            (_, rest) => Err(format!("unexpected text `{}` after the value", rest.trim())),
        }
    }
}

impl Serialize for AppValue {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for AppValue {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for AppValue {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "AppValue".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "description": "The measured quantity: response(THREAD), jitter(THREAD), cpu(THREAD), chain(A > B)"})
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_read_and_write_the_same() {
        for text in ["response(control)", "jitter(rx thread)", "cpu((sd-pam))", "chain(irq > driver > client)"] {
            assert_eq!(text.parse::<AppValue>().unwrap().to_string(), text);
        }
        for bad in [
            "",
            "response",
            "response()",
            "response(a",
            "chain(a)",
            "chain(a > )",
            "chain(a > b > a)",
            "late(a)",
            "cpu(a) x",
        ] {
            assert!(bad.parse::<AppValue>().is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "(response|chain)?\\(?\\PC{0,12}\\)?\\PC*") {
            if let Ok(value) = text.parse::<AppValue>() {
                prop_assert_eq!(value.to_string().parse::<AppValue>(), Ok(value));
            }
        }
    }
}
