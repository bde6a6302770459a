//! Command line of cyclictest (cyclictest(8)).

use crate::Unit;
use punctual_units::{CpuList, Priority, Scheduling};

const LONGEST: usize = 200;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Command {
    pub words: Vec<String>,
    /// Value of `-i`, µs.
    interval_us: Option<u64>,
    /// Value of `-d`, µs.
    distance_us: Option<u64>,
    pub priority: Option<Priority>,
    policy: Option<String>,
    /// True if `-N` is given.
    nanos: bool,
    /// True if `-h` or `-H` is given.
    histogram: bool,
    bins: Option<u64>,
    /// Value of `-a LIST` or `-S`.
    affinity: Option<Affinity>,
    aligned: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Affinity {
    /// Thread n is on CPU n.
    ByNumber,
    /// Thread n is on the n-th CPU of the list.
    List(CpuList),
}

impl Command {
    /// Parses a command line, whose first word is the program.
    pub fn parse(words: Vec<String>) -> Command {
        let mut command = Command::default();
        let mut rest = words.iter().skip(1).map(String::as_str).peekable();
        while let Some(word) = rest.next() {
            if let Some(long) = word.strip_prefix("--") {
                let (key, value) = long.split_once('=').map_or((long, None), |(k, v)| (k, Some(v)));
                let takes = matches!(key, "interval" | "distance" | "priority" | "policy" | "histogram" | "histofall");
                let value = match value {
                    None if takes => rest.next(),
                    other => other,
                };
                command.long(key, value);
            } else if let Some(short) = word.strip_prefix('-') {
                command.short(short, &mut rest);
            }
        }
        command.words = words;
        command
    }

    fn long(&mut self, key: &str, value: Option<&str>) {
        let number = || value.and_then(|v| v.parse().ok());
        match key {
            "interval" => self.interval_us = number(),
            "distance" => self.distance_us = number(),
            "priority" => self.priority = value.and_then(|v| v.parse().ok()),
            "policy" => self.policy = value.map(str::to_ascii_lowercase),
            "histogram" | "histofall" => (self.histogram, self.bins) = (true, number().or(self.bins)),
            "nsecs" => self.nanos = true,
            "smp" => self.affinity = Some(Affinity::ByNumber),
            "affinity" => self.affinity = affinity(value),
            "aligned" | "secaligned" => self.aligned = true,
            _ => {}
        }
    }

    /// Parses short options: `-mSNq`, `-i200`, `-i 200`.
    fn short<'a>(&mut self, letters: &'a str, rest: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>) {
        for (at, letter) in letters.char_indices() {
            let after = letters.get(at + letter.len_utf8()..).unwrap_or_default();
            let attached = Some(after).filter(|a| !a.is_empty());
            match letter {
                'b' | 'c' | 'd' | 'D' | 'F' | 'h' | 'H' | 'i' | 'l' | 'o' | 'p' => {
                    let value = attached.or_else(|| rest.next());
                    let key = match letter {
                        'd' => "distance",
                        'h' | 'H' => "histogram",
                        'i' => "interval",
                        'p' => "priority",
                        _ => "",
                    };
                    return self.long(key, value);
                }
                'a' | 't' | 'A' => {
                    let value = attached.or_else(|| rest.next_if(|next| !next.starts_with('-')));
                    return self.long(if letter == 'a' { "affinity" } else { "" }, value);
                }
                'S' => self.affinity = Some(Affinity::ByNumber),
                'N' => self.nanos = true,
                _ => {}
            }
        }
    }

    pub fn bins(&self) -> Option<u64> {
        self.bins
    }

    pub fn unit(&self) -> Unit {
        if self.nanos { Unit::Nanos } else { Unit::Micros }
    }

    /// Returns the period of a thread. The default is 1000 µs, and unless there is a histogram the period increases
    /// from thread to thread by `-d` (500 µs by default).
    pub fn period_ns(&self, thread: u32) -> Option<u64> {
        let apart = if self.histogram { 0 } else { self.distance_us.unwrap_or(if self.aligned { 0 } else { 500 }) };
        let us = self.interval_us.unwrap_or(1_000).checked_add(apart.checked_mul(u64::from(thread))?)?;
        us.checked_mul(1_000).filter(|&ns| ns > 0)
    }

    /// Returns the requested policy and priority, if unambiguous: a priority without a policy means FIFO.
    pub fn scheduling(&self) -> Option<Scheduling> {
        let priority = self.priority;
        match self.policy.as_deref() {
            None | Some("fifo") => priority.map(|priority| Scheduling::Fifo { priority }),
            Some("rr") => priority.map(|priority| Scheduling::Rr { priority }),
            _ => None,
        }
    }

    pub fn cpu(&self, thread: u32) -> Option<u32> {
        match self.affinity.as_ref()? {
            Affinity::ByNumber => Some(thread),
            Affinity::List(list) if !list.is_empty() => list.iter().nth(thread as usize % list.len()).map(|cpu| cpu.0),
            Affinity::List(_) => None,
        }
    }
}

