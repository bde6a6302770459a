use crate::Target;
use crate::child::{self, Bounds, Failed};
use crate::error::RemoteError;
use punctual_clean as clean;
use punctual_model::Argv;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// Limits for a command that prints a few lines.
pub(crate) const COMMAND: Bounds = Bounds { bytes: 1 << 20, time: Duration::from_secs(600) };
/// Maximum time of a transfer: 2 GiB at 100 kB/s.
pub(crate) const TRANSFER_TIME: Duration = Duration::from_secs(6 * 3600);
/// Maximum number of error lines shown. They are the last lines, in which ssh and shells state the reason.
const SHOWN: usize = 8;

/// Exit code of ssh if ssh itself fails. No command of this crate exits with this code.
const SSH_FAILED: i32 = 255;

#[derive(Clone, Debug)]
pub struct Link {
    pub target: Target,
    /// Configuration file passed to ssh with `-F`; `None`: the user's ssh_config.
    pub config: Option<PathBuf>,
}

#[derive(Debug)]
pub(crate) enum Said {
    Ended {
        code: i32,
        /// Standard error, as returned by [`shown`].
        complaint: String,
    },
    /// The connection was lost or could not be made. Another attempt may succeed.
    Cut(String),
}

impl Link {
    /// Returns an ssh command that runs `line`. Its options override those of ssh's configuration file.
    fn command(&self, line: &str) -> Command {
        let mut command = Command::new("ssh");
        command.args(self.config.iter().flat_map(|path| ["-F".into(), path.clone().into_os_string()]));
        let options = [
            "BatchMode=yes",
            "StrictHostKeyChecking=yes",
            "ForwardAgent=no",
            "ForwardX11=no",
            "ClearAllForwardings=yes",
            "PermitLocalCommand=no",
            "ConnectTimeout=15",
            "ServerAliveInterval=5",
            "ServerAliveCountMax=3",
        ];
        command.args(options.iter().flat_map(|option| ["-o", option])).arg("-T");
        command.args(self.target.port.iter().flat_map(|port| ["-p".to_owned(), port.to_string()]));
        command.args(self.target.user.iter().flat_map(|user| ["-l", user]));
        command.arg("--").arg(&self.target.host).arg(line);
        command
    }

    /// Runs a shell script in the home directory. Its output is written to `out`.
    pub(crate) fn script(
        &self,
        script: &str,
        input: Option<&mut dyn Read>,
        out: &mut dyn Write,
        bounds: Bounds,
    ) -> Result<Said, RemoteError> {
        let line = Argv::new(["sh", "-c", script]).line();
        let target = &self.target;
        let done = child::run(self.command(&line), input, out, bounds).map_err(|failed| match failed {
            Failed::Start(error) => {
                let what = format!("{error}: apt-get install openssh-client");
                RemoteError::Program { command: "ssh".into(), what }
            }
            Failed::Much(most) => RemoteError::Link(format!(
                "{target} sent more than {} MiB, more than expected: connection closed",
                most >> 20
            )),
            Failed::Long(time) => RemoteError::Link(format!(
                "{target} did not finish within {} min: connection closed",
                time.as_secs() / 60
            )),
            Failed::Pipe(error) => RemoteError::Link(format!("ssh: {error}")),
            Failed::Out(error) => RemoteError::Here { source: error },
        })?;
        let whole = String::from_utf8_lossy(&done.complaint).into_owned();
        let complaint = shown(&whole);
        match done.status.code() {
            Some(SSH_FAILED) | None => match self.hopeless(&whole, &complaint) {
                Some(error) => Err(RemoteError::Link(error)),
                None => Ok(Said::Cut(complaint)),
            },
            Some(code) => Ok(Said::Ended { code, complaint }),
        }
    }

    /// Returns advice if another attempt cannot succeed, with the command that corrects the cause; otherwise `None`.
    /// `whole` is the complete error output, because ssh's message about a changed key is longer than what is shown.
    fn hopeless(&self, whole: &str, complaint: &str) -> Option<String> {
        let (target, host) = (&self.target, &self.target.host);
        let port = target.port.map(|port| format!("-p {port} ")).unwrap_or_default();
        let user = target.user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
        if whole.contains("REMOTE HOST IDENTIFICATION HAS CHANGED") {
            return Some(format!(
                "{target}: its host key has changed: another machine answers, or this one was reinstalled. If the change is expected: ssh-keygen -R {host}, \
                 then ssh {port}{user}{host}"
            ));
        }
        if whole.contains("Host key verification failed") || whole.contains("No matching host key") {
            return Some(format!(
                "{target}: its host key is unknown. Connect once and compare the fingerprint with `ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub` \
                 at the machine: ssh {port}{user}{host}"
            ));
        }
        if whole.contains("Permission denied") {
            return Some(format!(
                "{target}: none of your keys is accepted ({complaint}): ssh-copy-id {port}{user}{host}"
            ));
        }
        let is_wrong = ["Could not resolve hostname", "Bad configuration option", "Can't open user config file"];
        is_wrong.iter().any(|text| whole.contains(text)).then(|| format!("{target}: {complaint}"))
    }

    /// Runs a script that must exit with 0. Returns its output. After a lost connection it is run again.
    pub(crate) fn output(&self, script: &str) -> Result<String, RemoteError> {
        self.output_within(script, COMMAND)
    }

    pub(crate) fn output_within(&self, script: &str, bounds: Bounds) -> Result<String, RemoteError> {
        let mut last = String::new();
        for _ in 0..crate::TRIES {
            let mut out = Vec::new();
            match self.script(script, None, &mut out, bounds)? {
                Said::Ended { code: 0, .. } => return Ok(String::from_utf8_lossy(&out).into_owned()),
                Said::Ended { code, complaint, .. } => {
                    return Err(RemoteError::Link(format!("{}: exit code {code}: {complaint}", self.target)));
                }
                Said::Cut(why) => last = why,
            }
            std::thread::sleep(Duration::from_secs(1));
        }
        Err(self.cut(&last))
    }

    pub(crate) fn cut(&self, why: &str) -> RemoteError {
        let target = &self.target;
        RemoteError::Link(format!("{target} cannot be reached ({why}): run the same command again to resume"))
    }

    /// Returns the output of `uname -m` on the target, whether commands run as root, and whether sudo works without a
    /// password.
    pub fn who(&self) -> Result<(String, bool, bool), RemoteError> {
        let said = self.output("uname -m; id -u; sudo -n true 2> /dev/null && echo sudo || echo none")?;
        let lines: Vec<&str> = said.lines().map(str::trim).collect();
        match lines.as_slice() {
            [machine, user, sudo, ..] => Ok((shown(machine), *user == "0", *sudo == "sudo")),
            _ => Err(RemoteError::Link(format!("{}: `uname -m; id -u` printed `{}`", self.target, shown(&said)))),
        }
    }
}

/// Converts output of the other machine to one line that is safe to display.
pub(crate) fn shown(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    clean::line(&lines.get(lines.len().saturating_sub(SHOWN)..).unwrap_or_default().join(" / "))
}

pub(crate) fn quoted(word: &str) -> String {
    Argv::new([word]).line()
}
