//! Unpacks Debian's rustc and the standard library of another architecture into a cache directory. Nothing is
//! installed.
//! apt fetches the packages and checks signatures, with a root directory of its own in which the foreign architecture
//! is configured. Its sources are the Debian archives that the machine already uses. There is one root directory per
//! target, because apt discards a whole archive if the index of one architecture is out of date, which must not affect
//! the other targets.

use super::{Target, has_std, succeed};
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Debian's names for the compiler, and for the newer one that stable releases have for building browsers.
const COMPILERS: [&str; 2] = ["rustc", "rustc-web"];
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// The archive and its suite, in the form of an apt source. apt inserts the values.
const SOURCE: &str = "$(REPO_URI) $(RELEASE) $(COMPONENT)";

pub struct Toolchain {
    pub root: PathBuf,
}

impl Toolchain {
    pub fn rustc(&self) -> PathBuf {
        self.root.join("usr/bin/rustc")
    }

    /// Returns the path of rustdoc of the same version, which runs the examples in the documentation.
    pub fn rustdoc(&self) -> PathBuf {
        self.root.join("usr/bin/rustdoc")
    }

    /// Returns the value of LD_LIBRARY_PATH for the tools: Debian keeps the libraries of an architecture in a directory
    /// named after it.
    pub fn libraries(&self) -> String {
        let lib = self.root.join("usr/lib");
        let folders = fs::read_dir(&lib).into_iter().flatten().flatten().map(|f| f.path());
        let native = folders.filter(|f| f.to_string_lossy().ends_with(&format!("{}-linux-gnu", env::consts::ARCH)));
        let all: Vec<String> = native.chain([lib.clone()]).map(|f| f.display().to_string()).collect();
        all.join(":")
    }

    fn command(&self) -> Command {
        let mut rustc = Command::new(self.rustc());
        rustc.env("LD_LIBRARY_PATH", self.libraries());
        rustc
    }

    /// Returns `true` if the toolchain is new enough, runs on this machine, and has the target.
    fn is_usable(&self, target: &Target) -> bool {
        let said = self.command().arg("--version").output().ok().filter(|o| o.status.success());
        let version = said.and_then(|o| minor(String::from_utf8_lossy(&o.stdout).trim_start_matches("rustc ")));
        version >= minor(env!("CARGO_PKG_RUST_VERSION")) && has_std(self.command(), target)
    }
}

/// Returns the toolchain in the cache, or fetches it.
pub fn toolchain(target: &Target) -> Result<Toolchain, String> {
    let home = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|p| p.is_absolute());
    let cache = home.or_else(|| env::var_os("HOME").map(|h| PathBuf::from(h).join(".cache")));
    let here = cache.ok_or("HOME is not set")?.join("punctual/cross").join(target.debian);
    let found = Toolchain { root: here.join("root") };
    if found.is_usable(target) {
        return Ok(found);
    }
    fetch(&here, target).map_err(|why| format!("{why}\nor, with rustup: rustup target add {}", target.triple))?;
    if found.is_usable(target) {
        return Ok(found);
    }
    let said = found.command().arg("--version").output().map_err(|e| format!("{}: {e}", found.rustc().display()))?;
    Err(format!("cannot use {}: {}", found.rustc().display(), String::from_utf8_lossy(&said.stderr).trim()))
}

/// Fetches the toolchain into a new directory, which replaces the old one when it is complete.
fn fetch(here: &Path, target: &Target) -> Result<(), String> {
    let apt = Apt::new(here, target)?;
    succeed(apt.get().args(["-qq", "-o", "APT::Update::Error-Mode=any", "update"]), "apt-get update")?;
    let packages = apt.choose(target)?;
    println!("{}: fetching {}", target.name, packages.join(" "));
    succeed(apt.get().args(["-qq", "download"]).args(&packages).current_dir(&apt.archives), "apt-get download")?;
    let new = here.join("new");
    fresh(&new)?;
    for file in fs::read_dir(&apt.archives).map_err(|e| format!("{}: {e}", apt.archives.display()))?.flatten() {
        if file.path().extension().is_some_and(|e| e == "deb") {
            succeed(Command::new("dpkg-deb").arg("-x").arg(file.path()).arg(&new), "dpkg-deb -x")?;
        }
    }
    let root = here.join("root");
    remove(&root)?;
    fs::rename(&new, &root).map_err(|e| format!("{}: {e}", root.display()))?;
    remove(&apt.folder)
}

