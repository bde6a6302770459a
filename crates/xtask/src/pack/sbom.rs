//! What the programs are made of, as CycloneDX 1.5 (https://cyclonedx.org/docs/1.5/json/): the crates that are linked in, from
//! `cargo metadata`, and the C library and Rust's own, which are in a static program, too.

use super::PROGRAMS;
use crate::cross::Target;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::process::Command;

/// The bill of a target's programs, as text.
///
/// # Errors
/// What cannot be asked of cargo, rustc or dpkg.
pub fn bill(target: &Target) -> Result<String, String> {
    let cargo = env::var("CARGO").unwrap_or("cargo".into());
    let said = ask(&cargo, &["metadata", "--format-version", "1", "--locked", "--filter-platform", target.triple])?;
    let metadata: Value = serde_json::from_str(&said).map_err(|e| format!("cargo metadata: {e}"))?;
    let bill =
        document(&metadata, &beside(target)?).ok_or("cargo metadata has not the shape it is documented to have")?;
    Ok(format!("{bill:#}\n"))
}

/// What no crate brings: the C library's archives and Rust's standard library.
fn beside(target: &Target) -> Result<Vec<Value>, String> {
    let rustc = env::var("RUSTC").unwrap_or("rustc".into());
    let rust = ask(&rustc, &["--version"])?;
    let rust = rust.split_whitespace().nth(1).unwrap_or("unknown").to_owned();
    let names = target.packages.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let c_library = names.filter(|name| name.starts_with("libc6-dev")).find_map(|name| {
        let version = ask("dpkg-query", &["-W", "-f=${Version}", name]).ok()?;
        Some((name.to_owned(), version))
    });
    let (package, version) = c_library.ok_or("no package libc6-dev of the target is installed")?;
    Ok(vec![
        json!({ "type": "library", "bom-ref": "rust-std", "name": "rust-std", "version": rust,
                "licenses": [{ "expression": "MIT OR Apache-2.0" }] }),
        json!({ "type": "library", "bom-ref": "glibc", "name": "glibc", "version": version,
                "licenses": [{ "expression": "LGPL-2.1-or-later" }],
                "purl": format!("pkg:deb/debian/{package}@{version}") }),
    ])
}

fn ask(program: &str, words: &[&str]) -> Result<String, String> {
    let done = Command::new(program).args(words).output().map_err(|e| format!("{program}: {e}"))?;
    match done.status.success() {
        true => Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned()),
        false => Err(format!("{program}: {}", String::from_utf8_lossy(&done.stderr).trim())),
    }
}

/// `None` where the metadata is not as documented.
fn document(metadata: &Value, beside: &[Value]) -> Option<Value> {
    let packages: BTreeMap<&str, &Value> =
        metadata["packages"].as_array()?.iter().filter_map(|p| Some((p["id"].as_str()?, p))).collect();
    let links = links(metadata)?;
    let start = packages.iter().filter(|(_, p)| p["name"].as_str().is_some_and(|name| PROGRAMS.contains(&name)));
    let mut open: Vec<&str> = start.map(|(id, _)| *id).collect();
    let mut linked = BTreeSet::new();
    while let Some(id) = open.pop() {
        if linked.insert(id) {
            open.extend(links.get(id).into_iter().flatten());
        }
    }
    let components: Option<Vec<Value>> = linked.iter().map(|id| component(packages.get(id)?)).collect();
    let depends: Option<Vec<Value>> = linked
        .iter()
        .map(|id| {
            let on: Option<Vec<String>> =
                links.get(id).into_iter().flatten().map(|on| reference(packages.get(on)?)).collect();
            Some(json!({ "ref": reference(packages.get(id)?)?, "dependsOn": on? }))
        })
        .collect();
    let mut components = components?;
    components.extend(beside.iter().cloned());
    Some(json!({
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": { "component": { "type": "application", "bom-ref": "release", "name": "punctual",
                                     "version": env!("CARGO_PKG_VERSION") } },
        "components": components, "dependencies": depends?,
    }))
}

/// What is linked into what: neither what builds nor what tests.
fn links(metadata: &Value) -> Option<BTreeMap<&str, Vec<&str>>> {
    let nodes = metadata["resolve"]["nodes"].as_array()?;
    let is_linked = |dep: &&Value| dep["dep_kinds"].as_array().is_some_and(|k| k.iter().any(|k| k["kind"].is_null()));
    let mut links = BTreeMap::new();
    for node in nodes {
        let deps: Option<Vec<&str>> =
            node["deps"].as_array()?.iter().filter(is_linked).map(|dep| dep["pkg"].as_str()).collect();
        links.insert(node["id"].as_str()?, deps?);
    }
    Some(links)
}

fn reference(package: &Value) -> Option<String> {
    Some(format!("pkg:cargo/{}@{}", package["name"].as_str()?, package["version"].as_str()?))
}

fn component(package: &Value) -> Option<Value> {
    let reference = reference(package)?;
    let mut component = json!({ "type": "library", "bom-ref": reference, "name": package["name"],
                                "version": package["version"], "purl": reference });
    // Cargo's old way to write "or" is no SPDX expression.
    if let Some(licence) = package["license"].as_str() {
        component["licenses"] = json!([{ "expression": licence.replace('/', " OR ").replace("  ", " ") }]);
    }
    Some(component)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata() -> Value {
        let package = |name: &str| json!({ "id": format!("id-{name}"), "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0" });
        let dep = |name: &str, kind: Value| json!({ "pkg": format!("id-{name}"), "dep_kinds": [{ "kind": kind }] });
        json!({
            "packages": [package("punctual"), package("linked"), package("deeper"), package("tested"), package("builds")],
            "resolve": { "nodes": [
                { "id": "id-punctual", "deps": [dep("linked", Value::Null), dep("tested", "dev".into()), dep("builds", "build".into())] },
                { "id": "id-linked", "deps": [dep("deeper", Value::Null)] },
                { "id": "id-deeper", "deps": [] }, { "id": "id-tested", "deps": [] }, { "id": "id-builds", "deps": [] },
            ] }
        })
    }

    #[test]
    fn what_is_linked_is_listed_and_what_only_builds_or_tests_is_not() {
        let bill = document(&metadata(), &[json!({ "name": "glibc" })]).unwrap();
        let names: Vec<&str> =
            bill["components"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["deeper", "linked", "punctual", "glibc"]);
        assert_eq!(bill["components"][0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(bill["dependencies"][2]["dependsOn"], json!(["pkg:cargo/linked@1.0.0"]));
    }

    #[test]
    fn a_metadata_without_a_graph_is_refused() {
        assert!(document(&json!({ "packages": [] }), &[]).is_none());
    }
}
