//! Lists the components of the programs as CycloneDX 1.5 (https://cyclonedx.org/docs/1.5/json/): the linked crates from
//! `cargo metadata`, and the C library and Rust's standard library, which a static program contains, too.

use super::{PROGRAMS, read};
use crate::cross::{self, Target};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::path::Path;
use std::process::Command;

/// Returns the bill of materials of the programs for a target, as JSON.
///
/// # Errors
/// cargo, rustc or dpkg failed.
pub fn bill(target: &Target) -> Result<String, String> {
    let cargo = env::var("CARGO").unwrap_or("cargo".into());
    let said = ask(&cargo, &["metadata", "--format-version", "1", "--locked", "--filter-platform", target.triple])?;
    let metadata: Value = serde_json::from_str(&said).map_err(|e| format!("cargo metadata: {e}"))?;
    // The metadata has the features of the whole workspace, and therefore crates that are in none of the programs.
    let mut words = vec!["tree", "--locked", "--edges", "normal", "--target", target.triple, "--prefix", "none"];
    words.extend(["--format", "{p}"].into_iter().chain(PROGRAMS.into_iter().flat_map(|name| ["--package", name])));
    let built = built(&ask(&cargo, &words)?);
    let bill = document(&metadata, &built, &beside(target, &metadata)?);
    let bill = bill.ok_or("cargo metadata does not have its documented form, or lacks a crate of cargo tree")?;
    Ok(format!("{bill:#}\n"))
}

/// Returns names and versions in lines of `cargo tree`: `serde v1.0.229`, `punctual v0.1.0 (/path)`, `syn v3.0.9 (*)`.
fn built(tree: &str) -> BTreeSet<(String, String)> {
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        Some((words.next()?.to_owned(), words.next()?.strip_prefix('v')?.to_owned()))
    };
    tree.lines().filter_map(line).collect()
}

/// Returns the components other than crates: the C library's archives, Rust's standard library, and SQLite, whose
/// source is part of a crate.
fn beside(target: &Target, metadata: &Value) -> Result<Vec<Value>, String> {
    let rustc = env::var("RUSTC").unwrap_or("rustc".into());
    let rust = ask(&rustc, &["--version"])?;
    let rust = rust.split_whitespace().nth(1).ok_or_else(|| format!("{rustc} --version printed `{rust}`"))?.to_owned();
    let (package, version) = owner(&cross::c_library(target)?)?;
    let sqlite = sqlite(metadata)?;
    Ok(vec![
        json!({ "type": "library", "bom-ref": "rust-std", "name": "rust-std", "version": rust,
                "licenses": [{ "expression": "MIT OR Apache-2.0" }] }),
        json!({ "type": "library", "bom-ref": "glibc", "name": "glibc", "version": version,
                "licenses": [{ "expression": "LGPL-2.1-or-later" }],
                "purl": format!("pkg:deb/debian/{package}@{version}") }),
        json!({ "type": "library", "bom-ref": "sqlite", "name": "sqlite", "version": sqlite,
                "licenses": [{ "license": { "id": "blessing" } }],
                "cpe": format!("cpe:2.3:a:sqlite:sqlite:{sqlite}:*:*:*:*:*:*:*") }),
    ])
}

/// Returns the Debian package that owns a file, and its version. It is an error unless exactly one installed package
/// owns the file.
fn owner(file: &Path) -> Result<(String, String), String> {
    let path = file.display().to_string();
    let said = ask("dpkg-query", &["--search", &path])?;
    let package = said.split(": ").next().filter(|name| !name.is_empty() && !name.contains([',', '\n']));
    let package = package.ok_or_else(|| format!("dpkg-query --search {path} printed `{said}`, not one package"))?;
    let version = ask("dpkg-query", &["-W", "-f=${Version}", package])?;
    match version.is_empty() {
        true => Err(format!("dpkg-query shows no version of {package}, which owns {path}")),
        false => Ok((package.split(':').next().unwrap_or(package).to_owned(), version)),
    }
}

/// Returns the version of SQLite in libsqlite3-sys, read from its header.
fn sqlite(metadata: &Value) -> Result<String, String> {
    let mut packages = metadata["packages"].as_array().into_iter().flatten();
    let manifest = packages.find(|p| p["name"] == "libsqlite3-sys").and_then(|p| p["manifest_path"].as_str());
    let manifest = Path::new(manifest.ok_or("cargo metadata has no libsqlite3-sys")?);
    let header = manifest.with_file_name("sqlite3").join("sqlite3.h");
    let text = read(&header)?;
    let version = text.lines().find_map(|line| line.strip_prefix("#define SQLITE_VERSION "));
    let version = version.map(|version| version.trim().trim_matches('"').to_owned());
    version.ok_or_else(|| format!("{} defines no SQLITE_VERSION", header.display()))
}

fn ask(program: &str, words: &[&str]) -> Result<String, String> {
    let done = Command::new(program).args(words).output().map_err(|e| format!("{program}: {e}"))?;
    match done.status.success() {
        true => Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned()),
        false => Err(format!("{program}: {}", String::from_utf8_lossy(&done.stderr).trim())),
    }
}

