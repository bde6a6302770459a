//! A command on the target that continues if the connection is lost.

use crate::FOLDER;
use crate::child::Bounds;
use crate::error::RemoteError;
use crate::link::{COMMAND, Link, Said, quoted};
use punctual_model::Argv;
use std::time::{Duration, Instant};

const TURN: Duration = Duration::from_secs(1);
/// Maximum size of a job's output, bytes; enough for a JSON document about hundreds of CPUs.
const DOCUMENT: u64 = 4 << 20;

#[derive(Clone, Debug)]
pub struct Job {
    /// Path of the job's directory on the target, relative to the home directory.
    pub folder: String,
}

/// Result of a job as reported by the target. It is untrusted and must be escaped before it is displayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    pub code: i32,
    pub out: String,
    pub complaint: String,
}

impl Job {
    /// Creates a job. `name` must be unique on the target.
    pub fn new(name: &str) -> Job {
        Job { folder: format!("{FOLDER}/jobs/{name}") }
    }

    /// Starts a command in a session of its own. `{job}` in its words is replaced by the absolute path of the job's
    /// directory on the target. When it has ended, a subdirectory `run` is packed for [`crate::fetch()`]. A job that
    /// was already started is not started again.
    pub fn start(&self, link: &Link, argv: &Argv, as_root: bool) -> Result<(), RemoteError> {
        let words: Vec<String> = argv.0.iter().map(|word| self.word(word)).collect();
        let sudo = if as_root { "sudo -n -- " } else { "" };
        let run = format!(
            "mkdir lock 2> /dev/null || exit 0\necho $$ > pid\n{sudo}{} > out 2> err < /dev/null\ncode=$?\n\
             if [ -d run ]; then {sudo}tar -cf - run > run.tar && sha256sum < run.tar > sum.new && mv sum.new sum; fi\n\
             echo $code > code.new; sync; mv code.new code\n",
            words.join(" ")
        );
        let folder = quoted(&self.folder);
        let script = format!(
            "umask 077; mkdir -p {folder} && cd {folder} && printf %s {} > script && {{ setsid sh ./script > /dev/null 2>&1 < /dev/null & }}; \
             i=0; while [ ! -e pid ] && [ $i -lt 50 ]; do sleep 0.1; i=$((i + 1)); done; [ -e pid ]",
            quoted(&run)
        );
        link.output(&script).map(drop)
    }

    /// Quotes a word for the remote shell. Only that shell knows the home directory.
    fn word(&self, word: &str) -> String {
        match word.split_once("{job}") {
            Some((before, after)) => format!("{}\"$PWD\"{}", plain(before), plain(after)),
            None => match word.strip_prefix("{home}/") {
                Some(rest) => format!("\"$HOME\"/{}", quoted(rest)),
                None => quoted(word),
            },
        }
    }

    /// Waits until the job has ended, even if the connection is lost in the meantime, but at most until `patience` has
    /// passed since the last answer.
    ///
    /// # Errors
    /// No answer arrived for that long, or the job ended without an exit code because the machine was restarted.
    pub fn wait(&self, link: &Link, patience: Duration) -> Result<Ended, RemoteError> {
        let folder = quoted(&self.folder);
        let script = format!(
            "cd {folder} && if [ -e code ]; then cat code; elif kill -0 \"$(cat pid)\" 2> /dev/null; then echo runs; else \
             sleep 1; cat code 2> /dev/null || echo gone; fi"
        );
        let mut heard = Instant::now();
        loop {
            let mut out = Vec::new();
            match link.script(&script, None, &mut out, COMMAND)? {
                Said::Ended { code: 0, .. } => {
                    heard = Instant::now();
                    let said = String::from_utf8_lossy(&out).trim().to_owned();
                    match (said.as_str(), said.parse::<i32>()) {
                        (_, Ok(code)) => return self.ended(link, code),
                        ("runs", _) => {}
                        _ => {
                            return Err(RemoteError::Link(format!(
                                "{}: the command disappeared without an exit code; was the machine restarted?",
                                link.target
                            )));
                        }
                    }
                }
                Said::Ended { complaint, .. } => {
                    return Err(RemoteError::Link(format!("{}: {complaint}", link.target)));
                }
                Said::Cut(why) if heard.elapsed() > patience => return Err(link.cut(&why)),
                Said::Cut(_) => {}
            }
            std::thread::sleep(TURN);
        }
    }

    fn ended(&self, link: &Link, code: i32) -> Result<Ended, RemoteError> {
        let read = |name: &str| {
            let path = quoted(&format!("{}/{name}", self.folder));
            link.output_within(&format!("head -c {DOCUMENT} {path}"), Bounds { bytes: DOCUMENT, ..COMMAND })
        };
        Ok(Ended { code, out: read("out")?, complaint: read("err")? })
    }

    pub fn remove(&self, link: &Link) -> Result<(), RemoteError> {
        let folder = quoted(&self.folder);
        link.output(&format!("rm -rf {folder} 2> /dev/null || sudo -n rm -rf {folder}")).map(drop)
    }
}

fn plain(part: &str) -> String {
    if part.is_empty() { String::new() } else { quoted(part) }
}
