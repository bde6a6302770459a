//! Writes the contents of a package as an archive for every other distribution: `tar -xzf FILE --strip-components=1 -C
//! /usr/local`.
//!
//! The same tree gives the same bytes: entries are sorted, owned by root, and have the same time (`SOURCE_DATE_EPOCH`,
//! <https://reproducible-builds.org/docs/source-date-epoch/>).

use super::{PROGRAMS, files};
use crate::{cross, root};
use flate2::{Compression, GzBuilder};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Mode and content of each file, by its path below the prefix.
type Tree = BTreeMap<String, (u32, Vec<u8>)>;

/// Name of the staged completion script, and the path below a prefix where the shell looks for it.
const SCRIPTS: [(&str, &str); 3] = [
    ("bash-punctual", "share/bash-completion/completions/punctual"),
    ("zsh-_punctual", "share/zsh/site-functions/_punctual"),
    ("fish-punctual.fish", "share/fish/vendor_completions.d/punctual.fish"),
];
const DOCUMENTS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// Returns the time of all files of a release in seconds since 1970: `SOURCE_DATE_EPOCH`, or the time of the last
/// commit.
///
/// # Errors
/// The variable is not a number, or git(1) finds no commit here.
pub fn epoch() -> Result<u64, String> {
    if let Ok(given) = std::env::var("SOURCE_DATE_EPOCH") {
        return given.trim().parse().map_err(|_| format!("SOURCE_DATE_EPOCH={given} is not a number of seconds"));
    }
    let asked = Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root()).output();
    let asked = asked.map_err(|e| format!("git log: {e}; set SOURCE_DATE_EPOCH"))?;
    let said = String::from_utf8_lossy(&asked.stdout);
    let seconds = said.trim().parse();
    seconds.map_err(|_| format!("git log shows no commit time in {}; set SOURCE_DATE_EPOCH", root().display()))
}

/// Writes the staged tree to `to`, a `.tar.gz` file, in one directory with the name of the file.
///
/// # Errors
/// A file cannot be read or written; the message has its path.
pub fn write(stage: &Path, to: &Path, epoch: u64) -> Result<(), String> {
    let name = to.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".tar.gz"));
    let name = name.ok_or_else(|| format!("{} is not the name of a .tar.gz", to.display()))?;
    let bytes = packed(name, &tree(stage)?, epoch).map_err(|e| format!("{}: {e}", to.display()))?;
    fs::write(to, bytes).map_err(|e| format!("{}: {e}", to.display()))
}

fn tree(stage: &Path) -> Result<Tree, String> {
    let mut tree = Tree::new();
    let mut add = |path: String, mode: u32, from: &Path| -> Result<(), String> {
        let content = fs::read(from).map_err(|e| format!("{}: {e}", from.display()))?;
        tree.insert(path, (mode, content));
        Ok(())
    };
    for program in PROGRAMS.map(cross::program) {
        add(format!("bin/{program}"), 0o755, &stage.join("bin").join(program))?;
    }
    for (staged, path) in SCRIPTS {
        add(path.to_owned(), 0o644, &stage.join("completions").join(staged))?;
    }
    for (folder, below) in [("man", "share/man/man1"), ("units", "lib/systemd/system")] {
        for file in files(&stage.join(folder))? {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            add(format!("{below}/{name}"), 0o644, &file)?;
        }
    }
    for document in DOCUMENTS {
        add(format!("share/doc/punctual/{document}"), 0o644, &root().join(document))?;
    }
    let example = root().join("apps/rotary-dial/examples/rotary-dial.toml");
    add("share/doc/punctual/examples/rotary-dial.toml".to_owned(), 0o644, &example)?;
    for (path, (_, content)) in &mut tree {
        if path.starts_with("lib/systemd/") {
            *content = below_local(content);
        }
    }
    Ok(tree)
}

fn below_local(unit: &[u8]) -> Vec<u8> {
    String::from_utf8_lossy(unit).replace("/usr/bin/", "/usr/local/bin/").into_bytes()
}

fn packed(name: &str, tree: &Tree, epoch: u64) -> std::io::Result<Vec<u8>> {
    // The gzip header gets no name and no time.
    let mut tar = tar::Builder::new(GzBuilder::new().write(Vec::new(), Compression::best()));
    for (path, (mode, content)) in tree {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Regular);
        header.set_size(content.len() as u64);
        header.set_mode(*mode);
        header.set_mtime(epoch);
        header.set_uid(0);
        header.set_gid(0);
        header.set_username("root")?;
        header.set_groupname("root")?;
        tar.append_data(&mut header, format!("{name}/{path}"), content.as_slice())?;
    }
    tar.into_inner()?.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;
    use std::io::Read;

    fn small() -> Tree {
        [("bin/punctual", 0o755, "elf"), ("share/man/man1/punctual.1", 0o644, ".TH")]
            .map(|(path, mode, content)| (path.to_owned(), (mode, content.as_bytes().to_vec())))
            .into()
    }

    #[test]
    fn an_archive_has_every_file_with_its_mode_below_one_folder() {
        let bytes = packed("punctual-1-arm64", &small(), 1_000).unwrap();
        let mut tar = tar::Archive::new(GzDecoder::new(bytes.as_slice()));
        let mut found = Vec::new();
        for entry in tar.entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            let header = entry.header();
            assert_eq!((header.mtime().unwrap(), header.uid().unwrap()), (1_000, 0));
            found.push((entry.path().unwrap().display().to_string(), header.mode().unwrap(), text));
        }
        let expected = [
            ("punctual-1-arm64/bin/punctual".to_owned(), 0o755, "elf".to_owned()),
            ("punctual-1-arm64/share/man/man1/punctual.1".to_owned(), 0o644, ".TH".to_owned()),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn the_same_tree_and_time_give_the_same_bytes_and_another_time_others() {
        let packed = |epoch| packed("p", &small(), epoch).unwrap();
        assert_eq!(packed(5), packed(5));
        assert_ne!(packed(5), packed(6));
    }

    #[test]
    fn a_stage_without_a_program_is_refused_by_the_path_of_what_is_missing() {
        let stage = tempfile::tempdir().unwrap();
        let to = stage.path().join("punctual.tar.gz");
        let why = write(stage.path(), &to, 0).unwrap_err();
        assert!(why.contains("bin/punctual"), "{why}");
        assert!(!to.exists());
    }

    #[test]
    fn units_start_what_is_below_usr_local() {
        assert_eq!(below_local(b"ExecStart=/usr/bin/punctual serve\n"), b"ExecStart=/usr/local/bin/punctual serve\n");
    }
}