/// An apt that keeps its lists and packages in a private directory.
struct Apt {
    folder: PathBuf,
    archives: PathBuf,
    config: PathBuf,
    /// The machine's architecture, as Debian names it.
    native: String,
}

impl Apt {
    fn new(here: &Path, target: &Target) -> Result<Self, String> {
        let native = output(Command::new("dpkg").arg("--print-architecture"))?.trim().to_owned();
        let folder = here.join("apt");
        fresh(&folder)?;
        let archives = folder.join("archives");
        for made in [folder.join("lists/partial"), archives.join("partial")] {
            fs::create_dir_all(&made).map_err(|e| format!("{}: {e}", made.display()))?;
        }
        let apt = Self { config: folder.join("apt.conf"), folder, archives, native };
        write(&apt.folder.join("sources.list"), &sources()?)?;
        write(&apt.config, &apt.configuration(target)?)?;
        Ok(apt)
    }

    /// Returns the contents of an apt.conf(5) that is read after the machine's own and removes its hooks, which would
    /// change its cache.
    fn configuration(&self, target: &Target) -> Result<String, String> {
        let folder = self
            .folder
            .to_str()
            .filter(|f| !f.contains(['"', '\n', ';']))
            .ok_or("the path of the cache directory contains characters that apt does not accept")?;
        Ok(format!(
            "#clear APT::Update::Pre-Invoke;\n#clear APT::Update::Post-Invoke;\n\
             #clear APT::Update::Post-Invoke-Success;\n#clear DPkg::Post-Invoke;\n#clear APT::Architectures;\n\
             APT::Architectures {{ \"{}\"; \"{}\"; }};\nDir::State::lists \"{folder}/lists\";\n\
             Dir::Cache \"{folder}\";\nDir::Cache::archives \"archives\";\nDir::Cache::pkgcache \"\";\n\
             Dir::Cache::srcpkgcache \"\";\nDir::Etc::sourcelist \"{folder}/sources.list\";\n\
             Dir::Etc::sourceparts \"-\";\nAPT::Sandbox::User \"\";\n",
            self.native, target.debian
        ))
    }

    fn get(&self) -> Command {
        let mut get = Command::new("apt-get");
        get.arg("-c").arg(&self.config);
        get
    }

    /// Returns the records that `apt-cache show` prints, one per version, the candidate first.
    fn show(&self, package: &str) -> Vec<BTreeMap<String, String>> {
        let mut cache = Command::new("apt-cache");
        output(cache.arg("-c").arg(&self.config).args(["show", package])).map_or(Vec::new(), |text| records(&text))
    }

    /// Returns the newest usable compiler, those of its dependencies that this machine lacks, and the target's standard
    /// library.
    fn choose(&self, target: &Target) -> Result<Vec<String>, String> {
        let least = env!("CARGO_PKG_RUST_VERSION");
        let found = COMPILERS.iter().flat_map(|name| self.show(name));
        let versions = found.filter_map(|r| Some((minor(r.get("Version")?)?, r)));
        let newest = versions.max_by_key(|(version, _)| *version).filter(|(v, _)| Some(*v) >= minor(least));
        let (_, compiler) = newest.ok_or(format!("the machine's Debian archives have no rustc {least} or newer"))?;
        let mut chosen = BTreeMap::new();
        let mut seen = BTreeSet::new();
        let mut open = vec![compiler];
        while let Some(record) = open.pop() {
            let (Some(name), Some(version)) = (record.get("Package"), record.get("Version")) else { continue };
            chosen.insert(name.clone(), version.clone());
            for (name, exact) in depends(record.get("Depends").map_or("", String::as_str)) {
                if seen.insert(name.clone()) && is_wanted(&name) {
                    let asked =
                        exact.map_or(format!("{name}:{}", self.native), |v| format!("{name}:{}={v}", self.native));
                    open.extend(self.show(&asked).into_iter().next());
                }
            }
        }
        let foreign = chosen.iter().find(|(name, _)| name.starts_with("libstd-rust") && name.ends_with("-dev"));
        let foreign = foreign.map(|(name, version)| format!("{name}:{}={version}", target.debian));
        let foreign = foreign.ok_or("this rustc does not depend on a standard library package")?;
        let native = chosen.iter().map(|(name, version)| format!("{name}:{}={version}", self.native));
        Ok(native.chain([foreign]).collect())
    }
}

