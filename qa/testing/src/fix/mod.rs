//! A recorded machine as a folder, with a simulated kernel that reacts to writes as Linux does.

pub mod loaders;

use punctual_audit::{Context, Offers, Profile, Rules};
use punctual_fix::{
    Asked, Attributes, FixOptions, Fixed, Form, Journal, JournalError, Kind, Lock, Plan, Ran, Real, Request, System,
};
use punctual_machine::{Live, Read, Recorded};
use punctual_model::{Argv, State};
use punctual_units::{CpuList, Priority, Scheduling};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Path of the journal in the folder.
pub const JOURNAL: &str = "/var/lib/punctual/changes";

pub struct Kernel {
    pub root: PathBuf,
    pub real: Real,
    pub boot: RefCell<String>,
    pub now_s: Cell<u64>,
    /// Systemd units, and whether each is enabled and active.
    pub units: RefCell<BTreeMap<String, (bool, bool)>>,
    /// Files to which every write fails with this errno.
    pub refusing: RefCell<BTreeMap<PathBuf, i32>>,
    /// True if every command is to be interrupted halfway.
    pub cuts: Cell<bool>,
    /// True if grub-mkconfig finds no kernel to boot; it nevertheless exits with 0.
    pub finds_none: Cell<bool>,
    /// True if grub-script-check rejects every menu.
    pub is_wrong: Cell<bool>,
    /// The stored value of soft_watchdog, if the lockup detectors behave as before Linux 6.5; otherwise `None`.
    pub detectors: Option<Cell<bool>>,
    /// Programs that are not installed.
    pub missing: RefCell<BTreeSet<String>>,
    /// Number of reads of the boot ID that are still to fail.
    pub bootless: Cell<u32>,
}

pub fn rules() -> &'static Rules {
    Rules::embedded()
}

impl Kernel {
    pub fn under(root: &Path) -> Kernel {
        Kernel {
            root: root.to_owned(),
            real: Real::under(root),
            boot: RefCell::new("boot-1".into()),
            now_s: Cell::new(1000),
            units: RefCell::default(),
            refusing: RefCell::default(),
            cuts: Cell::new(false),
            finds_none: Cell::new(false),
            is_wrong: Cell::new(false),
            detectors: None,
            missing: RefCell::default(),
            bootless: Cell::new(0),
        }
    }

    fn text(&self, path: &Path) -> io::Result<String> {
        Ok(String::from_utf8_lossy(&self.real.read(path)?).into_owned())
    }

    fn stat(&self, tid: u32) -> io::Result<(PathBuf, Vec<String>)> {
        let path = PathBuf::from(format!("/proc/{tid}/task/{tid}/stat"));
        let text = self.text(&path)?;
        Ok((path, text.split(' ').map(str::to_owned).collect()))
    }
}

const SOFT: &str = "/proc/sys/kernel/soft_watchdog";
const ALL: &str = "/proc/sys/kernel/watchdog";

