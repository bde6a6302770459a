//! Fuzzes the readers of other external texts and requests: experiments, patch indexes, pulses, commands, uploads.

use super::Reader;
use punctual_kernel::patch::{index, makefile_release, patch_of_name};
use punctual_loads::{Connection, Store, StoreLimits};
use punctual_report::TextStyle;
use punctual_rf_switch::code::Addresses;
use punctual_rf_switch::{command, ook};
use punctual_sched::{EXPERIMENTS, MOST_THREADS, Spec};
use std::cell::Cell;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

pub const WORDS: &[&str] = &[
    "=",
    "\"",
    "{",
    "[[published]]\n",
    "worst_us = ",
    "flavour = \"stock\"\n",
    "quantiles = [{ p = 0.5, us = 1 }]\n",
    "nan",
    "}",
    "[[threads]]\n",
    "policy = \"deadline\"\n",
    "\"loop\": -1,",
    "\"instance\": 1000000,",
    "1e308",
    "-1",
    "18446744073709551616",
    "href=\"patch-6.6.1-rt2.patch.xz\"",
    "patch-99999999999.1-rt1.patch.gz",
    "\r\n",
    "\r\n\r\n",
    "Content-Length: 18446744073709551616\r\n",
    "Content-Length: 5\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Expect: 100-continue\r\n",
    "POST /image HTTP/1.1\r\n",
    ";ook 9 pulses\n",
    ";end\n",
    "@99999999999999999999 ",
    "d21",
    "c:16:1 ",
    "350 1050\n",
    "0x",
];

/// Context for the readers of texts, with the folder for uploads.
pub struct Texts {
    store: Option<(Store, TempDir)>,
}

impl Texts {
    pub fn new(reader: Reader) -> Texts {
        let limits = StoreLimits { largest: 4096, kept: 16384 };
        let store = || {
            let folder = memory()?;
            Some((Store::open(folder.path(), limits).ok()?, folder))
        };
        Texts { store: if reader == Reader::Upload { store() } else { None } }
    }

    /// Reads an input. Panics if an invariant is violated. Returns a number that shows how far the input was processed.
    pub fn run(&self, reader: Reader, input: &[u8]) -> u64 {
        let text = || String::from_utf8_lossy(input);
        match reader {
            Reader::Experiment => experiment(Spec::parse("a.toml", &text()).ok()),
            Reader::RtApp => experiment(Spec::of_rtapp("a.json", &text()).ok()),
            Reader::PatchIndex => patches(&text()),
            Reader::References => references(&text()),
            Reader::Pulses => ook::read(&text()).map_or(0, |all| all.iter().map(|one| 1 + one.len() as u64).sum()),
            Reader::Codes => commands(&text()),
            _ => self.upload(input),
        }
    }

    /// Checks that nothing beyond the limits is saved, and that everything reported as saved exists.
    fn upload(&self, input: &[u8]) -> u64 {
        let Some((store, folder)) = &self.store else { return 0 };
        let updates = Cell::new(0);
        let (begun, rest) = input.split_at(input.len().min(7));
        let mut client = Client { left: rest, piece: 1 + input.len() % 97, answered: 0 };
        let served = store.serve(&mut client, begun, |bytes| {
            assert!(bytes <= 4096, "{bytes} bytes");
            updates.set(updates.get() + 1);
        });
        assert!(served.is_err() || client.left.is_empty());
        let kept = || fs::read_dir(folder.path()).into_iter().flatten().flatten();
        let bytes: u64 = kept().filter_map(|entry| entry.metadata().ok()).map(|meta| meta.len()).sum();
        assert!(bytes <= 16384, "{bytes} bytes are kept");
        store.clear();
        assert_eq!(kept().count(), 0, "files stay");
        updates.get() * 8 + u64::from(client.answered > 0)
    }
}

/// Checks that every problem refers to a line of the file, and that a readable file has no errors and can be shown on a
/// terminal.
fn references(text: &str) -> u64 {
    let problems = punctual_references::check(text);
    let lines = 1 + text.bytes().filter(|byte| *byte == b'\n').count();
    assert!(problems.iter().all(|problem| (1..=lines).contains(&problem.line)), "{problems:?}");
    let has_errors = problems.iter().any(|problem| problem.is_error);
    let read = punctual_references::read(text);
    assert_eq!(read.is_err(), has_errors, "{problems:?}");
    let Ok(board) = read else { return problems.len() as u64 };
    for full in [false, true] {
        let shown = punctual_report::references_board(&board, full, TextStyle::default());
        assert!(!shown.contains('\x1b'), "{shown}");
    }
    8 + board.published.len() as u64
}

