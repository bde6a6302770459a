//! Controls the guest over ssh: boots, queries, restarts and powers it off.

use super::super::cases::CASES;
use super::super::{Bench, SCRIPT, package};
use crate::guests::tail_of;
use punctual_vm::{Cache, DiskGuest, DiskImage, FileIn, LiveBoot, Step};
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const SERVE: &str = include_str!("serve.sh");
const LOOK: Duration = Duration::from_millis(100);
/// Time limit for a boot, and for a shutdown.
const BOOT: Duration = Duration::from_secs(400);
/// Time limit from the start of sshd to its first response.
const ANSWER: Duration = Duration::from_secs(60);
const DOWN: Duration = Duration::from_secs(90);

pub struct Machine {
    pub folder: PathBuf,
    /// Port of this host that is forwarded to the machine's sshd.
    pub port: u16,
    pub config: PathBuf,
    pub package: PathBuf,
    guest: DiskGuest,
    live: Option<LiveBoot>,
    boots: usize,
}

pub struct Up {
    pub release: String,
    pub is_trial: bool,
    pub seconds: u64,
}

impl Machine {
    pub fn new(bench: &Bench, cache: &Cache, name: &str) -> Result<Machine, String> {
        let folder = bench.folder.join(name);
        fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let folder = folder.canonicalize().map_err(|e| format!("{}: {e}", folder.display()))?;
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|socket| socket.local_addr());
        let port = free.map_err(|e| format!("a free port: {e}"))?.port();
        let packages = DiskImage::more(cache, &["openssh-server"]).map_err(|e| e.to_string())?;
        let mut guest = DiskGuest::new(&bench.image, &folder).map_err(|e| e.to_string())?;
        let net = format!("user,id=n0,restrict=on,hostfwd=tcp:127.0.0.1:{port}-:22");
        let words = ["-netdev", &net, "-device", "virtio-net-pci,netdev=n0,romfile=", "-device", "i6300esb"];
        guest.devices = words.map(str::to_owned).to_vec();
        let (config, keys) = keys(&folder)?;
        let file = |path: &str, mode, content| FileIn { path: path.into(), mode, content };
        guest.tools = vec![bench.program.clone(), file("packages.tar", 0o644, read(&packages)?)];
        guest.tools.push(file("functions", 0o644, SCRIPT.as_bytes().to_vec()));
        guest.tools.extend(keys.into_iter().map(|(name, content)| file(name, 0o600, content)));
        let package = write(&folder, "kernel.tar", &package::kernel(&CASES[0])?)?;
        Ok(Machine { folder, port, config, package, guest, live: None, boots: 0 })
    }

    /// Starts the machine and waits until its sshd responds.
    pub fn boot(&mut self) -> Result<Up, String> {
        let begun = Instant::now();
        let steps = [Step::new(format!("{SCRIPT}\n{SERVE}\n"))];
        self.live = Some(self.guest.start(&steps).map_err(|e| e.to_string())?);
        self.boots += 1;
        let is_up = |machine: &mut Machine| machine.marks().iter().any(|mark| mark == "up");
        self.until(BOOT, "its sshd was not started", is_up)?;
        // Only the first boot needs this file.
        self.guest.tools.retain(|file| file.path != "packages.tar");
        let answers = Instant::now();
        while let Err(why) = self.shell("true") {
            if answers.elapsed() > ANSWER {
                self.keep();
                return Err(format!("its sshd does not respond: {why}"));
            }
            sleep(LOOK);
        }
        let said = self.live.as_ref().map(LiveBoot::said).unwrap_or_default();
        let is_trial = said.command_line.as_ref().is_some_and(|line| line.contains("punctual.trial="));
        Ok(Up { release: said.release.unwrap_or_default(), is_trial, seconds: begun.elapsed().as_secs() })
    }

    fn until(&mut self, limit: Duration, what: &str, is_so: impl Fn(&mut Machine) -> bool) -> Result<(), String> {
        let begun = Instant::now();
        while !is_so(self) {
            let has_ended = self.live.as_mut().map_or(Ok(true), LiveBoot::has_ended).map_err(|e| e.to_string())?;
            if has_ended || begun.elapsed() > limit {
                let console = self.live.as_ref().map(|live| live.said().console()).unwrap_or_default();
                let how = if has_ended { "the machine ended" } else { "too late" };
                return Err(format!("{what} ({how}):{}", tail_of(&console)));
            }
            sleep(LOOK);
        }
        Ok(())
    }

    fn marks(&self) -> Vec<String> {
        self.live.as_ref().map(|live| live.said().marks).unwrap_or_default()
    }

    /// Returns the progress of the deployment, as last reported by the machine.
    pub fn at(&self) -> String {
        let last = self.marks().iter().rev().find_map(|mark| mark.strip_prefix("at ").map(str::to_owned));
        last.unwrap_or_else(|| "nothing".to_owned())
    }

    /// Runs a shell line on the machine, bypassing the relay. Returns its output.
    pub fn shell(&self, line: &str) -> Result<String, String> {
        let port = self.port.to_string();
        let mut ssh = Command::new("ssh");
        ssh.arg("-F").arg(&self.config).args(["-T", "-o", "BatchMode=yes", "-p", &port, "root@127.0.0.1", line]);
        let done = ssh.stdin(Stdio::null()).output().map_err(|e| format!("ssh: {e}"))?;
        let text = String::from_utf8_lossy(&done.stdout).trim().to_owned();
        match done.status.success() {
            true => Ok(text),
            false => Err(format!("`{line}`: {}: {text} {}", done.status, String::from_utf8_lossy(&done.stderr).trim())),
        }
    }

    /// Runs the program on the machine, bypassing link and relay.
    pub fn punctual(&self, words: &str) -> Result<String, String> {
        self.shell(&format!("/run/lab/tools/punctual kernel {words} 2>&1"))
    }

    pub fn cut_power(&mut self) {
        self.keep();
        self.live = None;
    }

    /// Restarts the machine through its own kernel. Returns when the machine is down.
    pub fn restart(&mut self) -> Result<(), String> {
        self.shell("setsid /run/lab/tools/restart > /dev/null 2>&1 < /dev/null &")?;
        let begun = Instant::now();
        while !self.live.as_mut().map_or(Ok(true), LiveBoot::has_ended).map_err(|e| e.to_string())? {
            if begun.elapsed() > DOWN {
                return Err("it does not shut down".to_owned());
            }
            sleep(LOOK);
        }
        self.cut_power();
        Ok(())
    }

    fn keep(&self) {
        let text = self.live.as_ref().map(|live| live.said().console()).unwrap_or_default();
        let _ = fs::write(self.folder.join(format!("boot-{:03}.console", self.boots)), text);
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.keep();
    }
}