impl System for Kernel {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        if let Some(request) = &self.detectors
            && path == Path::new(SOFT)
            && self.text(Path::new(ALL))?.trim() == "0"
        {
            request.set(false);
        }
        self.real.read(path)
    }

    fn write_value(&self, path: &Path, value: &[u8]) -> io::Result<()> {
        if let Some(errno) = self.refusing.borrow().get(path) {
            return Err(io::Error::from_raw_os_error(*errno));
        }
        let now = self.text(path)?;
        let value = String::from_utf8_lossy(value).into_owned();
        if let Some(request) = &self.detectors {
            let on = value.trim() == "1";
            match path.to_str() {
                Some(ALL) => {
                    self.real.write_value(Path::new(SOFT), if on && request.get() { b"1\n" } else { b"0\n" })?
                }
                Some(SOFT) => {
                    request.set(on);
                    let all = self.text(Path::new(ALL))?.trim() == "1";
                    return self.real.write_value(path, if on && all { b"1\n" } else { b"0\n" });
                }
                _ => {}
            }
        }
        let wanted = value.trim();
        let new = match Form::of(&path.to_string_lossy(), &now) {
            Form::Marked => {
                let bare: Vec<&str> = now.split_whitespace().map(|w| w.trim_matches(['[', ']', '(', ')'])).collect();
                if !bare.contains(&wanted) {
                    return Err(io::Error::from_raw_os_error(22));
                }
                let (open, close) = if now.contains('[') { ('[', ']') } else { ('(', ')') };
                let mark = |w: &&str| if *w == wanted { format!("{open}{w}{close}") } else { (*w).to_owned() };
                let end = &now[now.trim_end().len()..];
                bare.iter().map(mark).collect::<Vec<_>>().join(" ") + end
            }
            Form::Toggle => now.replace(&Form::Toggle.value(&now, wanted), wanted),
            Form::First if wanted.split_whitespace().count() == 1 => {
                let first = now.split_whitespace().next().unwrap_or_default();
                now.replacen(first, wanted, 1)
            }
            _ => value.clone(),
        };
        self.real.write_value(path, new.as_bytes())
    }

    fn scheduling(&self, tid: u32) -> io::Result<(Scheduling, bool)> {
        let (_, fields) = self.stat(tid)?;
        let priority = fields[39].parse::<u8>().unwrap_or(0);
        let real_time = || Priority::try_from(priority).map_err(io::Error::other);
        let scheduling = match fields[40].as_str() {
            "1" => Scheduling::Fifo { priority: real_time()? },
            "2" => Scheduling::Rr { priority: real_time()? },
            _ => Scheduling::Other { nice: 0 },
        };
        Ok((scheduling, false))
    }

    fn set_scheduling(&self, tid: u32, wanted: Scheduling, _: bool) -> io::Result<()> {
        let (path, mut fields) = self.stat(tid)?;
        let (policy, priority) = match wanted {
            Scheduling::Fifo { priority } => ("1", priority.get()),
            Scheduling::Rr { priority } => ("2", priority.get()),
            _ => ("0", 0),
        };
        fields[39] = priority.to_string();
        fields[40] = policy.to_owned();
        self.real.write_value(&path, fields.join(" ").as_bytes())
    }

    fn affinity(&self, _: u32) -> io::Result<CpuList> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn set_affinity(&self, _: u32, _: &CpuList) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn run(&self, argv: &Argv) -> io::Result<Ran> {
        let words: Vec<&str> = argv.0.iter().map(String::as_str).collect();
        if self.missing.borrow().contains(words[0]) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let mut units = self.units.borrow_mut();
        let done = |output: &str| Ok(Ran { code: Some(0), output: output.to_owned(), complaint: String::new() });
        let ["systemctl", verb, unit] = words.as_slice() else {
            if self.cuts.get() {
                loaders::run_half(&self.root, &words);
                return Ok(Ran { code: None, output: String::new(), complaint: String::new() });
            }
            if self.is_wrong.get() && words.first() == Some(&"grub-script-check") {
                return Ok(Ran { code: Some(1), output: String::new(), complaint: "error: line: 3".to_owned() });
            }
            loaders::run(&self.root, &words);
            if let (true, ["grub-mkconfig", "-o", path]) = (self.finds_none.get(), words.as_slice()) {
                std::fs::write(self.root.join(path.trim_start_matches('/')), "set timeout=5\n")?;
            }
            return done("");
        };
        let (enabled, active) = units.entry((*unit).to_owned()).or_insert((true, true));
        match *verb {
            "is-enabled" => return done(if *enabled { "enabled" } else { "disabled" }),
            "is-active" => return done(if *active { "active" } else { "inactive" }),
            "stop" => *active = false,
            "start" => *active = true,
            "disable" | "mask" => *enabled = false,
            "enable" | "unmask" => *enabled = true,
            _ => {}
        }
        done("")
    }

    fn boot_id(&self) -> io::Result<String> {
        let left = self.bootless.get();
        self.bootless.set(left.saturating_sub(1));
        if left > 0 { Err(io::Error::from_raw_os_error(5)) } else { Ok(self.boot.borrow().clone()) }
    }

    fn lacks(&self, program: &str) -> bool {
        self.missing.borrow().contains(program)
    }

    fn boottime_s(&self) -> u64 {
        self.now_s.get()
    }

    fn wait(&self, seconds: u64) {
        self.now_s.set(self.now_s.get() + seconds);
    }

    fn look(&self, path: &Path) -> io::Result<(Kind, Attributes)> {
        self.real.look(path)
    }
    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        self.real.list(folder)
    }
    fn create(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        self.real.create(path, content)
    }
    fn set_attributes(&self, path: &Path, attributes: &Attributes) -> io::Result<()> {
        self.real.set_attributes(path, attributes)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.real.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.real.remove(path)
    }
    fn make_folder(&self, path: &Path, mode: u32) -> io::Result<()> {
        self.real.make_folder(path, mode)
    }
    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        self.real.remove_folder(path)
    }
    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.real.sync_folder(path)
    }
    fn append(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        self.real.append(path, content)
    }
    fn cut(&self, path: &Path, length: u64) -> io::Result<()> {
        self.real.cut(path, length)
    }
    fn lock(&self, folder: &Path, wait: bool) -> io::Result<Lock> {
        self.real.lock(folder, wait)
    }
    fn user(&self) -> u32 {
        self.real.user()
    }
}