/// Returns the document; `None` if the metadata does not have its documented form, or does not contain every crate that
/// is built.
fn document(metadata: &Value, built: &BTreeSet<(String, String)>, beside: &[Value]) -> Option<Value> {
    let key = |p: &Value| Some((p["name"].as_str()?.to_owned(), p["version"].as_str()?.to_owned()));
    let is_built = |p: &&Value| key(p).is_some_and(|key| built.contains(&key));
    let all = metadata["packages"].as_array()?;
    let packages: BTreeMap<&str, &Value> =
        all.iter().filter(is_built).filter_map(|p| Some((p["id"].as_str()?, p))).collect();
    let mut links = links(metadata)?;
    links.values_mut().for_each(|on| on.retain(|id| packages.contains_key(id)));
    let start = packages.iter().filter(|(_, p)| p["name"].as_str().is_some_and(|name| PROGRAMS.contains(&name)));
    let mut open: Vec<&str> = start.map(|(id, _)| *id).collect();
    let mut linked = BTreeSet::new();
    while let Some(id) = open.pop() {
        if linked.insert(id) {
            open.extend(links.get(id).into_iter().flatten());
        }
    }
    if linked.len() != built.len() {
        return None;
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

/// Returns which crates are linked into which, without build and test dependencies.
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
    // Cargo's old notation for "or" is not an SPDX expression.
    if let Some(licence) = package["license"].as_str() {
        component["licenses"] = json!([{ "expression": licence.replace('/', " OR ").replace("  ", " ") }]);
    }
    Some(component)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> BTreeSet<(String, String)> {
        names.iter().map(|name| ((*name).to_owned(), "1.0.0".to_owned())).collect()
    }

    fn metadata() -> Value {
        let package = |name: &str| json!({ "id": format!("id-{name}"), "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0" });
        let dep = |name: &str, kind: Value| json!({ "pkg": format!("id-{name}"), "dep_kinds": [{ "kind": kind }] });
        json!({
            "packages": [package("punctual"), package("linked"), package("deeper"), package("tested"), package("builds"), package("optional")],
            "resolve": { "nodes": [
                { "id": "id-punctual", "deps": [dep("linked", Value::Null), dep("tested", "dev".into()), dep("builds", "build".into())] },
                { "id": "id-linked", "deps": [dep("deeper", Value::Null), dep("optional", Value::Null)] },
                { "id": "id-optional", "deps": [] },
                { "id": "id-deeper", "deps": [] }, { "id": "id-tested", "deps": [] }, { "id": "id-builds", "deps": [] },
            ] }
        })
    }

    #[test]
    fn what_is_linked_is_listed_and_what_only_builds_or_tests_is_not() {
        let built = names(&["punctual", "linked", "deeper"]);
        let bill = document(&metadata(), &built, &[json!({ "name": "glibc" })]).unwrap();
        let names: Vec<&str> =
            bill["components"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["deeper", "linked", "punctual", "glibc"]);
        assert_eq!(bill["components"][0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(bill["dependencies"][2]["dependsOn"], json!(["pkg:cargo/linked@1.0.0"]));
    }

    #[test]
    fn a_metadata_without_a_graph_is_refused() {
        assert!(document(&json!({ "packages": [] }), &names(&[]), &[]).is_none());
    }

    #[test]
    fn a_crate_that_is_built_and_that_the_metadata_lacks_makes_no_bill() {
        assert!(document(&metadata(), &names(&["punctual", "linked", "deeper", "unheard-of"]), &[]).is_none());
    }

    #[test]
    fn lines_of_cargo_tree_are_names_and_versions_without_what_follows() {
        let found = built("punctual v0.1.0 (/a b/c)\nsyn v3.0.9 (proc-macro) (*)\n\ntoml v1.2.1+spec-1.1.0\n");
        let found: Vec<_> = found.iter().map(|(name, version)| (name.as_str(), version.as_str())).collect();
        assert_eq!(found, [("punctual", "0.1.0"), ("syn", "3.0.9"), ("toml", "1.2.1+spec-1.1.0")]);
    }

    #[test]
    fn the_version_of_sqlite_is_read_from_the_header_beside_the_manifest_and_never_made_up() {
        let folder = tempfile::tempdir().unwrap();
        let header = folder.path().join("sqlite3/sqlite3.h");
        let manifest = folder.path().join("Cargo.toml");
        let metadata = json!({ "packages": [{ "name": "libsqlite3-sys", "manifest_path": manifest }] });
        assert!(sqlite(&metadata).unwrap_err().contains("sqlite3.h"));
        std::fs::create_dir(folder.path().join("sqlite3")).unwrap();
        std::fs::write(&header, "/* */\n").unwrap();
        assert!(sqlite(&metadata).unwrap_err().contains("SQLITE_VERSION"));
        std::fs::write(&header, "#define SQLITE_VERSION        \"3.51.3\"\n").unwrap();
        assert_eq!(sqlite(&metadata).unwrap(), "3.51.3");
    }
}
