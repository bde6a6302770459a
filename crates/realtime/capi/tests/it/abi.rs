//! Tests the binary compatibility of the C interface: each version has a committed list of its declarations, and the
//! declarations of earlier versions with the same soname must still exist unchanged. `UPDATE_GOLDEN=1 cargo test -p
//! punctual-rt-capi abi` writes the list of the current version and the linker's map of symbol versions.

use punctual_testing::golden;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The current version, without its patch level.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"));

/// Returns what a header declares, one declaration per line: constants, enumerators with their numbers, structures with
/// their members, function types, functions.
fn declarations(header: &str) -> BTreeSet<String> {
    let code = header.lines().map(|line| line.split("//").next().unwrap_or_default());
    let (directives, code): (Vec<&str>, Vec<&str>) = code.partition(|line| line.starts_with('#'));
    let constants = directives.iter().filter(|line| line.starts_with("#define PRT_")).map(|line| (*line).to_owned());
    let mut all: BTreeSet<String> = constants.collect();
    let code = code.join(" ");
    // The preamble is a block comment, and the others are not.
    let code = code.split_once("*/").map_or(&*code, |(_, code)| code).replace("extern \"C\" {", " ");
    for declaration in statements(&code) {
        match declaration.strip_prefix("enum ").and_then(|rest| rest.split_once('{')) {
            Some((name, variants)) => {
                let variants = variants.trim_end_matches('}').split(',').map(str::trim).filter(|v| !v.is_empty());
                all.extend(variants.map(|variant| format!("enum {} {variant}", name.trim())));
            }
            None => drop(all.insert(declaration)),
        }
    }
    all
}

/// Splits code at semicolons outside braces, and reduces white space to single spaces.
fn statements(code: &str) -> Vec<String> {
    let (mut all, mut depth) = (vec![String::new()], 0);
    for c in code.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ';' if depth == 0 => {
                all.push(String::new());
                continue;
            }
            _ => {}
        }
        all.last_mut().unwrap().push(c);
    }
    let words = |text: &String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    all.iter().map(words).filter(|text| text.len() > 1).collect()
}

/// Returns the name of a declared function; `None` for another declaration.
fn function(declaration: &str) -> Option<&str> {
    let (before, _) = declaration.split_once('(')?;
    let name = before.rsplit([' ', '*']).next()?;
    (!declaration.starts_with("typedef") && name.starts_with("prt_")).then_some(name)
}

fn functions<'a>(declared: impl IntoIterator<Item = &'a String>) -> BTreeSet<&'a str> {
    declared.into_iter().filter_map(|line| function(line)).collect()
}

/// Returns the lists of earlier versions with this soname, the earliest first.
fn earlier() -> Vec<(String, BTreeSet<String>)> {
    let number = |version: &str| version.split('.').map(|part| part.parse::<u32>().unwrap()).collect::<Vec<_>>();
    let files = fs::read_dir(folder().join("abi")).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<(String, BTreeSet<String>)> = files
        .map(|path| {
            let version = path.file_name().unwrap().to_str().unwrap().strip_suffix(".txt").unwrap().to_owned();
            let text = fs::read_to_string(&path).unwrap();
            (version, text.lines().map(str::to_owned).collect())
        })
        .filter(|(version, _)| number(version) < number(VERSION))
        .collect();
    all.sort_by_key(|(version, _)| number(version));
    all
}

fn header() -> BTreeSet<String> {
    declarations(&fs::read_to_string(folder().join("include/punctual_rt.h")).unwrap())
}

/// Returns the linker's version script, in which each function has the version that first declared it.
fn map(versions: &[(String, BTreeSet<String>)]) -> String {
    let mut text = String::from("# Made by tests/it/abi.rs from abi/: do not edit.\n");
    let (mut known, mut last) = (BTreeSet::new(), None);
    for (version, declared) in versions {
        let local = if last.is_none() { "  local: *;\n" } else { "" };
        let added: Vec<&str> = functions(declared).difference(&known).copied().collect();
        let names: String = added.iter().map(|name| format!("    {name};\n")).collect();
        let after = last.map(|last| format!(" PUNCTUAL_RT_{last}")).unwrap_or_default();
        let _ = write!(text, "PUNCTUAL_RT_{version} {{\n  global:\n{names}{local}}}{after};\n");
        known.extend(added);
        last = Some(version);
    }
    text
}

