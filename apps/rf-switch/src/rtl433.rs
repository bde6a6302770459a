//! rtl_433 as an independent decoder: package rtl-433 of Debian and Ubuntu, <https://github.com/merbanan/rtl_433>.

use crate::code::{Code, House, Unit};
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Time limit for rtl_433, which takes a few seconds to decode a recording of a whole day.
const LIMIT: Duration = Duration::from_secs(60);

#[derive(Debug, thiserror::Error)]
pub enum Rtl433Error {
    #[error("rtl_433 was not found in PATH: apt-get install rtl-433")]
    Absent,
    #[error("cannot run rtl_433 on {}: {source}; try it manually: rtl_433 -R 4 -r {} -F json", path.display(), path.display())]
    NotRun { path: PathBuf, source: io::Error },
    #[error("rtl_433 on {} did not end within {} s and was killed; try it manually: rtl_433 -R 4 -r {} -F json", path.display(), LIMIT.as_secs(), path.display())]
    Slow { path: PathBuf },
    #[error("rtl_433 on {} ended with {status}: {said}", path.display())]
    Failed {
        path: PathBuf,
        status: std::process::ExitStatus,
        /// The last lines of rtl_433's output.
        said: String,
    },
    #[error("unexpected output of rtl_433 ({what}): {line}; version 20.02 or later is supported")]
    Unknown { what: &'static str, line: String },
}

/// Decodes a pulse text file (with the suffix .ook) with rtl_433's decoder 4, Waveman-Switch. Returns one code per
/// frame, in order.
///
/// # Errors
/// [`Rtl433Error`].
pub fn decode(path: &Path) -> Result<Vec<Code>, Rtl433Error> {
    let mut command = Command::new("rtl_433");
    // -c 0 ignores the user's configuration files.
    command.args(["-c", "0", "-R", "4", "-F", "json", "-r"]).arg(path).stdin(Stdio::null());
    let output = output(&mut command, LIMIT).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => Rtl433Error::Absent,
        io::ErrorKind::TimedOut => Rtl433Error::Slow { path: path.into() },
        _ => Rtl433Error::NotRun { path: path.into(), source },
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = said.lines().collect();
        let said = lines[lines.len().saturating_sub(3)..].join("; ");
        return Err(Rtl433Error::Failed { path: path.into(), status: output.status, said });
    }
    String::from_utf8_lossy(&output.stdout).lines().filter(|line| line.starts_with('{')).map(code).collect()
}

