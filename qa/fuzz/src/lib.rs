//! Entry points for fuzzers, one for every reader of external data: its seeds, the code that is executed, and the
//! invariants. Traces pass through every reader and attribution: no panic, no hang, bounded memory, labels that add up.
//! Files of a machine pass through the audit: an unreadable file never makes a rule pass, and no path leads outside a
//! snapshot. Reports are generated for run directories. The remaining readers take kernel packages, other texts, and
//! requests.
//!
//! One table, [`READERS`], serves `cargo trials fuzz` (deterministic mutations on any machine) and libFuzzer (guided by
//! coverage, `qa/libfuzzer/`). Inputs that once caused a defect stay in `qa/libfuzzer/regressions`, one folder per
//! reader; the tests of this crate execute them.

#![forbid(unsafe_code)]

mod archives;
mod boot;
mod execute;
mod folder;
mod foreign;
mod import;
mod losses;
mod mutate;
mod parts;
mod seeds;
mod texts;
mod whole;

pub use execute::Executor;
use mutate::{Random, mutate};
pub use punctual_import::Format;
pub use texts::remove_scratch;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// trace.dat, version 6.
    Dat6,
    /// trace.dat, version 7.
    Dat7,
    /// Pages of the ring buffer, in the form in which the kernel provides them.
    Pages,
    /// The kernel's own text format: the file `trace` in tracefs.
    Kernel,
    /// The text of `trace-cmd report`.
    TraceCmd,
    /// perf.data, written to a file or to a pipe.
    Perf,
    /// Output of rtla, possibly pasted into a mail.
    Rtla,
    Cmdline,
    /// A kernel configuration, plain or compressed.
    Kconfig,
    CpuList,
    /// config.txt of a Raspberry Pi.
    PiConfig,
    Grub,
    Interrupts,
    Profile,
    /// A machine, packed by `snapshot`.
    Snapshot,
    /// A recorded machine with some files missing or replaced.
    Machine,
    /// The boot loader's files on a machine.
    Boot,
    Import(Format),
    Run,
    /// A run sent by a board: tar(5), plain or compressed.
    Archive,
    /// A kernel package for `punctual kernel deploy`.
    Package,
    Experiment,
    RtApp,
    /// A page that lists patches, the release in a kernel's Makefile, and the name of a patch.
    PatchIndex,
    /// Pulse text of a radio receiver.
    Pulses,
    /// Commands of `rf-switch`.
    Codes,
    /// Published and contributed latencies of a board.
    References,
    /// Requests from a client of `punctual serve`.
    Upload,
    /// USDT probes of an ELF file.
    Usdt,
}

/// The readers and their names in commands, folders and tables.
pub const READERS: [(&str, Reader); 35] = [
    ("dat6", Reader::Dat6),
    ("dat7", Reader::Dat7),
    ("pages", Reader::Pages),
    ("kernel", Reader::Kernel),
    ("trace-cmd", Reader::TraceCmd),
    ("perf", Reader::Perf),
    ("rtla", Reader::Rtla),
    ("cmdline", Reader::Cmdline),
    ("kconfig", Reader::Kconfig),
    ("cpulist", Reader::CpuList),
    ("config.txt", Reader::PiConfig),
    ("grub", Reader::Grub),
    ("interrupts", Reader::Interrupts),
    ("profile", Reader::Profile),
    ("snapshot", Reader::Snapshot),
    ("machine", Reader::Machine),
    ("boot", Reader::Boot),
    ("import-cyclictest", Reader::Import(Format::Cyclictest)),
    ("import-json", Reader::Import(Format::Json)),
    ("import-csv", Reader::Import(Format::Csv)),
    ("import-rtla", Reader::Import(Format::Rtla)),
    ("import-jitterdebugger", Reader::Import(Format::JitterdebuggerRaw)),
    ("import-nqueens", Reader::Import(Format::NQueens)),
    ("import-text", Reader::Import(Format::Text)),
    ("run", Reader::Run),
    ("archive", Reader::Archive),
    ("package", Reader::Package),
    ("experiment", Reader::Experiment),
    ("rt-app", Reader::RtApp),
    ("patch-index", Reader::PatchIndex),
    ("pulses", Reader::Pulses),
    ("codes", Reader::Codes),
    ("references", Reader::References),
    ("upload", Reader::Upload),
    ("usdt", Reader::Usdt),
];

impl Reader {
    pub fn named(name: &str) -> Option<Reader> {
        READERS.iter().find(|(known, _)| *known == name).map(|(_, reader)| *reader)
    }

