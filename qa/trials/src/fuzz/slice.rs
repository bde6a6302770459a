//! Runs one slice of a reader under libFuzzer, and parses its output.

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use punctual_fuzz::Reader;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Time after which an input counts as hung, s. It is long, because other programs take precedence.
const HANG: u32 = 60;
/// Memory limit, MB: no reader uses more than 64 MiB; the rest is for the instrumented program and its corpus.
const MEMORY_MB: u32 = 1024;
/// Lower bound of libFuzzer's limit on the input length, bytes.
const LONGEST: usize = 4096;
/// Maximum length of inputs that are kept in the repository, bytes.
const KEPT: usize = 512;

/// The instrumented program, and the folder of corpora, logs and findings.
pub struct Tools {
    pub program: PathBuf,
    pub folder: PathBuf,
}

#[derive(Debug, Default, PartialEq)]
pub struct Slice {
    pub executions: u64,
    pub seconds: f64,
    pub edges: Option<u64>,
    pub corpus: Option<u64>,
    pub finding: Option<String>,
}

impl Tools {
    /// Runs a slice, limited by executions and time. Returns an error if the program cannot be started, or ended
    /// without printing statistics.
    pub fn slice(&self, name: &str, reader: Reader, executions: u64, time: Duration) -> Result<Slice, String> {
        let folder = |kind: &str| {
            let folder = self.folder.join(kind).join(name);
            fs::create_dir_all(&folder).map_err(|e| format!("cannot create {}: {e}", folder.display()))?;
            Ok::<PathBuf, String>(folder)
        };
        let (corpus, seeds, findings) = (folder("corpus")?, folder("seeds")?, folder("findings")?);
        let dictionary = self.folder.join("seeds").join(format!("{name}.dict"));
        let write = |path: &Path, bytes: &[u8]| {
            fs::write(path, bytes).map_err(|e| format!("cannot write {}: {e}", path.display()))
        };
        let all = reader.seeds();
        all.iter().enumerate().try_for_each(|(n, seed)| write(&seeds.join(n.to_string()), seed))?;
        write(&dictionary, words(reader.words()).as_bytes())?;
        // libFuzzer fails with an empty dictionary.
        let dictionary = (!reader.words().is_empty()).then(|| format!("-dict={}", dictionary.display()));
        let longest = all.iter().map(Vec::len).max().unwrap_or(0).saturating_mul(2).max(LONGEST);
        let mut command = Command::new(&self.program);
        command.env("PUNCTUAL_FUZZ_READER", name).arg(format!("-runs={executions}"));
        command.arg(format!("-max_total_time={}", time.as_secs().max(1))).arg(format!("-max_len={longest}"));
        command.arg(format!("-artifact_prefix={}/", findings.display())).args(dictionary);
        command.arg(format!("-timeout={HANG}")).arg(format!("-rss_limit_mb={MEMORY_MB}"));
        command.args([format!("-report_slow_units={HANG}").as_str(), "-print_final_stats=1", "-reload=0"]);
        command.arg(corpus).arg(seeds);
        // Inputs from the repository.
        let (kept, regressions) = (folder("kept")?, Path::new("qa/libfuzzer/regressions").join(name));
        unpack(&packed(name), &kept)?;
        command.arg(kept).args(Some(regressions).filter(|folder| folder.is_dir()));
        self.execute(command, name)
    }

    /// Writes a small set of short inputs to `qa/libfuzzer/corpus`. The set reaches all edges that the short inputs of
    /// the corpora reach. Returns the number of inputs. Nothing is replaced unless the whole set was found.
    pub fn keep(&self, name: &str) -> Result<usize, String> {
        let failed = |path: &Path, e: std::io::Error| format!("{}: {e}", path.display());
        let folder = |kind: &str| self.folder.join(kind).join(name);
        let (corpus, merged, kept) = (folder("corpus"), folder("merged"), folder("kept"));
        if merged.exists() {
            fs::remove_dir_all(&merged).map_err(|e| failed(&merged, e))?;
        }
        [&corpus, &merged, &kept].into_iter().try_for_each(|at| fs::create_dir_all(at).map_err(|e| failed(at, e)))?;
        unpack(&packed(name), &kept)?;
        let mut command = Command::new(&self.program);
        command.env("PUNCTUAL_FUZZ_READER", name).args(["-set_cover_merge=1", "-use_counters=0"]);
        command.arg(format!("-max_len={KEPT}")).arg(format!("-timeout={HANG}")).arg(&merged).args([&corpus, &kept]);
        let output = command.output().map_err(|e| failed(&self.program, e))?;
        if !output.status.success() {
            return Err(format!("{name}: merging ended with {}", output.status));
        }
        pack(&merged, &packed(name))
    }

