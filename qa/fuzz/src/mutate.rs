//! Mutations of an input: bytes and lengths are changed, and parts, lines and words are removed, duplicated or moved.

/// xorshift64* (Vigna 2016): fast, and the same on every machine.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        let mut mixed = Random(seed.wrapping_add(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..4 {
            mixed.next();
        }
        mixed
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Returns a number below `most`, or 0 if `most` is 0.
    pub fn below(&mut self, most: usize) -> usize {
        ((u128::from(self.next()) * most as u128) >> 64) as usize
    }
}

/// Values that are typical of wrong lengths and offsets.
const NUMBERS: &[u64] = &[
    0,
    1,
    2,
    3,
    4,
    7,
    8,
    16,
    28,
    29,
    64,
    127,
    128,
    255,
    256,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0x7f_ffff,
    0x800_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_fff0,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xffff_ffff_ffff_fff8,
    u64::MAX,
];

pub const TRACE_WORDS: &[&str] = &[
    " ==> ",
    ": ",
    "[000]",
    "[8191]",
    "[99999999999]",
    "#",
    "# tracer: nop\n",
    "...1",
    "dNh2.",
    "d..2.",
    "<idle>-0",
    "-1",
    "0x",
    "4294967295",
    "-9223372036854775808",
    "18446744073709551616",
    "1.000001:",
    "99999999999999.999999:",
    "us : ",
    "us+: ",
    "=\n",
    "=3D",
    "> ",
    "&gt;",
    "&lt;",
    "\n",
    "\r\n",
    " CPU:0 [LOST 5 EVENTS]\n",
    "<stack trace>\n",
    " => f+0x1/0x2\n",
    "sched_switch: ",
    "sched_waking: comm=a pid=9 prio=19 target_cpu=000\n",
    "[omitted for brevity]\n",
    "\u{a0}",
    "\t",
    "[...]\n",
    "hrtimer_start: hrtimer=0000 function=f expires=1 softexpires=1",
    "T: 0 (77) P:80 I:200 C: 5 Min: 1 Act: 2 Avg: 3 Max: 4\n",
    "# Histogram\n",
    "# Histogram Overflows: ",
    "000011 000001\t000002\n",
    "Index   IRQ-000   Thr-000\n",
    "\u{1b}[2A",
    ",",
    "## CPU 1 hit stop tracing, analyzing it ##\n",
];

/// Changes an input 1 to 6 times. Parts are taken from `other`; `words` are words for which a text reader searches.
pub fn mutate(input: &mut Vec<u8>, other: &[u8], words: &[&str], random: &mut Random) {
    for _ in 0..=random.below(6) {
        once(input, other, words, random);
    }
}

fn once(input: &mut Vec<u8>, other: &[u8], words: &[&str], random: &mut Random) {
    let at = random.below(input.len());
    match random.below(if words.is_empty() { 12 } else { 16 }) {
        0 | 1 => {
            if let Some(byte) = input.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        2 => {
            if let Some(byte) = input.get_mut(at) {
                *byte = random.next() as u8;
            }
        }
        3..=5 => number(input, at, random),
        6 => input.truncate(at),
        7 => {
            let end = at + random.below((input.len() - at).min(64) + 1);
            input.drain(at..end);
        }
        8 => {
            let end = at + random.below((input.len() - at).min(200) + 1);
            let piece = input.get(at..end).unwrap_or_default().to_vec();
            put(input, random.below(input.len() + 1), &piece);
        }
        9 => {
            let from = random.below(other.len());
            let piece = other.get(from..(from + random.below(300)).min(other.len())).unwrap_or_default().to_vec();
            put(input, at, &piece);
        }
        10 => over(input, at, random),
        11 => {
            let byte = random.next() as u8;
            put(input, at, &vec![byte; 1 + random.below(40)]);
        }
        12 => put(input, at, words[random.below(words.len())].as_bytes()),
        13 => digits(input, at, random),
        _ => lines(input, random),
    }
}

/// Writes a number of 1, 2, 4 or 8 bytes, or changes an existing one slightly, usually where a number is likely.
fn number(input: &mut [u8], at: usize, random: &mut Random) {
    let size = 1usize << random.below(4);
    let at = if random.below(2) == 0 { at & !(size - 1) } else { at };
    let length = input.len() as u64;
    let Some(place) = input.get_mut(at..at + size) else { return };
    let mut bytes = [0; 8];
    bytes[..size].copy_from_slice(place);
    let value = match random.below(4) {
        0 => u64::from_le_bytes(bytes).wrapping_add(random.below(33) as u64).wrapping_sub(16),
        1 => length.wrapping_sub(random.below(32) as u64),
        _ => NUMBERS[random.below(NUMBERS.len())],
    };
    place.copy_from_slice(&value.to_le_bytes()[..size]);
}

fn over(input: &mut [u8], at: usize, random: &mut Random) {
    let to = random.below(input.len());
    let length = random.below(32).min(input.len() - at.max(to));
    input.copy_within(at..at + length, to);
}

fn put(input: &mut Vec<u8>, at: usize, piece: &[u8]) {
    let at = at.min(input.len());
    input.splice(at..at, piece.iter().copied());
}

fn digits(input: &mut Vec<u8>, at: usize, random: &mut Random) {
    let Some(start) = input.iter().skip(at).position(u8::is_ascii_digit).map(|n| n + at) else { return };
    let end = start + input.iter().skip(start).take_while(|b| b.is_ascii_digit()).count();
    let value = NUMBERS[random.below(NUMBERS.len())];
    input.splice(start..end, value.to_string().into_bytes());
}

fn lines(input: &mut Vec<u8>, random: &mut Random) {
    let mut all: Vec<Vec<u8>> = input.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
    let (a, b) = (random.below(all.len()), random.below(all.len()));
    match random.below(4) {
        _ if all.is_empty() => {}
        0 => drop(all.remove(a)),
        1 => {
            let line = all[a].clone();
            all.insert(b, line);
        }
        2 => all.swap(a, b),
        _ => drop(all[a].pop()),
    }
    *input = all.concat();
}