struct Client<'a> {
    left: &'a [u8],
    piece: usize,
    answered: usize,
}

impl Read for Client<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.left.len().min(self.piece).min(buffer.len());
        let (now, left) = self.left.split_at(length);
        buffer[..length].copy_from_slice(now);
        self.left = left;
        Ok(length)
    }
}

impl Connection for Client<'_> {
    fn limit(&mut self, _: Duration) {}
}

impl Write for Client<'_> {
    fn write(&mut self, answer: &[u8]) -> io::Result<usize> {
        self.answered += answer.len();
        Ok(answer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Prefix of the names of a process's folders; its PID follows.
const SCRATCH: &str = "punctual-fuzz-";

/// Directories in which folders may be created; those in memory come first.
fn scratch() -> [PathBuf; 2] {
    ["/dev/shm".into(), std::env::temp_dir()]
}

/// Creates a folder, in memory if possible.
pub fn memory() -> Option<TempDir> {
    let prefix = format!("{SCRATCH}{}-", std::process::id());
    scratch().iter().find_map(|folder| tempfile::Builder::new().prefix(&prefix).tempdir_in(folder).ok())
}

/// Removes the folders that a process such as libFuzzer has left behind.
pub fn remove_scratch(process: u32) {
    let prefix = format!("{SCRATCH}{process}-");
    for entry in scratch().iter().flat_map(fs::read_dir).flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn experiment(spec: Option<Spec>) -> u64 {
    let Some(spec) = spec else { return 0 };
    assert!((1..=MOST_THREADS).contains(&spec.threads.len()));
    assert!((1..=1000).contains(&spec.repetitions));
    4 * spec.threads.len() as u64
}

fn patches(text: &str) -> u64 {
    let found = index::read(text);
    let release = makefile_release(text).is_some() || patch_of_name(text.trim()).is_ok();
    4 * (u64::from(release) + u64::from(found.newest(None).is_some()))
}

/// Checks that a command that is printed and parsed again is the same command.
fn commands(text: &str) -> u64 {
    let all = command::read_all(text, Addresses::default());
    for command in all.iter().flatten() {
        let again = command::read_all(&command.to_string(), Addresses::default());
        assert!(matches!(&again[..], [Ok(same)] if same == command), "{command} does not parse back to itself");
    }
    2 * all.len() as u64
}

pub fn sample(path: &str) -> Vec<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read(root.join(path)).unwrap_or_default()
}

const UPLOADS: &[&str] = &[
    "POST /image HTTP/1.1\r\nHost: board\r\nContent-Length: 12\r\n\r\nhello, worldPOST /b HTTP/1.1\r\ncontent-length: 3\r\n\r\nabc",
    "POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 40\r\n\r\n0123456789012345678901234567890123456789",
    "PUT /image HTTP/1.0\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx",
    "POST /image HTTP/1.1\r\nContent-Length: 4000\r\n\r\n",
];

const CODES: &[&str] = &["d21d20 a11\n", "@1700000000 b31 d:10:1 C:3:0\n", "rubbish a10 @5 a1\n"];

pub fn seeds(reader: Reader) -> Vec<Vec<u8>> {
    let texts = |all: &[&str]| all.iter().map(|text| text.as_bytes().to_vec()).collect();
    match reader {
        Reader::Experiment => EXPERIMENTS.iter().map(|(_, text)| text.as_bytes().to_vec()).collect(),
        Reader::RtApp => vec![sample("crates/experiments/sched/tests/fixtures/example.json")],
        Reader::References => ["raspberry-pi-1", "fujitsu-d3161-i7-3770", "brazos-n450"]
            .map(|key| sample(&format!("crates/output/references/boards/{key}.toml")))
            .to_vec(),
        Reader::PatchIndex => vec![
            sample("crates/linux/kernel/tests/fixtures/rt-6.6-older.html").into_iter().take(3000).collect(),
            b"VERSION = 6\nPATCHLEVEL = 6\nSUBLEVEL = 1\nEXTRAVERSION = -rc1\n<a href=\"patch-6.6.1-rt2.patch.xz\">"
                .to_vec(),
        ],
        Reader::Pulses => vec![
            b";pulse data\n;version 1\n;timescale 1us\n;ook 3 pulses\n350 1050\n1050 350\n350 10850\n;end\n".to_vec(),
        ],
        Reader::Codes => texts(CODES),
        _ => texts(UPLOADS),
    }
}