type Files = [(&'static str, Vec<u8>); 2];

/// Creates ssh keys for this trial, and an ssh configuration that uses them.
fn keys(folder: &Path) -> Result<(PathBuf, Files), String> {
    for name in ["host", "user"] {
        let path = folder.join(name);
        let _ = fs::remove_file(&path);
        let mut keygen = Command::new("ssh-keygen");
        keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&path).stdin(Stdio::null());
        let done = keygen.status().map_err(|e| format!("ssh-keygen: {e}: apt-get install openssh-client"))?;
        if !done.success() {
            return Err(format!("ssh-keygen -f {}: {done}", path.display()));
        }
    }
    let known = [b"guest ", read(&folder.join("host.pub"))?.as_slice()].concat();
    let known = write(folder, "known_hosts", &known)?;
    let config = format!(
        "IdentityFile {}\nIdentitiesOnly yes\nUserKnownHostsFile {}\nHostKeyAlias guest\nConnectTimeout 20\nServerAliveInterval 15\nUser root\n",
        folder.join("user").display(),
        known.display()
    );
    let config = write(folder, "config", config.as_bytes())?;
    Ok((config, [("host", read(&folder.join("host"))?), ("user.pub", read(&folder.join("user.pub"))?)]))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn write(folder: &Path, name: &str, content: &[u8]) -> Result<PathBuf, String> {
    let path = folder.join(name);
    fs::write(&path, content).map_err(|e| format!("{}: {e}", path.display())).map(|()| path)
}
