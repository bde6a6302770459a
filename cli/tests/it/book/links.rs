//! Checks the book without mdbook: SUMMARY.md lists every page and no missing page, and links lead to existing files
//! and headings.

use punctual_testing::root;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Returns the text of a page outside of code, and the targets of its links.
fn links(page: &Path) -> Vec<String> {
    let mut links = Vec::new();
    let mut code = false;
    for line in fs::read_to_string(page).unwrap().lines() {
        code ^= line.trim_start().starts_with("```");
        if code {
            continue;
        }
        let outside: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        links.extend(outside.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(to, _)| to.to_owned()));
    }
    links
}

/// Returns the anchors that mdBook and GitHub generate for the headings of a page.
fn anchors(page: &Path) -> BTreeSet<String> {
    let mut code = false;
    let text = fs::read_to_string(page).unwrap();
    let headings = text.lines().filter(|line| {
        code ^= line.starts_with("```");
        !code && line.starts_with('#')
    });
    headings
        .map(|line| {
            let kept =
                line.trim_start_matches('#').trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            kept.collect::<String>().to_lowercase().replace(' ', "-")
        })
        .collect()
}

fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

/// Returns the error in one link of `page`, if there is one.
fn wrong(page: &Path, link: &str) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let to = if file.is_empty() { page.to_owned() } else { plain(&page.parent().unwrap().join(file)) };
    let why = match () {
        () if !to.exists() => "is not there",
        () if !anchor.is_empty() && to.extension().is_some_and(|e| e == "md") && !anchors(&to).contains(anchor) => {
            "has no such heading"
        }
        () => return None,
    };
    Some(format!("{}: {link} {why}", page.display()))
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let root = root().canonicalize().unwrap();
    let mut pages = all(&root.join("docs"));
    pages.push(root.join("README.md"));
    let wrong: Vec<String> = pages
        .iter()
        .flat_map(|page| links(page).into_iter().filter_map(|link| wrong(page, &link)).collect::<Vec<_>>())
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Decision records are exempt: the paths in them may have changed since.
#[test]
fn every_path_of_the_workspace_that_a_page_names_is_there() {
    let root = root().canonicalize().unwrap();
    let mut pages = all(&root.join("docs"));
    pages.extend(
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "qa/libfuzzer/README.md"].map(|page| root.join(page)),
    );
    let mut wrong = Vec::new();
    for page in pages.iter().filter(|page| !page.starts_with(root.join("docs/adr"))) {
        let text = fs::read_to_string(page).unwrap();
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || "/._-".contains(c)));
        let paths = words.map(|word| word.trim_end_matches('.')).filter(|word| {
            ["cli/", "crates/", "apps/", "qa/", "xtask/"].iter().any(|folder| word.starts_with(folder))
                && *word != "crates/app/"
        });
        // `rf-switch.{service,tmpfiles}` and `*` name several files.
        let begins = |path: &Path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let beside = fs::read_dir(path.parent().unwrap()).into_iter().flatten().flatten();
            beside.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with(&name))
        };
        let is_there =
            |path: &str| [root.join(path), page.with_file_name(path)].iter().any(|path| path.exists() || begins(path));
        wrong.extend(paths.filter(|path| !is_there(path)).map(|path| format!("{}: {path}", page.display())));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_page_is_in_the_summary_once() {
    let docs = root().canonicalize().unwrap().join("docs");
    let summary = links(&docs.join("SUMMARY.md"));
    let listed: BTreeSet<PathBuf> = summary.iter().map(|link| docs.join(link)).collect();
    assert_eq!(listed.len(), summary.len(), "a page is listed twice");
    let there: BTreeSet<PathBuf> = all(&docs).into_iter().filter(|page| !page.ends_with("SUMMARY.md")).collect();
    let missing: Vec<&PathBuf> = there.difference(&listed).collect();
    assert!(missing.is_empty(), "not in docs/SUMMARY.md: {missing:#?}");
    let gone: Vec<&PathBuf> = listed.difference(&there).collect();
    assert!(gone.is_empty(), "in docs/SUMMARY.md and not there: {gone:#?}");
}

fn all(folder: &Path) -> Vec<PathBuf> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => pages.extend(all(&path)),
            false if path.extension().is_some_and(|e| e == "md") => pages.push(path),
            false => {}
        }
    }
    pages
}
