//! An sshd that the calling user runs on a high port with its own keys, and a proxy that cuts its connections.

use punctual_remote::{Link, Target};
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

const PROGRAM: &str = "/usr/sbin/sshd";

pub struct Sshd {
    folder: TempDir,
    child: Child,
    pub port: u16,
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Sshd {
    pub fn start() -> Result<Sshd, String> {
        if !Path::new(PROGRAM).is_file() {
            return Err("sshd was not found".into());
        }
        // sshd requires it, even without privilege separation.
        let _ = fs::create_dir_all("/run/sshd");
        let folder = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let at = |name: &str| folder.path().join(name).display().to_string();
        for name in ["host", "user"] {
            make_key(folder.path(), name);
        }
        fs::copy(at("user.pub"), at("authorized_keys")).unwrap();
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\nPidFile none\n\
             PasswordAuthentication no\nPermitRootLogin yes\nMaxStartups 100\n",
            at("host"),
            at("authorized_keys")
        );
        fs::write(at("sshd_config"), config).unwrap();
        let host = fs::read_to_string(at("host.pub")).unwrap();
        fs::write(at("known_hosts"), format!("[127.0.0.1]:{port} {host}")).unwrap();
        let mut command = Command::new(PROGRAM);
        command.args(["-D", "-e", "-f", &at("sshd_config")]).stdin(Stdio::null()).stdout(Stdio::null());
        let log = fs::File::create(at("log")).unwrap();
        let child = command.stderr(log).spawn().map_err(|e| e.to_string())?;
        let sshd = Sshd { folder, child, port };
        for _ in 0..100 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Ok(sshd);
            }
            thread::sleep(Duration::from_millis(50));
        }
        Err(format!("sshd does not answer: {}", fs::read_to_string(at_log(&sshd)).unwrap_or_default()))
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the home folder of the calling user, who logs in.
    pub fn home(&self) -> PathBuf {
        PathBuf::from(std::env::var_os("HOME").unwrap())
    }

    pub fn make_key(&self, name: &str) {
        make_key(self.folder(), name);
    }

    pub fn link(&self) -> Link {
        self.link_by(self.port)
    }

    fn link_by(&self, port: u16) -> Link {
        let at = |name: &str| self.folder().join(name).display().to_string();
        let text = format!(
            "IdentityFile {}\nIdentitiesOnly yes\nUserKnownHostsFile {}\nGlobalKnownHostsFile none\nHostKeyAlias [127.0.0.1]:{}\n",
            at("user"),
            at("known_hosts"),
            self.port
        );
        let config = self.folder().join(format!("config-{port}"));
        fs::write(&config, text).unwrap();
        Link { target: Target { host: "127.0.0.1".into(), user: None, port: Some(port) }, config: Some(config) }
    }

    /// Returns a link whose first connections are cut, each after a different number of bytes up to `most`, and the
    /// number of cuts so far.
    pub fn cutting(&self, times: u32, most: u64) -> (Link, Arc<AtomicU32>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (to, cuts) = (self.port, Arc::new(AtomicU32::new(0)));
        let counted = Arc::clone(&cuts);
        thread::spawn(move || {
            let mut random = 0x9e37_79b9_u64;
            for client in listener.incoming().flatten() {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                // Cuts every second connection; the others are queries in between.
                let limit =
                    (counted.load(SeqCst) < times && (random >> 60).is_multiple_of(2)).then_some((random >> 20) % most);
                let server = TcpStream::connect(("127.0.0.1", to)).unwrap();
                let counted = Arc::clone(&counted);
                thread::spawn(move || relay(&client, &server, limit, &counted));
            }
        });
        (self.link_by(port), cuts)
    }
}

fn at_log(sshd: &Sshd) -> PathBuf {
    sshd.folder().join("log")
}

fn make_key(folder: &Path, name: &str) {
    let mut command = Command::new("ssh-keygen");
    command.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(folder.join(name)).stdin(Stdio::null());
    assert!(command.status().unwrap().success());
}

fn relay(client: &TcpStream, server: &TcpStream, limit: Option<u64>, cuts: &AtomicU32) {
    let (back_from, back_to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    thread::spawn(move || pump(&back_from, &back_to, None));
    if pump(client, server, limit) {
        cuts.fetch_add(1, SeqCst);
    }
}

/// Copies until one side ends, or until `limit` bytes have passed. Returns true if it cut the connection.
fn pump(mut from: &TcpStream, mut to: &TcpStream, limit: Option<u64>) -> bool {
    let (mut part, mut passed) = ([0; 16 << 10], 0);
    let is_cut = loop {
        let length = match from.read(&mut part) {
            Ok(0) | Err(_) => break false,
            Ok(length) => length,
        };
        if to.write_all(&part[..length]).is_err() {
            break false;
        }
        passed += length as u64;
        if limit.is_some_and(|limit| passed >= limit) {
            break true;
        }
    };
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    is_cut
}
