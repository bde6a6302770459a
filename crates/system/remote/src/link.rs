use crate::Target;
use crate::error::RemoteError;
use punctual_model::Argv;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// ssh's own failures; also a command that ended with 255, which ours never do.
const SSH_FAILED: i32 = 255;

#[derive(Clone, Debug)]
pub struct Link {
    pub target: Target,
    /// `-F`: replaces the user's ssh_config.
    pub config: Option<PathBuf>,
}

#[derive(Debug)]
pub(crate) enum Said {
    Ended {
        code: i32,
        out: Vec<u8>,
        complaint: String,
    },
    /// The link was cut, or could not be made; it may recover.
    Cut(String),
}

impl Link {
    /// ssh and its options. Those of the command line override the configuration's.
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

    /// Runs a shell script in the home folder, with input.
    pub(crate) fn script(&self, script: &str, input: Option<&mut dyn Read>) -> Result<Said, RemoteError> {
        let line = Argv::new(["sh", "-c", script]).line();
        let mut command = self.command(&line);
        let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| RemoteError::Program {
            command: "ssh".into(),
            what: format!("{error}: apt-get install openssh-client"),
        })?;
        if let (Some(input), Some(mut pipe)) = (input, child.stdin.take()) {
            // ssh's exit code shows a cut link.
            let _ = std::io::copy(input, &mut pipe).and_then(|_| pipe.flush());
        }
        let done = child.wait_with_output().map_err(|error| RemoteError::Link(format!("ssh: {error}")))?;
        self.told(done)
    }

    fn told(&self, done: Output) -> Result<Said, RemoteError> {
        let complaint = String::from_utf8_lossy(&done.stderr).trim().to_owned();
        match done.status.code() {
            Some(SSH_FAILED) | None => match self.hopeless(&complaint) {
                Some(error) => Err(RemoteError::Link(error)),
                None => Ok(Said::Cut(complaint)),
            },
            Some(code) => Ok(Said::Ended { code, out: done.stdout, complaint }),
        }
    }

    /// Failures that a retry does not fix, with the command to type.
    fn hopeless(&self, complaint: &str) -> Option<String> {
        let (target, host) = (&self.target, &self.target.host);
        let port = target.port.map(|port| format!("-p {port} ")).unwrap_or_default();
        let user = target.user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
        if complaint.contains("REMOTE HOST IDENTIFICATION HAS CHANGED") {
            return Some(format!(
                "{target}: its host key has changed: another machine answers, or it was installed anew. If you know why: ssh-keygen -R {host}, \
                 then ssh {port}{user}{host}"
            ));
        }
        if complaint.contains("Host key verification failed") || complaint.contains("No matching host key") {
            return Some(format!(
                "{target}: its host key is not known. Connect once and compare the fingerprint with `ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub` \
                 at the machine: ssh {port}{user}{host}"
            ));
        }
        if complaint.contains("Permission denied") {
            return Some(format!(
                "{target}: no key of yours is accepted there ({complaint}): ssh-copy-id {port}{user}{host}"
            ));
        }
        let is_wrong = ["Could not resolve hostname", "Bad configuration option", "Can't open user config file"];
        is_wrong.iter().any(|text| complaint.contains(text)).then(|| format!("{target}: {complaint}"))
    }

    /// The output of a script that has to end with 0, retried if the link is cut.
    pub(crate) fn output(&self, script: &str) -> Result<String, RemoteError> {
        let mut last = String::new();
        for _ in 0..crate::TRIES {
            match self.script(script, None)? {
                Said::Ended { code: 0, out, .. } => return Ok(String::from_utf8_lossy(&out).into_owned()),
                Said::Ended { code, complaint, .. } => {
                    return Err(RemoteError::Link(format!("{}: exit code {code}: {complaint}", self.target)));
                }
                Said::Cut(why) => last = why,
            }
            std::thread::sleep(std::time::Duration::from_secs(1));
        }
        Err(self.cut(&last))
    }

    pub(crate) fn cut(&self, why: &str) -> RemoteError {
        let target = &self.target;
        RemoteError::Link(format!(
            "{target} cannot be reached ({why}): the same command again goes on where this one ended"
        ))
    }

    /// `uname -m` there, whether commands run as root, and whether sudo works without a password.
    pub fn who(&self) -> Result<(String, bool, bool), RemoteError> {
        let said = self.output("uname -m; id -u; sudo -n true 2> /dev/null && echo sudo || echo none")?;
        let lines: Vec<&str> = said.lines().map(str::trim).collect();
        match lines.as_slice() {
            [machine, user, sudo, ..] => Ok(((*machine).to_owned(), *user == "0", *sudo == "sudo")),
            _ => Err(RemoteError::Link(format!("{}: `uname -m; id -u` said `{}`", self.target, said.trim()))),
        }
    }
}

pub(crate) fn quoted(word: &str) -> String {
    Argv::new([word]).line()
}
