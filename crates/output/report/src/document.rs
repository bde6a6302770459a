//! Formats JSON output: the document that contains a result, escaped so that any program can display it safely.

use crate::clean;
use serde::Serialize;

/// The output of every command with `--json`: one document, `schema` and `schema_version` first.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document<T> {
    #[serde(flatten)]
    head: Head,
    result: T,
}

/// The keys before the result, in this order.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Head {
    /// `punctual.COMMAND/1`; a different major number means an incompatible format.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = r"^punctual\..+/1$")))]
    schema: String,
    /// `major.minor`; a minor version only adds keys.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = r"^1\.\d+$")))]
    schema_version: &'static str,
    tool: Writer,
    /// The exit code of the command: 0 pass or done, 1 fail, 2 usage, 3 inconclusive, 4 environment, 128+n signal n.
    exit_code: u8,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Writer {
    name: &'static str,
    version: &'static str,
}

/// A result, or the reason why there is no result.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum ResultOrError<T> {
    Error {
        /// Error message: what failed and why, and the next step.
        error: String,
    },
    Result(T),
}

impl<T: Serialize> Document<T> {
    /// Wraps a result; `command` is the command as typed, for example `report` or `lab boot`.
    pub fn new(command: &str, exit_code: u8, result: T) -> Document<T> {
        let schema = format!("punctual.{}/1", command.replace(' ', "-"));
        let tool = Writer { name: "punctual", version: env!("CARGO_PKG_VERSION") };
        Document { head: Head { schema, schema_version: "1.0", tool, exit_code }, result }
    }

    /// Formats the head on one line, the indented result after it, and a newline.
    pub fn text(&self) -> String {
        let head = serde_json::to_string(&self.head).unwrap_or_default();
        let result = json_text(&self.result);
        format!("{},\"result\":{}}}\n", head.strip_suffix('}').unwrap_or_default(), result.trim_end())
    }
}

/// Formats indented JSON with sorted keys. `<`, control characters and characters that hide text are written as
/// `\uXXXX`, which is equivalent, so that no browser, terminal or LAVA dispatcher interprets anything in it.
pub fn json_text(value: &impl Serialize) -> String {
    escaped(&format!("{:#}\n", json_value(value)))
}

/// Formats as [`json_text`] does, on one line, for JSON lines.
pub fn json_line(value: &impl Serialize) -> String {
    escaped(&format!("{}\n", json_value(value)))
}

/// Converts `value` with sorted keys; returns an object with an `error` if it cannot be serialized.
pub fn json_value(value: &impl Serialize) -> serde_json::Value {
    let failed =
        |e| serde_json::json!(ResultOrError::<()>::Error { error: format!("the result cannot be serialized: {e}") });
    serde_json::to_value(value).unwrap_or_else(failed)
}

fn escaped(plain: &str) -> String {
    let mut out = String::with_capacity(plain.len());
    for (at, c) in plain.char_indices() {
        // Outside of strings JSON contains none of these except the newline; inside strings newlines are already
        // escaped.
        let is_command = c == '<' || plain.get(at..).is_some_and(|rest| rest.starts_with("##"));
        if is_command || (c != '\n' && clean::is_obeyed(c)) {
            let mut units = [0; 2];
            c.encode_utf16(&mut units).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn the_head_comes_first_and_it_parses() {
        let failed = ResultOrError::<()>::Error { error: "a \"quoted\"\nline".into() };
        let text = Document::new("prove", 3, failed).text();
        assert!(text.starts_with(r#"{"schema":"punctual.prove/1","schema_version":"1.0","tool":{"name":"punctual","#));
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["result"]["error"], "a \"quoted\"\nline");
        assert_eq!(value["exit_code"], 3);
        assert!(Document::new("lab boot", 0, Value::Null).text().contains("punctual.lab-boot/1"));
    }
}
