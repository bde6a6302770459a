//! The guest's script: applies the variations of the seed, then runs `punctual prove`.

use crate::options::LabOptions;
use punctual_judge::VIRTUAL_CONTROLS;
use punctual_model::VirtualTime;
use std::fmt::Write;

/// Path of `punctual` in the guest.
pub(crate) const PROGRAM: &str = "/bin/punctual";
pub(crate) const RUN: &str = "/run/lab";

/// Random numbers by SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a random number below `limit`, which is so small that the bias of the remainder does not matter.
    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }
}

/// Creates the script for one seed.
///
/// Emulators boot identically for every seed, so the script varies what differs between two boots of a real machine:
/// the phase of everything relative to the kernel's tick (a sleep), the memory layout (pages held, length of the
/// environment), and the order of the loads.
pub(crate) fn script(options: &LabOptions, seed: u64, model: &VirtualTime) -> String {
    let mut random = Random(seed);
    let mut script = String::from("# What the seed varies.\n");
    let pages = random.below(4096);
    let padding = random.below(4096);
    let sleep_us = random.below(50_000);
    let loads = shuffled(&options.loads, &mut random);
    // Writing to a String cannot fail.
    let _ = writeln!(script, "head -c {} /dev/zero > /run/held", pages * 4096);
    let _ = writeln!(script, "export PADDING=$(head -c {padding} /dev/zero | tr '\\0' x)");
    let _ = writeln!(script, "usleep {sleep_us}");
    let mut words: Vec<String> =
        [PROGRAM, "prove", "--quiet", "--no-sync", "--out", RUN, "--scratch", "/scratch"].map(String::from).to_vec();
    let mut add = |name: &str, value: String| words.extend([name.to_owned(), value]);
    add("--duration", format!("{}ns", options.duration.0));
    add("--warmup", format!("{}ns", options.warmup.0));
    // A trace would add its own instructions to every latency.
    add("--trace", "never".into());
    add("--period", format!("{}ns", options.period.0));
    options.priority.iter().for_each(|p| add("--priority", p.to_string()));
    options.deadline.iter().for_each(|d| add("--deadline", format!("{}ns", d.0)));
    options.claims.iter().for_each(|c| add("--claim", c.to_string()));
    loads.into_iter().for_each(|l| add("--load", l));
    // The model's names and numbers are always valid JSON.
    add("--virtual-time", serde_json::to_string(model).unwrap_or_default());
    let quoted: Vec<String> = words.iter().map(|w| quote(w)).collect();
    let _ = writeln!(script, "exec {}", quoted.join(" "));
    script
}

/// Shuffles the loads (Fisher and Yates). Idle and the controls stay first, because the controls are judged against
/// idle.
fn shuffled(loads: &[String], random: &mut Random) -> Vec<String> {
    let first = |load: &&String| load.as_str() == "idle" || VIRTUAL_CONTROLS.contains(&load.as_str());
    let mut front: Vec<String> = loads.iter().filter(first).cloned().collect();
    let mut rest: Vec<String> = loads.iter().filter(|l| !first(l)).cloned().collect();
    for i in (1..rest.len()).rev() {
        let j = random.below(i as u64 + 1) as usize;
        rest.swap(i, j);
    }
    front.extend(rest);
    front
}

/// Quotes a word for a POSIX shell.
pub(crate) fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:,=@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::process::Command;

    #[test]
    fn seeds_change_the_order_but_not_the_set() {
        let loads: Vec<String> =
            ["idle", "cpu", "memory", "io", "loopback", "scheduler", "all"].map(String::from).to_vec();
        let of = |seed| shuffled(&loads, &mut Random(seed));
        let sorted = |mut l: Vec<String>| {
            l.sort();
            l
        };
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        assert_eq!(sorted(of(1)), sorted(loads.clone()));
        assert_eq!(of(3)[0], "idle");
    }

    proptest! {
        #[test]
        fn a_quoted_word_reaches_the_program_whole(word in "[^\\x00]*") {
            let echoed = Command::new("sh").arg("-c").arg(format!("printf %s {}", quote(&word))).output().unwrap();
            prop_assert_eq!(String::from_utf8_lossy(&echoed.stdout), word);
        }
    }
}
