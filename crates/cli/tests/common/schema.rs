//! Documents held against docs/schemas.

use serde_json::Value;
use std::path::{Path, PathBuf};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas").join(format!("{name}.schema.json"))
}

/// The schema of that name.
pub fn schema(name: &str) -> jsonschema::Validator {
    let path = path(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    jsonschema::validator_for(&serde_json::from_str(&text).unwrap()).unwrap()
}

/// Fails with the first few contradictions.
pub fn assert_holds(name: &str, value: &Value) {
    let validator = schema(name);
    let errors: Vec<String> =
        validator.iter_errors(value).take(3).map(|e| format!("{} at {}", e, e.instance_path())).collect();
    assert!(errors.is_empty(), "{name}: {errors:#?}");
}

/// Holds a `--json` document to the envelope and to the schema of the command that it names.
pub fn holds(document: &Value) {
    assert_holds("document", document);
    let named = document["schema"].as_str().and_then(|s| s.strip_prefix("punctual.")?.strip_suffix("/1"));
    let command = match named.unwrap_or_else(|| panic!("{}", document["schema"])) {
        "measure" | "prove" => "report",
        other => other,
    };
    assert_holds(&format!("document-{command}"), document);
}
