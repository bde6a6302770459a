//! Judges single files of a machine by the rules that read them, and checks the invariants.

use super::{Reader, foreign};
use punctual_audit::{Context, Offers, Profile, Rules};
use punctual_machine::{KernelConfig, Listing, Machine, Read, Recorded, Setting, parameter, parameters, scrub};
use punctual_model::{Finding, State};
use punctual_units::{CpuId, CpuList, Priority, Scheduling};

struct With<'m> {
    machine: &'m Recorded,
    path: &'static str,
    content: &'m [u8],
}

impl Machine for With<'_> {
    fn read(&self, path: &str) -> Read {
        if path == self.path { Read::Known(self.content.to_vec()) } else { self.machine.read(path) }
    }

    fn list(&self, folder: &str) -> Listing {
        self.machine.list(folder)
    }

    fn read_part(&self, path: &str, offset: u64, length: usize) -> Read {
        self.machine.read_part(path, offset, length)
    }
}

pub struct Parts {
    reader: Reader,
    rules: &'static Rules,
    machine: Recorded,
    path: &'static str,
    /// The rules that read the file. Each execution judges one of them.
    ids: &'static [&'static str],
}

const CONFIG: &str = "/boot/config-6.12.0";

/// Returns the path of the file, and the rules that read it.
fn place(reader: Reader) -> Option<(&'static str, &'static [&'static str])> {
    Some(match reader {
        Reader::Cmdline => (
            "/proc/cmdline",
            &[
                "cmdline-debug-leftovers",
                "cmdline-duplicates",
                "cmdline-isolcpus-flags",
                "kconfig-nohz-inert",
                "iso-present",
            ],
        ),
        Reader::Kconfig => (CONFIG, &["kconfig-debug-heavy", "debug-kmemleak", "kconfig-rt-group-sched", "kconfig-hz"]),
        Reader::CpuList => ("/proc/timer_list", &["clk-event-broadcast"]),
        Reader::PiConfig => (
            "/boot/firmware/config.txt",
            &[
                "rpi-force-turbo",
                "rpi-kernel-line",
                "rpi-overclock",
                "rpi-hdmi-gpu",
                "rpi-wifi-bt",
                "rpi-core-freq-uart-spi",
            ],
        ),
        Reader::Grub => ("/etc/default/grub", &["cmdline-drift"]),
        Reader::Interrupts => {
            ("/proc/interrupts", &["irq-shared-line", "rpi-irq-cpu0", "iso-cpu-choice", "irq-managed"])
        }
        _ => return None,
    })
}

fn context() -> Context {
    let scheduling = Scheduling::Fifo { priority: Priority::try_from(80).unwrap_or_else(|_| unreachable!()) };
    Context { scheduling, cpus: [CpuId(2), CpuId(3)].into_iter().collect(), profile: Profile::DedicatedCore }
}

impl Parts {
    pub fn reads(reader: Reader) -> bool {
        place(reader).is_some()
    }

    pub fn new(reader: Reader) -> Parts {
        let (path, ids) = place(reader).unwrap_or_default();
        let mut machine = foreign::base();
        let mut set = |path: &str, text: &str| machine.set(path, Read::Known(text.as_bytes().to_vec()));
        set(path, "");
        match reader {
            Reader::Grub => set("/proc/cmdline", "quiet isolcpus=2-3 nohz_full=2-3"),
            Reader::PiConfig | Reader::Interrupts => {
                set("/proc/sys/kernel/arch", "aarch64");
                set("/proc/device-tree/model", "Raspberry Pi 4 Model B Rev 1.4");
            }
            _ => {}
        }
        Parts { reader, rules: Rules::embedded(), machine, path, ids }
    }

    fn with<'m>(&'m self, content: &'m [u8]) -> With<'m> {
        With { machine: &self.machine, path: self.path, content }
    }

    fn judge(&self, input: &[u8], content: &[u8]) -> Finding {
        let id = self.ids[input.len() % self.ids.len()];
        let finding = self.rules.audit_one(id, &self.with(content), &context(), Offers::default());
        let finding = finding.unwrap_or_else(|| panic!("no rule {id}"));
        assert!(!finding.summary.is_empty(), "{id} has an empty summary");
        assert!(
            finding.summary.len() < 20_000 + 4 * content.len(),
            "{id} has a summary of {} bytes",
            finding.summary.len()
        );
        finding
    }

    /// Judges an input. Panics if an invariant is violated. Returns a measure of how much was parsed.
    pub fn run(&self, input: &[u8]) -> u64 {
        let text = String::from_utf8_lossy(input);
        match self.reader {
            Reader::Cmdline => self.cmdline(input, &text),
            Reader::Kconfig => self.kconfig(input),
            Reader::CpuList => self.cpus(input, &text),
            Reader::PiConfig => self.pi_config(input, &text),
            Reader::Grub => self.grub(input, &text),
            _ => self.interrupts(input, &text),
        }
    }

    /// Checks that without quotes the words are separated by spaces, that scrubbing twice has the effect of scrubbing
    /// once, and that no address remains.
    fn cmdline(&self, input: &[u8], text: &str) -> u64 {
        let words = parameters(text);
        assert!(words.iter().all(|word| !word.is_empty() && word != "--"));
        if !text.contains('"') {
            let plain = text.split(|c| matches!(c, '\t'..='\r' | ' ')).filter(|word| !word.is_empty());
            assert_eq!(words, plain.take_while(|word| *word != "--").collect::<Vec<_>>());
        }
        for name in ["nohz_full", "isolcpus", "root"] {
            let key = |word: &String| word.split_once('=').map_or(word.as_str(), |(key, _)| key).replace('-', "_");
            let last = words.iter().rfind(|word| key(word) == name);
            let value = last.map(|word| word.split_once('=').map_or("", |(_, value)| value));
            assert_eq!(parameter(text, name).as_deref(), value, "{name}");
        }
        let clean = scrub(text);
        assert_eq!(scrub(&clean), clean, "scrubbed twice");
        assert!(!has_address(&clean), "an address remains: {clean}");
        if !is_judged(input) {
            return words.len() as u64;
        }
        let finding = self.judge(input, input);
        let is_debug = words.iter().any(|word| word == "debug");
        let leftover = finding.id == "cmdline-debug-leftovers" && is_debug && std::str::from_utf8(input).is_ok();
        assert!(!leftover || finding.state != State::Pass, "debug passes");
        words.len() as u64
    }

    /// Checks that the last line of an option determines its value, even in a truncated text.
    fn kconfig(&self, input: &[u8]) -> u64 {
        let read = KernelConfig::read(&self.with(input));
        if is_judged(input) {
            let finding = self.judge(input, input);
            assert!(read.is_ok() || finding.state != State::Pass, "{}: {}", finding.id, finding.summary);
        }
        let Ok(config) = read else { return 0 };
        let Ok(text) = std::str::from_utf8(input) else { return 1 };
        // A last line without line end may be truncated.
        let text = text.rfind('\n').map_or("", |end| &text[..=end]);
        let known = OPTIONS.iter().filter(|option| said(&config, text, option)).count();
        for part in [2, 5] {
            let cut = input.get(..input.len() * part / 7).unwrap_or_default();
            let Ok(config) = KernelConfig::read(&self.with(cut)) else { continue };
            for option in OPTIONS {
                match config.get(option) {
                    Setting::Unknown => {}
                    Setting::Is(value) => {
                        assert!(has_line(text, option, &value), "{option}={value} in a truncated text")
                    }
                    Setting::Off => {
                        let is_said =
                            has_line(text, option, "n") || text.contains(&format!("# CONFIG_{option} is not set"));
                        let is_said = is_said || config.why(option).is_some();
                        assert!(is_said || cut.ends_with(b"\n"), "{option} is off in a truncated text");
                    }
                }
            }
        }
        known as u64
    }

    /// Checks that a list contains exactly the CPUs that its parts name, and that its text parses back to the same
    /// list; and that a mask counts as empty only if it consists of zeros.
    fn cpus(&self, input: &[u8], text: &str) -> u64 {
        let read = match text.parse::<CpuList>() {
            Ok(list) => {
                assert!(list.iter().all(|cpu| cpu.0 < 8192));
                assert_eq!(list.to_string().parse::<CpuList>().as_ref(), Ok(&list));
                parts_agree(text, &list);
                1 + list.len() as u64
            }
            Err(error) => {
                assert!(error.to_string().len() < 300 + 4 * text.len());
                0
            }
        };
        let line = text.lines().next().unwrap_or_default();
        let content = format!("tick_broadcast_mask: {line}\ntick_broadcast_oneshot_mask: 0\n");
        let finding = self.judge(input, content.as_bytes());
        let mask = line.trim();
        let is_zero = mask.contains('0') && mask.chars().all(|c| matches!(c, '0' | ',' | '"'));
        assert!(finding.state != State::Pass || is_zero, "`{mask}` passes as an empty mask");
        read
    }

    fn pi_config(&self, input: &[u8], text: &str) -> u64 {
        let finding = self.judge(input, input);
        if finding.state == State::Pass {
            assert!(std::str::from_utf8(input).is_ok(), "{} passes although the input is not text", finding.id);
            let is_set =
                text.lines().any(|line| line.trim_matches(|c: char| c.is_whitespace() || c == '\0') == "force_turbo=1");
            assert!(finding.id != "rpi-force-turbo" || is_set, "force_turbo passes");
        }
        text.lines().count() as u64
    }

    fn grub(&self, input: &[u8], text: &str) -> u64 {
        let finding = self.judge(input, input);
        // Words as a shell would join them.
        let plain = text.replace(['"', '\'', '\\'], "");
        let has_both = ["isolcpus=2-3", "nohz_full=2-3"].iter().all(|word| plain.contains(word));
        assert!(finding.state != State::Pass || has_both, "{}", finding.summary);
        text.split_whitespace().count() as u64
    }

    fn interrupts(&self, input: &[u8], text: &str) -> u64 {
        let finding = self.judge(input, input);
        let head = text.lines().next().unwrap_or_default();
        let is_table = head.split_whitespace().next().is_some_and(|word| word.starts_with("CPU"));
        assert!(finding.state != State::Pass || is_table || finding.id == "iso-cpu-choice", "{} passes", finding.id);
        if is_table { text.lines().count() as u64 } else { 0 }
    }
}

/// Selects one input in sixteen if the main risk is in the parser, because judging takes most of the time.
fn is_judged(input: &[u8]) -> bool {
    input.len().is_multiple_of(16)
}

const OPTIONS: [&str; 7] =
    ["NO_HZ_FULL", "PREEMPT_RT", "HZ", "IKCONFIG", "RCU_NOCB_CPU", "RT_GROUP_SCHED", "DEBUG_KMEMLEAK"];

fn has_line(text: &str, option: &str, value: &str) -> bool {
    let value_of =
        |line: &str| line.strip_prefix("CONFIG_")?.strip_prefix(option)?.strip_prefix('=').map(str::to_owned);
    text.lines().filter_map(value_of).any(|found| bare(&found) == value)
}

/// Removes one quote at each end. An escaped quote at the end belongs to the value.
fn bare(value: &str) -> &str {
    value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value)
}