/// Copies the machine's files into a folder.
pub fn materialise(machine: &Path) -> tempfile::TempDir {
    // In memory if possible, because thousands of syncs take minutes on a disk.
    let root = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    std::fs::set_permissions(root.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let recorded = Recorded::open(machine).unwrap();
    for (path, read) in recorded.entries() {
        let at = root.path().join(path.trim_start_matches('/'));
        let Read::Known(bytes) = read else { continue };
        make_folders(at.parent().unwrap()).unwrap();
        // One recording may have a file where another has a folder.
        if !at.is_dir() {
            std::fs::write(&at, bytes).unwrap();
        }
    }
    for folder in ["etc/sysctl.d", "etc/tmpfiles.d", "var/lib"] {
        make_folders(root.path().join(folder)).unwrap();
    }
    root
}

/// Returns every path with its type and mode, owner and content, except the paths of the journal.
pub fn tree(root: &Path) -> BTreeMap<PathBuf, (u32, u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().flatten() {
            let path = entry.path();
            let meta = std::fs::symlink_metadata(&path).unwrap();
            if path == root.join("var/lib/punctual") {
                continue;
            }
            let content = if meta.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
            if meta.is_dir() {
                open.push(path.clone());
            }
            found.insert(path, (meta.mode(), meta.uid(), content));
        }
    }
    found
}

pub fn difference(before: &BTreeMap<PathBuf, (u32, u32, Vec<u8>)>, root: &Path) -> Vec<String> {
    let after = tree(root);
    let shown = |entry: Option<&(u32, u32, Vec<u8>)>| {
        entry.map(|(mode, uid, content)| (format!("{mode:o}"), *uid, String::from_utf8_lossy(content).into_owned()))
    };
    let paths: std::collections::BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let differing = paths.into_iter().filter(|path| before.get(*path) != after.get(*path));
    differing
        .map(|path| format!("{}: {:?} -> {:?}", path.display(), shown(before.get(path)), shown(after.get(path))))
        .collect()
}

pub fn context(root: &Path, profile: Profile) -> Context {
    let online = std::fs::read_to_string(root.join("sys/devices/system/cpu/online")).unwrap_or_default();
    let isolated = std::fs::read_to_string(root.join("sys/devices/system/cpu/isolated")).unwrap_or_default();
    let list = |text: &str| text.parse::<CpuList>().unwrap_or_default();
    let cpus = if list(&isolated).is_empty() { list(&online) } else { list(&isolated) };
    Context { scheduling: Scheduling::Fifo { priority: Priority::try_from(80).unwrap() }, cpus, profile }
}

pub fn plan(rules: &Rules, root: &Path, sys: &dyn System, ids: &[String], persist: bool, profile: Profile) -> Plan {
    let machine = Live::under(root);
    let context = context(root, profile);
    let findings = rules.audit(&machine, &context);
    let request =
        Request { rules, machine: &machine, sys, context: &context, pid: None, ids, persist, i_know: &[], boot: None };
    request.plan(&findings).unwrap()
}

pub fn fix(
    rules: &Rules,
    root: &Path,
    sys: &dyn System,
    plan: &Plan,
    options: &FixOptions,
) -> Result<Fixed, JournalError> {
    let machine = Live::under(root);
    let context = context(root, Profile::ControlLoop);
    let judge = |id: &str| -> Option<(State, String)> {
        rules.audit_one(id, &machine, &context, Offers::default()).map(|finding| (finding.state, finding.summary))
    };
    let mut journal = Journal::open(sys, Path::new(JOURNAL))?;
    punctual_fix::fix(&mut journal, plan, options, &Asked { judge: &judge, guard: &|_| Ok(()) })
}

/// Like fs::create_dir_all, but no other user may write to the folders, whatever the umask: the journal refuses folders
/// that other users may write to.
pub fn make_folders(path: impl AsRef<Path>) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(0o755).create(path)
}
