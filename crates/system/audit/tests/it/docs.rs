//! Generates docs/rules, one page per group, and the JSON Schema of rule files.

use punctual_audit::{Group, Rules};
use punctual_testing::golden;
use serde_json::Value;
use std::path::{Path, PathBuf};

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/rules")
}

fn name(group: Group) -> String {
    serde_json::to_value(group).unwrap().as_str().unwrap().to_owned()
}

fn pages(rules: &Rules) -> Vec<(String, String)> {
    let mut groups: Vec<Group> = Vec::new();
    rules.iter().for_each(|rule| {
        if !groups.contains(&rule.group) {
            groups.push(rule.group);
        }
    });
    let count = rules.iter().count();
    let mut index = format!(
        "# The rules of the audit\n\nMade from `crates/system/audit/rules/*.toml`: {count} rules. `punctual audit --explain ID` \
                 shows one. The form of a rule file: [schema.json](schema.json).\n\n"
    );
    let mut pages = Vec::new();
    for group in groups {
        let mut page = format!("# {}\n\n", group.title());
        index.push_str(&format!("- [{}]({}.md):", group.title(), name(group)));
        for rule in rules.iter().filter(|rule| rule.group == group) {
            page.push_str(&rules.explain(&rule.id).unwrap());
            page.push('\n');
            index.push_str(&format!(" `{}`", rule.id));
        }
        index.push('\n');
        pages.push((format!("{}.md", name(group)), page));
    }
    pages.push(("README.md".to_owned(), index));
    pages
}

#[test]
fn pages_are_those_of_the_rules() {
    for (file, page) in pages(Rules::embedded()) {
        golden(docs().join(file), &page);
    }
}

/// Checks a value against a schema, using the part of JSON Schema that occurs in docs/rules/schema.json; returns the
/// first error with its place.
fn check(schema: &Value, root: &Value, value: &Value, at: &str) -> Result<(), String> {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let target = root.pointer(reference.trim_start_matches('#')).unwrap();
        return check(target, root, value, at);
    }
    check_kind(schema, value, at)?;
    if let Some(choices) = schema.get("oneOf").and_then(Value::as_array) {
        let fitting = choices.iter().filter(|choice| check(choice, root, value, at).is_ok()).count();
        if fitting != 1 {
            return Err(format!("{at}: fits {fitting} of the forms: {value}"));
        }
    }
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    for key in required.filter_map(Value::as_str) {
        value.get(key).ok_or_else(|| format!("{at}: no {key}"))?;
    }
    for (at_item, item) in value.as_array().into_iter().flatten().enumerate() {
        if let Some(items) = schema.get("items") {
            check(items, root, item, &format!("{at}/{at_item}"))?;
        }
    }
    let known = schema.get("properties").and_then(Value::as_object);
    let others = schema.get("additionalProperties");
    for (key, item) in value.as_object().into_iter().flatten() {
        match (known.and_then(|known| known.get(key)), others) {
            (Some(property), _) => check(property, root, item, &format!("{at}/{key}"))?,
            (None, Some(Value::Bool(false))) => return Err(format!("{at}: unknown {key}")),
            (None, Some(schema)) => check(schema, root, item, &format!("{at}/{key}"))?,
            (None, None) => {}
        }
    }
    Ok(())
}

fn check_kind(schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let is = |kind: &str| match kind {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        _ => value.is_object(),
    };
    let fits = match schema.get("type") {
        Some(Value::String(kind)) => is(kind),
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).any(is),
        _ => true,
    };
    let listed = schema.get("enum").and_then(Value::as_array).is_none_or(|words| words.contains(value));
    if fits && listed { Ok(()) } else { Err(format!("{at}: {value}")) }
}

#[test]
fn every_rule_file_fits_the_schema() {
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(docs().join("schema.json")).unwrap()).unwrap();
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
    let mut count = 0;
    for entry in std::fs::read_dir(rules).unwrap() {
        let path = entry.unwrap().path();
        let table: toml::Table = toml::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let value = serde_json::to_value(table).unwrap();
        check(&schema, &schema, &value, path.file_name().unwrap().to_str().unwrap()).unwrap();
        count += 1;
    }
    assert_eq!(count, Rules::embedded().iter().count());
    // The check must find errors.
    for wrong in [r#"{"id":1}"#, r#"{"id":"x","reads":{"a":{"file":"/x","list":"/y"}}}"#, "[]"] {
        assert!(check(&schema, &schema, &serde_json::from_str(wrong).unwrap(), "").is_err(), "{wrong}");
    }
}