/// Returns true if the package must be fetched: always for the compiler's own libraries, for others only if the machine
/// lacks them. The linker comes with the cross compiler.
fn is_wanted(name: &str) -> bool {
    let own = name.starts_with("libstd-rust") || name.starts_with("libllvm");
    own || (name.starts_with("lib") && name != "libc-dev" && !is_installed(name))
}

fn is_installed(name: &str) -> bool {
    let asked = output(Command::new("dpkg-query").args(["-W", "-f=${db:Status-Status} ", name]));
    asked.is_ok_and(|said| said.split_whitespace().any(|word| word == "installed"))
}

fn sources() -> Result<String, String> {
    let mut asked = Command::new("apt-get");
    asked.args(["indextargets", "--format", SOURCE, "Created-By: Packages", "Origin: Debian"]);
    let lines: BTreeSet<String> = output(&mut asked)?.lines().map(str::to_owned).collect();
    if lines.is_empty() {
        return Err("apt has no Debian archive here: run apt-get update, on Debian".to_owned());
    }
    // If the key is not in Debian's usual place, apt looks in its default places.
    let key = if Path::new(KEYRING).exists() { format!("[signed-by={KEYRING}] ") } else { String::new() };
    Ok(lines.iter().map(|line| format!("deb {key}{line}\n")).collect())
}

/// Parses records of `Field: value` lines (deb-control(5)). Continuation lines are not needed here.
fn records(text: &str) -> Vec<BTreeMap<String, String>> {
    let fields =
        |r: &str| r.lines().filter_map(|l| l.split_once(": ")).map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
    text.split("\n\n").filter(|r| !r.trim().is_empty()).map(fields).collect()
}

/// Returns the names in a Depends field, the first of alternatives, with the version if it is exact.
fn depends(field: &str) -> Vec<(String, Option<String>)> {
    let one = |part: &str| {
        let first = part.split('|').next().unwrap_or_default().trim();
        let (name, rest) = first.split_once(' ').unwrap_or((first, ""));
        let exact = rest.trim().strip_prefix("(= ").and_then(|v| v.strip_suffix(')'));
        (name.split(':').next().unwrap_or_default().to_owned(), exact.map(str::to_owned))
    };
    field.split(',').map(one).filter(|(name, _)| !name.is_empty()).collect()
}

/// Returns the major and minor version, 1 and 96 for `1.96.0+dfsg1-1~deb12u2`.
fn minor(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let done = command.output().map_err(|e| format!("{name}: {e} (needs Debian)"))?;
    if !done.status.success() {
        return Err(format!("{name} failed: {}", String::from_utf8_lossy(&done.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}

fn fresh(folder: &Path) -> Result<(), String> {
    remove(folder)?;
    fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))
}

fn remove(folder: &Path) -> Result<(), String> {
    match fs::remove_dir_all(folder) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(format!("{}: {e}", folder.display())),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_debian_and_of_cargo_compare() {
        assert_eq!(minor("1.96.0+dfsg1-1~deb12u2"), Some((1, 96)));
        assert_eq!(minor("1.95"), Some((1, 95)));
        assert_eq!(minor("1.96.0 (ac68faa20 2026-05-25)"), Some((1, 96)));
        assert!(minor("1.100.0") > minor("1.95"));
        assert_eq!(minor("x"), None);
        assert!(minor("") < minor("1.95"));
    }

    #[test]
    fn dependencies_keep_exact_versions_and_first_alternatives() {
        let found = depends("libc6 (>= 2.34), libstd-rust-web-dev (= 1.96.0+dfsg1-1), gcc:any | clang");
        let names: Vec<&str> = found.iter().map(|(n, _)| n.as_str()).collect();
        assert_eq!(names, ["libc6", "libstd-rust-web-dev", "gcc"]);
        let exact: Vec<Option<&str>> = found.iter().map(|(_, v)| v.as_deref()).collect();
        assert_eq!(exact, [None, Some("1.96.0+dfsg1-1"), None]);
        assert!(depends("").is_empty());
    }

    #[test]
    fn records_are_split_at_empty_lines() {
        let found = records("Package: a\nVersion: 1:2\nDescription: x\n long\n\nPackage: a\nVersion: 1\n\n");
        let versions: Vec<&str> = found.iter().map(|r| r["Version"].as_str()).collect();
        assert_eq!(versions, ["1:2", "1"]);
    }
}
