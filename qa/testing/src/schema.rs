//! Validates documents against docs/schemas with the feature `reference-checks`; without it, only checks that the
//! schema exists.

use crate::root;
#[cfg(feature = "reference-checks")]
use serde_json::Map;
use serde_json::Value;
use std::path::PathBuf;

fn path(name: &str) -> PathBuf {
    root().join("docs/schemas").join(format!("{name}.schema.json"))
}

fn text(name: &str) -> Value {
    let path = path(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap()
}

/// Validates a `--json` document against the envelope and against the schema of its command, which must describe every
/// key in it.
pub fn holds(document: &Value) {
    #[cfg(feature = "reference-checks")]
    assert_holds("document", document);
    let named = document["schema"].as_str().and_then(|s| s.strip_prefix("punctual.")?.strip_suffix("/1"));
    let command = match named.unwrap_or_else(|| panic!("{}", document["schema"])) {
        "measure" | "prove" => "report",
        other => other,
    };
    assert_exact(&format!("document-{command}"), document);
}

#[cfg(feature = "reference-checks")]
pub use checks::{assert_exact, assert_holds, exact, schema};

#[cfg(not(feature = "reference-checks"))]
pub fn assert_exact(name: &str, _: &Value) {
    text(name);
}

#[cfg(feature = "reference-checks")]
mod checks {
    use super::*;

    pub fn schema(name: &str) -> jsonschema::Validator {
        jsonschema::validator_for(&text(name)).unwrap()
    }

    fn assert_valid(name: &str, validator: &jsonschema::Validator, value: &Value) {
        let errors: Vec<String> =
            validator.iter_errors(value).take(3).map(|e| format!("{} at {}", e, e.instance_path())).collect();
        assert!(errors.is_empty(), "{name}: {errors:#?}");
    }

    /// Panics with the first few violations if the value does not match the schema.
    pub fn assert_holds(name: &str, value: &Value) {
        assert_valid(name, &schema(name), value);
    }

    /// Like [`assert_holds`], and also requires that every key is described.
    pub fn assert_exact(name: &str, value: &Value) {
        assert_holds(name, value);
        assert_valid(&format!("{name}, no other keys"), &exact(name), value);
    }

    /// Returns a validator for the schema that refuses keys which it does not describe: readers must ignore keys of
    /// later minor versions, but the program must not write such keys.
    pub fn exact(name: &str) -> jsonschema::Validator {
        let mut schema = text(name);
        let defs = schema["$defs"].as_object().cloned().unwrap_or_default();
        narrow(&mut schema, &defs);
        jsonschema::validator_for(&schema).unwrap()
    }

    fn narrow(schema: &mut Value, defs: &Map<String, Value>) {
        match schema {
            Value::Array(all) => all.iter_mut().for_each(|one| narrow(one, defs)),
            Value::Object(fields) => {
                if fields.contains_key("properties") {
                    merge(fields, defs);
                    fields.entry("additionalProperties").or_insert(false.into());
                }
                fields.values_mut().for_each(|one| narrow(one, defs));
            }
            _ => {}
        }
    }

    /// Replaces the `$ref` of an enum variant by the keys of the type that it names, next to the tag of the variant.
    fn merge(fields: &mut Map<String, Value>, defs: &Map<String, Value>) {
        let Some(reference) = fields.remove("$ref") else { return };
        let name = reference.as_str().and_then(|r| r.strip_prefix("#/$defs/")).unwrap();
        for (key, theirs) in defs[name].as_object().unwrap() {
            match (fields.get_mut(key), theirs) {
                (Some(Value::Object(ours)), Value::Object(theirs)) => ours.extend(theirs.clone()),
                (Some(Value::Array(ours)), Value::Array(theirs)) => ours.extend(theirs.iter().cloned()),
                (Some(_), _) => {}
                (None, _) => drop(fields.insert(key.clone(), theirs.clone())),
            }
        }
    }
}