    fn execute(&self, mut command: Command, name: &str) -> Result<Slice, String> {
        let path = self.folder.join(format!("{name}.log"));
        let log = File::create(&path).map_err(|e| format!("cannot create {}: {e}", path.display()))?;
        let both = log.try_clone().map_err(|e| format!("cannot share {}: {e}", path.display()))?;
        let start = Instant::now();
        let child = command.stdout(both).stderr(log).spawn();
        let mut child = child.map_err(|e| format!("cannot start {}: {e}", self.program.display()))?;
        let status = child.wait().map_err(|e| format!("wait4(2) for {}: {e}", self.program.display()))?;
        punctual_fuzz::remove_scratch(child.id());
        let text = fs::read(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
        let mut slice = read(&String::from_utf8_lossy(&text));
        slice.seconds = start.elapsed().as_secs_f64();
        match (status.success(), &slice.finding) {
            (true, _) if slice.executions > 0 => Ok(slice),
            (false, Some(_)) => Ok(slice),
            _ => Err(format!("ended with {status} without figures: see {}", path.display())),
        }
    }
}

fn packed(name: &str) -> PathBuf {
    Path::new("qa/libfuzzer/corpus").join(format!("{name}.tar.gz"))
}

fn unpack(tar: &Path, into: &Path) -> Result<(), String> {
    match File::open(tar) {
        Ok(file) => tar::Archive::new(GzDecoder::new(file)).unpack(into).map_err(|e| format!("{}: {e}", tar.display())),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(format!("{}: {e}", tar.display())),
    }
}

/// Returns a reader's kept inputs, in the order of the archive; empty if it cannot be read.
pub fn kept(name: &str) -> Vec<Vec<u8>> {
    let path = xtask::root().join(packed(name));
    let Ok(file) = File::open(path) else { return Vec::new() };
    let mut tar = tar::Archive::new(GzDecoder::new(file));
    let content = |mut entry: tar::Entry<_>| {
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).is_ok().then_some(bytes)
    };
    tar.entries().into_iter().flatten().flatten().filter_map(content).collect()
}

/// Packs all files of a folder into a tar file, reproducibly. Returns their number; if there are none, no file is
/// created.
fn pack(folder: &Path, into: &Path) -> Result<usize, String> {
    let failed = |e: std::io::Error| format!("{}: {e}", into.display());
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).and_then(|all| all.map(|one| Ok(one?.path())).collect()).map_err(failed)?;
    files.sort();
    if files.is_empty() {
        return Ok(0);
    }
    let aside = into.with_extension("new");
    fs::create_dir_all(into.parent().unwrap_or(Path::new("."))).map_err(failed)?;
    let mut tar = tar::Builder::new(GzEncoder::new(File::create(&aside).map_err(failed)?, Compression::best()));
    tar.mode(tar::HeaderMode::Deterministic);
    for file in &files {
        tar.append_path_with_name(file, file.file_name().unwrap_or_default()).map_err(failed)?;
    }
    tar.into_inner().and_then(GzEncoder::finish).map_err(failed)?;
    fs::rename(&aside, into).map_err(failed)?;
    Ok(files.len())
}

/// Formats libFuzzer's dictionary: one word per line, with special bytes in hexadecimal.
fn words(words: &[&str]) -> String {
    let plain = |byte: u8| (byte.is_ascii_graphic() || byte == b' ') && !matches!(byte, b'"' | b'\\');
    let letter = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("\\x{byte:02x}") };
    words.iter().map(|word| format!("\"{}\"\n", word.bytes().map(letter).collect::<String>())).collect()
}

