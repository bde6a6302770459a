//! Packs the rule files into one deflated JSON document: parsing TOML at every start would take tens of milliseconds,
//! and the text would take up a third of a megabyte. Only TOML syntax is checked here; tests report errors in rules
//! with their lines.

use serde_json::{Map, Value};
use std::error::Error;
use std::fs;
use std::path::Path;

const LEVEL: u8 = 10;

fn main() -> Result<(), Box<dyn Error>> {
    for path in ["rules", "rules.txt", "sources.toml", "gates.toml", "profiles", "build.rs"] {
        println!("cargo::rerun-if-changed={path}");
    }
    let mut rules = Vec::new();
    for id in fs::read_to_string("rules.txt")?.lines() {
        let mut rule = json(Path::new("rules").join(format!("{id}.toml")).as_path())?;
        if let Value::Object(fields) = &mut rule {
            fields.remove("test");
        }
        rules.push(rule);
    }
    let mut all = Map::new();
    all.insert("rules".into(), Value::Array(rules));
    all.insert("sources".into(), json(Path::new("sources.toml"))?);
    all.insert("gates".into(), json(Path::new("gates.toml"))?);
    let mut profiles = Map::new();
    for entry in fs::read_dir("profiles")? {
        let path = entry?.path();
        let name = path.file_stem().and_then(|name| name.to_str()).ok_or("a profile without a name")?.to_owned();
        profiles.insert(name, json(&path)?);
    }
    all.insert("profiles".into(), Value::Object(profiles));
    let text = serde_json::to_vec(&all)?;
    let out = std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?;
    fs::write(Path::new(&out).join("rules.length"), text.len().to_string())?;
    let bytes = miniz_oxide::deflate::compress_to_vec(&text, LEVEL);
    Ok(fs::write(Path::new(&out).join("rules.json.deflate"), bytes)?)
}

fn json(path: &Path) -> Result<Value, Box<dyn Error>> {
    let text = fs::read_to_string(path)?;
    let table: toml::Table = toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(serde_json::to_value(table)?)
}