/// Runs a command to its end, or kills it after `limit` and returns the error `TimedOut`.
fn output(command: &mut Command, limit: Duration) -> io::Result<Output> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let until = Instant::now() + limit;
    let (sender, whole) = mpsc::channel();
    let pipes: [Option<Box<dyn Read + Send>>; 2] =
        [child.stdout.take().map(|pipe| Box::new(pipe) as _), child.stderr.take().map(|pipe| Box::new(pipe) as _)];
    let read = pipes.into_iter().flatten().enumerate().try_for_each(|(n, mut pipe)| {
        let sender = sender.clone();
        let read = move || {
            let mut bytes = Vec::new();
            let read = pipe.read_to_end(&mut bytes).map(|_| (n, bytes));
            let _ = sender.send(read);
        };
        thread::Builder::new().name("rtl_433 reader".into()).spawn(read).map(drop)
    });
    drop(sender);
    let mut streams = [Vec::new(), Vec::new()];
    let read = read.and_then(|()| {
        for _ in 0..2 {
            let left = until.saturating_duration_since(Instant::now());
            let (n, bytes) = whole.recv_timeout(left).map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
            streams[n] = bytes;
        }
        // Both pipes are closed, but the program may continue without them.
        while child.try_wait()?.is_none() {
            if Instant::now() >= until {
                return Err(io::ErrorKind::TimedOut.into());
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    });
    if read.is_err() {
        let _ = child.kill();
    }
    let status = child.wait()?;
    let [stdout, stderr] = streams;
    read.map(|()| Output { status, stdout, stderr })
}

/// Formats one line per code with its number of frames, and the totals; as JSON if `json` is true.
pub fn table(codes: &[Code], json: bool) -> String {
    let mut frames: BTreeMap<Code, u64> = BTreeMap::new();
    codes.iter().for_each(|code| *frames.entry(*code).or_default() += 1);
    if json {
        let of: BTreeMap<String, u64> = frames.iter().map(|(code, count)| (code.to_string(), *count)).collect();
        return format!("{}\n", serde_json::json!({ "codes": frames.len(), "frames": codes.len(), "frames_of": of }));
    }
    let mut text: String = frames.iter().map(|(code, count)| format!("{code:<8} {count} frames\n")).collect();
    text.push_str(&format!("{} codes in {} frames\n", frames.len(), codes.len()));
    text
}

/// Parses a line such as `{"model" : "Waveman-Switch", "id" : "D", "channel" : 1, "button" : 2, "state" : "on"}`;
/// the unit is (channel − 1) · 4 + button.
fn code(line: &str) -> Result<Code, Rtl433Error> {
    let unknown = |what| Rtl433Error::Unknown { what, line: line.chars().take(200).collect() };
    let value: serde_json::Value = serde_json::from_str(line).map_err(|_| unknown("JSON"))?;
    let number = |key| value.get(key).and_then(serde_json::Value::as_u64);
    let id = value.get("id").and_then(serde_json::Value::as_str).ok_or_else(|| unknown("id"))?;
    let house = match id.as_bytes() {
        [letter] => House::of_letter(*letter),
        _ => None,
    };
    let unit = number("channel").zip(number("button")).and_then(|(channel, button)| {
        let unit = channel.checked_sub(1)?.checked_mul(4)?.checked_add(button)?;
        Unit::of_number(u8::try_from(unit).ok()?)
    });
    let state = value.get("state").and_then(serde_json::Value::as_str).unwrap_or_default();
    let on = match () {
        () if state.eq_ignore_ascii_case("on") => true,
        () if state.eq_ignore_ascii_case("off") => false,
        () => return Err(unknown("state")),
    };
    Ok(Code {
        house: house.ok_or_else(|| unknown("id"))?,
        unit: unit.ok_or_else(|| unknown("channel and button"))?,
        on,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAITS: &str = "RF_SWITCH_TEST_WAITS";

    /// Run in a process of its own by the test below: reads standard input until its end.
    #[test]
    fn reads_to_the_end_if_asked() {
        if std::env::var_os(WAITS).is_some() {
            io::copy(&mut io::stdin(), &mut io::sink()).unwrap();
        }
    }

    #[test]
    fn a_decoder_that_does_not_end_is_killed() {
        let this = std::env::current_exe().unwrap();
        let run = |stdin: io::PipeReader, limit| {
            let mut command = Command::new(&this);
            command.args(["--exact", "rtl433::tests::reads_to_the_end_if_asked"]).env(WAITS, "1").stdin(stdin);
            output(&mut command, limit)
        };
        let (reader, _writer) = io::pipe().unwrap();
        assert_eq!(run(reader, Duration::from_millis(200)).unwrap_err().kind(), io::ErrorKind::TimedOut);
        let (reader, writer) = io::pipe().unwrap();
        drop(writer);
        let ended = run(reader, LIMIT).unwrap();
        assert!(ended.status.success() && String::from_utf8_lossy(&ended.stdout).contains("1 passed"));
    }

    #[test]
    fn a_line_of_rtl_433_is_a_code() {
        let line = r#"{"time" : "@0.000000s", "model" : "Waveman-Switch", "id" : "D", "channel" : 1, "button" : 2, "state" : "on"}"#;
        assert_eq!(code(line).unwrap().to_string(), "d21");
        let last =
            line.replace("\"D\"", "\"P\"").replace(": 1", ": 4").replace(": 2", ": 4").replace("\"on\"", "\"OFF\"");
        assert_eq!(code(&last).unwrap().to_string(), "p:16:0");
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        for line in [
            "{",
            "{}",
            r#"{"id":"D","channel":0,"button":2,"state":"on"}"#,
            r#"{"id":"Q","channel":1,"button":2,"state":"on"}"#,
            r#"{"id":"D","channel":1,"button":2,"state":"dim"}"#,
        ] {
            assert!(matches!(code(line), Err(Rtl433Error::Unknown { .. })), "{line}");
        }
    }
}