#[test]
fn the_abi_of_this_version_is_the_committed_one() {
    let now = header();
    assert!(functions(&now).len() > 100, "{:?}", functions(&now));
    golden(format!("abi/{VERSION}.txt"), &now.iter().map(|line| format!("{line}\n")).collect::<String>());
    let versions: Vec<_> = earlier().into_iter().chain([(VERSION.to_owned(), now)]).collect();
    golden("punctual_rt.map", &map(&versions));
}

/// A program that was built with an earlier version must run with this one.
#[test]
fn what_earlier_versions_declare_is_unchanged() {
    let now = header();
    for (version, declared) in earlier() {
        let lost: Vec<&String> = declared.difference(&now).collect();
        assert!(
            lost.is_empty(),
            "{version} declares, this version does not: give it another soname (install.sh) {lost:#?}"
        );
    }
}

const OLD: &str = "/* about */\n#define PRT_MOST 4\n#include <stdint.h>\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\
    // What it is.\nenum prt_a {\n  // One.\n  PRT_A_ONE = 0,\n};\nstruct prt_b {\n  int x;\n  uint64_t y;\n};\n\
    typedef int (*prt_c)(void *data);\nint prt_d(struct prt_b *b,\n          int n);\nstruct prt_b *prt_e(void);\n\
    #ifdef __cplusplus\n}\n#endif\n";

#[test]
fn declarations_are_found_whole() {
    let declared: Vec<String> = declarations(OLD).into_iter().collect();
    let expected = [
        "#define PRT_MOST 4",
        "enum prt_a PRT_A_ONE = 0",
        "int prt_d(struct prt_b *b, int n)",
        "struct prt_b *prt_e(void)",
        "struct prt_b { int x; uint64_t y; }",
        "typedef int (*prt_c)(void *data)",
    ];
    assert_eq!(declared, expected);
    assert_eq!(functions(&declared).into_iter().collect::<Vec<_>>(), ["prt_d", "prt_e"]);
}

#[test]
fn changes_are_told_from_additions() {
    let old = declarations(OLD);
    let lost = |from: &str, to: &str| {
        assert!(OLD.contains(from), "{from}");
        old.difference(&declarations(&OLD.replace(from, to))).count()
    };
    for (from, to) in [
        ("int prt_d(", "long prt_d("),
        ("int n);", "int n, int m);"),
        ("ONE = 0,", "ONE = 1,"),
        ("  int x;\n", "  int x;\n  int z;\n"),
        ("MOST 4", "MOST 5"),
        ("void *data", "const void *data"),
        ("struct prt_b *prt_e(void);\n", ""),
    ] {
        assert_eq!(lost(from, to), 1, "{from} → {to}");
    }
    for (from, to) in [("ONE = 0,", "ONE = 0, PRT_A_TWO = 1,"), ("(void);\n", "(void);\nvoid prt_f(void);\n")] {
        assert_eq!(lost(from, to), 0, "{from} → {to}");
    }
}

#[test]
fn a_function_has_the_version_that_added_it() {
    let later = declarations(&OLD.replace("(void);\n", "(void);\nvoid prt_f(void);\n"));
    let text = map(&[("0.1".to_owned(), declarations(OLD)), ("0.2".to_owned(), later)]);
    let expected = "PUNCTUAL_RT_0.1 {\n  global:\n    prt_d;\n    prt_e;\n  local: *;\n};\n\
                    PUNCTUAL_RT_0.2 {\n  global:\n    prt_f;\n} PUNCTUAL_RT_0.1;\n";
    assert_eq!(text.split_once('\n').unwrap().1, expected);
}