fn affinity(value: Option<&str>) -> Option<Affinity> {
    match value {
        None => Some(Affinity::ByNumber),
        // `!` and `+` are relative to the CPUs that the machine allows, which are unknown here.
        Some(list) => list.parse().ok().map(Affinity::List),
    }
}

/// Extracts the command from a line copied from a terminal, for example `$ sudo cyclictest -m -S -p 95`.
pub(crate) fn in_prompt(line: &str, program: &str) -> Option<Vec<String>> {
    let at = line.find(program)?;
    let before = line.get(..at)?.chars().next_back();
    if !before.is_none_or(|c| c.is_whitespace() || "/$#>`".contains(c)) {
        return None;
    }
    let ends = |word: &&str| !matches!(word.chars().next(), Some(';' | '&' | '|' | '#' | '<' | '>' | '(' | ')'));
    let mut words: Vec<String> = Vec::new();
    for word in line.get(at..)?.split_ascii_whitespace().take(LONGEST).take_while(ends) {
        // The command also ends at `-q;` and `-q|tee`.
        let end = word.find([';', '|', '&', '`']);
        words.push(clean(word.get(..end.unwrap_or(word.len()))?));
        if end.is_some() {
            break;
        }
    }
    words.retain(|word| !word.is_empty());
    let whole = words.first().is_some_and(|w| w == program);
    let options = words.get(1).is_some_and(|w| w.starts_with('-') && w.len() > 1);
    // An option has at most one argument, so further words are prose.
    let plain = |word: &String| !word.starts_with('-');
    let spoken = |word: &String| word.starts_with('-') && word.ends_with([':', ',', '.']);
    let prose = words.iter().any(spoken) || words.windows(2).skip(1).any(|pair| pair.iter().all(plain));
    (whole && options && !prose).then_some(words)
}

fn clean(word: &str) -> String {
    word.chars().filter(|c| !c.is_control()).take(LONGEST).collect()
}

pub(crate) fn words(text: &str) -> Vec<String> {
    text.split_whitespace().take(LONGEST).map(clean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(text: &str) -> Command {
        Command::parse(words(text))
    }

    #[test]
    fn options_are_read_as_getopt_does() {
        let c = command("cyclictest -q -h 60 -H 60 -i 200 -p 95 -m -S -D 5 --json=x");
        assert_eq!((c.period_ns(1), c.cpu(1), c.unit()), (Some(200_000), Some(1), Unit::Micros));
        assert_eq!(c.scheduling().map(|s| s.to_string()).as_deref(), Some("FIFO 95"));
        let c = command("cyclictest -mNi500 -t2 -a 2-3 -p80");
        assert_eq!((c.period_ns(0), c.period_ns(1), c.cpu(1)), (Some(500_000), Some(1_000_000), Some(3)));
        assert_eq!(c.unit(), Unit::Nanos);
        // `-smp` means -s, -m, and -p, whose argument is then `-p`.
        assert_eq!(command("cyclictest -smp -p 80").scheduling(), None);
        assert_eq!(
            command("cyclictest --policy=rr --priority=3 --distance=0").scheduling().map(|s| s.to_string()).as_deref(),
            Some("RR 3")
        );
    }

    #[test]
    fn a_prompt_is_found() {
        assert!(in_prompt("root@pi:~# cyclictest -S -p90", "cyclictest").is_some());
        assert!(in_prompt("$ sudo /usr/bin/cyclictest -S", "cyclictest").is_some());
        assert!(in_prompt("I ran cyclictest all night", "cyclictest").is_none());
        assert!(in_prompt("mycyclictest -S", "cyclictest").is_none());
        let nanos =
            |line: &str| Command::parse(in_prompt(line, "cyclictest").unwrap_or_default()).unit() == Unit::Nanos;
        for others in [
            "cyclictest -p99 -q # add -N for ns",
            "cyclictest -p99; netstat -N",
            "cyclictest -q|head -N",
            "cyclictest -N option, not used",
        ] {
            assert!(!nanos(others), "{others}");
        }
        assert!(nanos("$ sudo cyclictest -p 99 -N -q"));
    }
}
