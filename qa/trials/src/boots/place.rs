//! A copy of the guest's disk that behaves like a separate machine: a mount namespace held by one process.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

const SETUP: &str = include_str!("chroot.sh");
/// Size in bytes above which files are compared by inode, size and mtime.
const LARGE: u64 = 1 << 20;

/// A mount namespace with the copy. Dropping it removes both.
pub struct Place {
    holder: Child,
    folder: PathBuf,
}

/// Maps paths to their type and, for files, time and content.
pub type Tree = BTreeMap<String, String>;

impl Place {
    /// Creates the namespace from a disk image, with a program at /tmp/punctual.
    pub fn new(image: &Path, folder: &Path, program: &Path) -> Result<Place, String> {
        let disk = folder.join("disk.img");
        let copy = Command::new("cp").arg("--sparse=always").args([image, &disk]).status();
        copy.map_err(|e| format!("cp: {e}"))?.success().then_some(()).ok_or("the image cannot be copied")?;
        let mut holder = Command::new("setpriv");
        holder.args([
            "--pdeathsig",
            "KILL",
            "--",
            "unshare",
            "-m",
            "--propagation",
            "private",
            "sh",
            "-c",
            SETUP,
            "sh",
        ]);
        holder.args([&disk, folder]).arg(program).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut holder = holder.spawn().map_err(|e| format!("setpriv: {e}"))?;
        let mut said = String::new();
        if let Some(out) = holder.stdout.take() {
            BufReader::new(out).read_line(&mut said).map_err(|e| e.to_string())?;
        }
        let place = Place { holder, folder: folder.to_owned() };
        match said.trim() {
            "ready" => Ok(place),
            _ => Err("no copy of the guest could be mounted: that needs root, loop devices and util-linux".into()),
        }
    }

    pub fn at(&self, path: &str) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.holder.id()));
        let inner = self.folder.join("root");
        root.join(inner.strip_prefix("/").unwrap_or(&inner)).join(path.trim_start_matches('/'))
    }

    /// Returns a command that runs in the namespace. The started process becomes the command after three calls of
    /// exec(2), so killing the process kills the command.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("/usr/bin/nsenter");
        command.args(["-t", &self.holder.id().to_string(), "-m", "/usr/sbin/chroot"]).arg(self.folder.join("root"));
        command.args(words).env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("LC_ALL", "C");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    pub fn output(&self, words: &[&str]) -> Result<Output, String> {
        let mut command = self.command(words);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).output().map_err(|e| format!("{words:?}: {e}"))
    }

    pub fn tree(&self) -> Result<Tree, String> {
        let mut tree = Tree::new();
        for name in ["etc", "boot"] {
            walk(&self.at(name), name, &mut tree).map_err(|e| format!("{name}: {e}"))?;
        }
        Ok(tree)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

fn walk(path: &Path, name: &str, tree: &mut Tree) -> std::io::Result<()> {
    let meta = fs::symlink_metadata(path)?;
    let head = format!("{:o} {}:{}", meta.permissions().mode(), meta.uid(), meta.gid());
    let kind = meta.file_type();
    let rest = if kind.is_file() && meta.len() > LARGE {
        format!("{} {} {}.{}", meta.ino(), meta.len(), meta.ctime(), meta.ctime_nsec())
    } else if kind.is_file() {
        format!("{}.{} {}", meta.mtime(), meta.mtime_nsec(), String::from_utf8_lossy(&fs::read(path)?))
    } else if kind.is_symlink() {
        fs::read_link(path)?.display().to_string()
    } else {
        String::new()
    };
    tree.insert(name.to_owned(), format!("{head} {rest}"));
    if kind.is_dir() {
        for entry in fs::read_dir(path)?.flatten() {
            let inner = format!("{name}/{}", entry.file_name().to_string_lossy());
            walk(&entry.path(), &inner, tree)?;
        }
    }
    Ok(())
}

pub fn difference(before: &Tree, now: &Tree) -> Vec<String> {
    let names: std::collections::BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let differing = names.into_iter().filter(|name| before.get(*name) != now.get(*name));
    let shown = |name: &String| {
        let cut = |tree: &Tree| tree.get(name).map(|text| text.chars().take(90).collect::<String>());
        format!("{name}: {:?} is now {:?}", cut(before), cut(now))
    };
    differing.map(shown).collect()
}

/// Returns the size of a file, bytes; 0 if it is missing.
pub fn length(path: &Path) -> u64 {
    File::open(path).and_then(|file| file.metadata()).map_or(0, |meta| meta.len())
}