/// Compares the parsed value with the result of a simple text search. Returns true if the option is known.
fn said(config: &KernelConfig, text: &str, option: &str) -> bool {
    let (on, off) = (format!("CONFIG_{option}="), format!("# CONFIG_{option} is not set"));
    let last = text.lines().rfind(|line| line.starts_with(&on) || *line == off);
    let last = last.map(|line| bare(line.strip_prefix(&on).unwrap_or("n")));
    match (config.get(option), last) {
        (Setting::Is(value), Some(last)) => assert_eq!(value, last, "{option}"),
        // Kconfig ignores the line if another option excludes this one, or if the release lacks it.
        (Setting::Off, Some(last)) => assert!(last == "n" || config.why(option).is_some(), "{option}={last} is off"),
        (Setting::Is(value), None) => panic!("{option}={value}, but no line contains it"),
        (Setting::Unknown, Some(_)) => panic!("{option} is unknown"),
        (Setting::Off | Setting::Unknown, None) => {}
    }
    config.get(option) != Setting::Unknown
}

/// Returns true if the text contains six pairs of hexadecimal digits separated by colons, without further pairs around
/// them.
fn has_address(text: &str) -> bool {
    let mut pieces = text.split(|c: char| !(c.is_ascii_hexdigit() || c == ':'));
    pieces.any(|piece| {
        let pairs: Vec<&str> = piece.split(':').collect();
        pairs.len() == 6 && pairs.iter().all(|pair| pair.len() == 2)
    })
}

/// Checks that the ends of every part are in the list, and their neighbours only if another part contains them.
fn parts_agree(text: &str, list: &CpuList) {
    let number = |text: &str| text.trim().parse::<i64>().ok();
    let part = |part: &str| {
        let (range, stride) = part.split_once(':').unwrap_or((part, "1/1"));
        let (used, group) = stride.split_once('/')?;
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some((number(first)?, number(last)?, number(used)?, number(group)?))
    };
    let parts: Vec<_> = text.trim().split(',').filter_map(part).take(40).collect();
    if text.trim().split(',').count() > 40 {
        return;
    }
    let has = |cpu: i64| parts.iter().any(|&(a, b, used, group)| a <= cpu && cpu <= b && (cpu - a) % group < used);
    for &(first, last, ..) in &parts {
        for cpu in [first - 1, first, first + 1, last - 1, last, last + 1] {
            let listed = u32::try_from(cpu).is_ok_and(|cpu| list.contains(CpuId(cpu)));
            assert_eq!(listed, has(cpu), "CPU {cpu}");
        }
    }
}