    /// Returns seeds: fixtures of this repository, and synthetic ones. Reads files of the repository; a missing file
    /// results in an empty seed.
    pub fn seeds(self) -> Vec<Vec<u8>> {
        seeds::of(self)
    }

    /// Returns words for which a text reader searches; empty for a reader of binary data.
    pub fn words(self) -> &'static [&'static str] {
        match self {
            Reader::Kernel | Reader::TraceCmd | Reader::Rtla => mutate::TRACE_WORDS,
            Reader::Dat6 | Reader::Dat7 | Reader::Pages | Reader::Perf | Reader::Snapshot | Reader::Usdt => &[],
            Reader::Boot => boot::WORDS,
            Reader::Archive => archives::WORDS,
            Reader::Import(format) if import::is_text(format) => mutate::TRACE_WORDS,
            Reader::Import(_) => &[],
            Reader::Run | Reader::Package => folder::WORDS,
            _ if self.is_text_of_others() => texts::WORDS,
            _ => foreign::WORDS,
        }
    }

    fn is_text_of_others(self) -> bool {
        matches!(
            self,
            Reader::Experiment
                | Reader::RtApp
                | Reader::PatchIndex
                | Reader::Pulses
                | Reader::Codes
                | Reader::References
                | Reader::Upload
        )
    }

    /// Returns the number of executions that take about as long as a thousand executions of a trace reader.
    pub fn thousand(self) -> u64 {
        match self {
            Reader::Profile | Reader::Snapshot | Reader::Boot => 100,
            Reader::Run | Reader::Machine => 20,
            Reader::Archive | Reader::Package | Reader::Upload => 100,
            _ => 1000,
        }
    }
}

/// Returns the input of execution `n`: a mutated seed. The same arguments give the same bytes.
pub fn input(seeds: &[Vec<u8>], words: &[&str], seed: u64, n: u64) -> Vec<u8> {
    let mut random = Random::new(seed.wrapping_mul(0x1_0000_0001).wrapping_add(n.wrapping_mul(0x9e37_79b9)));
    let mut input = seeds.get(random.below(seeds.len())).cloned().unwrap_or_default();
    let other = seeds.get(random.below(seeds.len())).map(Vec::as_slice).unwrap_or_default();
    mutate(&mut input, other, words, &mut random);
    input
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;
    use std::fs;
    use std::io::Read;
    use std::path::{Path, PathBuf};

    fn files(folder: &Path) -> Vec<PathBuf> {
        let mut all: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
        all.sort();
        all
    }

    #[test]
    fn seeds_are_read_as_what_they_are() {
        for (name, reader) in READERS {
            let (executor, seeds) = (Executor::new(reader), reader.seeds());
            let events: u64 = seeds.iter().map(|seed| executor.run(seed)).sum();
            // An imported file has threads instead of events.
            let least = if matches!(reader, Reader::Import(_)) { 1 } else { 4 };
            assert!(events >= least * seeds.len() as u64, "{name}: {events} events of {} seeds", seeds.len());
        }
    }

    fn kept(kind: &str) -> Vec<PathBuf> {
        files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../libfuzzer").join(kind))
    }

    fn executor(path: &Path) -> Executor {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap();
        let name = name.trim_end_matches(".tar.gz");
        Executor::new(Reader::named(name).unwrap_or_else(|| panic!("{}: no reader of that name", path.display())))
    }

    #[test]
    fn what_coverage_led_to_is_executed_without_a_finding() {
        let mut count = 0;
        for path in kept("corpus") {
            let executor = executor(&path);
            for entry in tar::Archive::new(GzDecoder::new(fs::File::open(&path).unwrap())).entries().unwrap() {
                let mut bytes = Vec::new();
                entry.unwrap().read_to_end(&mut bytes).unwrap();
                executor.run(&bytes);
                count += 1;
            }
        }
        assert!(count > 0, "qa/libfuzzer/corpus is empty: cargo trials fuzz guided --keep");
    }

    #[test]
    fn fixed_input_is_executed_without_a_finding() {
        for folder in kept("regressions") {
            let executor = executor(&folder);
            files(&folder).iter().for_each(|file| {
                executor.run(&fs::read(file).unwrap());
            });
        }
    }

    #[test]
    fn an_input_is_the_same_again_and_names_are_different() {
        for (name, reader) in READERS {
            assert_eq!(Reader::named(name), Some(reader));
            let seeds = reader.seeds();
            assert_eq!(input(&seeds, reader.words(), 3, 11), input(&seeds, reader.words(), 3, 11), "{name}");
        }
    }
}