/// Parses libFuzzer's output: the statistics in the last line that has them, the final count, and the reason why it
/// ended.
fn read(text: &str) -> Slice {
    let mut slice = Slice::default();
    let (mut what, mut file) = (None, None);
    for line in text.lines() {
        let after = |key: &str| line.split_once(key).map(|(_, rest)| rest.trim());
        let number = |rest: Option<&str>| rest?.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok();
        if line.starts_with('#') {
            slice.edges = number(after(" cov: ")).or(slice.edges);
            slice.corpus = number(after(" corp: ")).or(slice.corpus);
            // For a program that ended before it could print its final count.
            slice.executions = number(line.get(1..)).unwrap_or(0).max(slice.executions);
        }
        slice.executions = number(after("stat::number_of_executed_units:")).unwrap_or(slice.executions);
        what = what.or_else(|| line.contains(" panicked at ").then(|| line.to_owned()));
        what = what.or_else(|| after("ERROR: libFuzzer: ").map(str::to_owned));
        file = after("Test unit written to ").map(str::to_owned).or(file);
    }
    slice.finding = file.map(|file| format!("{file}: {}", what.as_deref().unwrap_or("no message")));
    slice
}

#[cfg(test)]
mod tests {
    use super::*;

    const DONE: &str = "INFO: Seed: 1\n#2\tINITED cov: 812 ft: 813 corp: 1/1b exec/s: 0 rss: 40Mb\n\
        #4096\tNEW    cov: 901 ft: 1200 corp: 31/4Kb lim: 40 exec/s: 2048 rss: 41Mb L: 9/9 MS: 1 CopyPart-\n\
        #5000\tDONE   cov: 905 ft: 1210 corp: 33/4Kb lim: 40 exec/s: 2048 rss: 41Mb\nDone 5000 runs in 2 second(s)\n\
        stat::number_of_executed_units: 5000\nstat::peak_rss_mb:              41\n";
    const PANIC: &str = "#2\tINITED cov: 812 ft: 813 corp: 1/1b exec/s: 0 rss: 40Mb\n\n\
        thread '<unnamed>' (7) panicked at crates/analysis/trace/src/x.rs:5:9:\nattempt to add with overflow\n\
        ==7== ERROR: libFuzzer: deadly signal\nartifact_prefix='f/'; Test unit written to f/crash-12\n\
        stat::number_of_executed_units: 77\n";

    #[test]
    fn figures_are_those_of_the_last_line() {
        let read = read(DONE);
        assert_eq!((read.executions, read.edges, read.corpus, read.finding), (5000, Some(905), Some(33), None));
    }

    #[test]
    fn a_finding_has_its_file_and_the_first_thing_said_of_it() {
        let read = read(PANIC);
        assert_eq!(read.executions, 77);
        let finding = read.finding.unwrap();
        assert!(
            finding.starts_with("f/crash-12: ") && finding.contains("crates/analysis/trace/src/x.rs:5:9"),
            "{finding}"
        );
    }

    #[test]
    fn what_says_nothing_has_no_figures() {
        assert_eq!(read("Killed\n"), Slice::default());
    }

    #[test]
    fn a_dictionary_holds_any_word() {
        assert_eq!(words(&["a b", "\"\n\\", "\u{a0}"]), "\"a b\"\n\"\\x22\\x0a\\x5c\"\n\"\\xc2\\xa0\"\n");
    }

    #[test]
    fn a_program_that_is_none_of_ours_is_an_error_and_no_count() {
        let folder = tempfile::tempdir().unwrap();
        let tools = |program: &str| Tools { program: program.into(), folder: folder.path().to_owned() };
        let slice = |program| tools(program).slice("codes", Reader::Codes, 5, Duration::from_secs(1));
        assert!(slice("/bin/true").unwrap_err().contains("without figures"));
        // qemu-user's vfork(2) does not report a failed exec(2), so there is no message.
        let why = slice("/nowhere/reader").unwrap_err();
        assert!(why.contains("cannot start") || why.contains("without figures"), "{why}");
    }

    #[test]
    fn no_reader_is_given_an_empty_dictionary() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("reader");
        // libFuzzer behaves like this.
        let text = "#!/bin/sh\nfor a; do case $a in -dict=*) [ -s \"${a#-dict=}\" ] || exit 1;; esac; done\n\
            echo stat::number_of_executed_units: 5\n";
        // Written by another process: a concurrent fork of this one would hold the file open for writing, and it could
        // not be started (ETXTBSY).
        let written =
            std::process::Command::new("sh").args(["-c", "printf %s \"$1\" > \"$0\""]).arg(&program).arg(text).status();
        assert!(written.unwrap().success());
        fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let tools = Tools { program, folder: folder.path().to_owned() };
        for (name, reader) in [("dat6", Reader::Dat6), ("codes", Reader::Codes)] {
            assert_eq!(tools.slice(name, reader, 5, Duration::from_secs(1)).map(|slice| slice.executions), Ok(5));
        }
    }
}
