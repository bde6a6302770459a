//! The JSON document every command prints with `--json`: `{schema, schema_version, tool, exit_code, result}`.

use serde::Serialize;
use serde_json::Value;

/// Wraps a result of a command, `report` or `lab boot`. `schema` and `schema_version` come first; the keys' order is part of the contract.
pub fn document(command: &str, exit_code: u8, result: &Value) -> String {
    let text = |s: &str| Value::from(s).to_string();
    let result = punctual_report::json_text(result);
    let result = result.trim_end();
    format!(
        "{{\"schema\":{},\"schema_version\":\"1.0\",\"tool\":{{\"name\":\"punctual\",\"version\":{}}},\
         \"exit_code\":{exit_code},\"result\":{result}}}",
        text(&format!("punctual.{}/1", command.replace(' ', "-"))),
        text(env!("CARGO_PKG_VERSION")),
    )
}

/// The same of anything that is written as JSON.
pub fn document_of(command: &str, exit_code: u8, result: &impl Serialize) -> String {
    document(command, exit_code, &value(result))
}

/// A result as JSON; an error in its place where it cannot be written.
pub fn value(result: &impl Serialize) -> Value {
    serde_json::to_value(result).unwrap_or_else(|e| error(&format!("the result cannot be written: {e}")))
}

/// The result of a command that failed before it had one.
pub fn error(message: &str) -> Value {
    serde_json::json!({ "error": message })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_comes_first_and_it_parses() {
        let text = document("prove", 3, &error("a \"quoted\"\nline"));
        assert!(text.starts_with(r#"{"schema":"punctual.prove/1","schema_version":"1.0","#));
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["result"]["error"], "a \"quoted\"\nline");
        assert_eq!(value["exit_code"], 3);
        assert!(document("lab boot", 0, &Value::Null).contains("punctual.lab-boot/1"));
    }
}
