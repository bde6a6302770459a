//! Seed traces of a few hundred bytes to a few kilobytes, so small that an execution takes microseconds.

use super::Reader;
use std::fs;
use std::path::Path;

/// A field of an event in the synthetic traces: type, name, size, sign.
type Field = (&'static str, &'static str, usize, u8);
const FORMATS: &[(&str, u16, &[Field])] = &[
    (
        "sched_switch",
        309,
        &[
            ("char", "prev_comm[16]", 16, 0),
            ("pid_t", "prev_pid", 4, 1),
            ("int", "prev_prio", 4, 1),
            ("long", "prev_state", 8, 1),
            ("char", "next_comm[16]", 16, 0),
            ("pid_t", "next_pid", 4, 1),
            ("int", "next_prio", 4, 1),
        ],
    ),
    (
        "sched_waking",
        312,
        &[("char", "comm[16]", 16, 0), ("pid_t", "pid", 4, 1), ("int", "prio", 4, 1), ("int", "target_cpu", 4, 1)],
    ),
    ("hrtimer_start", 400, &[("void *", "hrtimer", 8, 0), ("void *", "function", 8, 0), ("s64", "expires", 8, 1)]),
    ("hrtimer_expire_entry", 401, &[("void *", "hrtimer", 8, 0), ("s64", "now", 8, 1), ("void *", "function", 8, 0)]),
    ("local_timer_entry", 90, &[("int", "vector", 4, 1)]),
    ("local_timer_exit", 91, &[("int", "vector", 4, 1)]),
    ("irq_handler_entry", 100, &[("int", "irq", 4, 1), ("__data_loc char[]", "name", 4, 1)]),
    ("kernel_stack", 4, &[("int", "size", 4, 1), ("unsigned long", "caller", 0, 0)]),
];

const COMMON: &[Field] = &[
    ("unsigned short", "common_type", 2, 0),
    ("unsigned char", "common_flags", 1, 0),
    ("unsigned char", "common_preempt_count", 1, 0),
    ("int", "common_pid", 4, 1),
];

fn formats() -> Vec<String> {
    let format = |(name, id, fields): &(&str, u16, &[Field])| {
        let mut text = format!("name: {name}\nID: {id}\nformat:\n");
        let mut at = 0;
        for (kind, name, size, signed) in COMMON.iter().chain(*fields) {
            text += &format!("\tfield:{kind} {name};\toffset:{at};\tsize:{size};\tsigned:{signed};\n");
            at += size;
        }
        text + "\nprint fmt: \"\", { 0x01, \"S\" }, { 0x02, \"D\" }\n"
    };
    FORMATS.iter().map(format).collect()
}

/// A buffer to which little-endian data is appended.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn put(mut self, bytes: &[u8]) -> Bytes {
        self.0.extend(bytes);
        self
    }

    fn u16(self, v: u16) -> Bytes {
        self.put(&v.to_le_bytes())
    }

    fn u32(self, v: u32) -> Bytes {
        self.put(&v.to_le_bytes())
    }

    fn u64(self, v: u64) -> Bytes {
        self.put(&v.to_le_bytes())
    }

    fn comm(self, name: &str) -> Bytes {
        let mut bytes = name.as_bytes().to_vec();
        bytes.resize(16, 0);
        self.put(&bytes)
    }
}

fn head(id: u16, tid: u32) -> Bytes {
    Bytes::default().u16(id).put(&[1, 1]).u32(tid)
}

fn switch(from: (u32, &str, u32), state: u64, to: (u32, &str, u32)) -> Vec<u8> {
    let prev = head(309, from.0).comm(from.1).u32(from.0).u32(from.2).u64(state);
    prev.comm(to.1).u32(to.0).u32(to.2).0
}

/// Returns a late wakeup of thread 9 after thread 7, as records, each with the time since the previous one.
fn records(t: u64) -> Vec<(u32, Vec<u8>)> {
    let (hog, victim) = ((7, "hog", 0), (9, "cyclictest", 19));
    let timer = |id| head(id, 7).u64(0xffff_8880_0000_1000);
    vec![
        (0, head(400, 9).u64(0xffff_8880_0000_1000).u64(0xffff_ffff_8100_0000).u64(t + 20_000).0),
        (1000, switch(victim, 1, hog)),
        (21_000, head(90, 7).u32(236).0),
        (500, timer(401).u64(t + 21_000).u64(0xffff_ffff_8100_0000).0),
        (500, head(312, 7).comm("cyclictest").u32(9).u32(19).u32(0).0),
        (500, head(91, 7).u32(236).0),
        (900_000, head(100, 7).u32(24).u32(5 << 16 | 16).put(b"eth0\0\0\0\0").0),
        (100, head(4, 7).u32(2).u32(0).u64(0xffff_ffff_8100_0010).u64(u64::MAX).0),
        (4000, switch(hog, 1, victim)),
    ]
}

fn page(t: u64, flags: u64, size: usize) -> Vec<u8> {
    let mut data = Vec::new();
    for (delta, record) in records(t) {
        let words = record.len().div_ceil(4) as u32;
        let word: u32 = delta << 5 | if words <= 28 { words } else { 0 };
        data.extend(word.to_le_bytes());
        if words > 28 {
            data.extend((4 * words + 4).to_le_bytes());
        }
        data.extend(&record);
        data.resize(data.len().next_multiple_of(4), 0);
    }
    let mut page = Bytes::default().u64(t).u64(data.len() as u64 | flags).put(&data).0;
    page.resize(page.len().max(size), 0);
    page
}

const PAGE: usize = 1024;

fn header_page() -> String {
    format!(
        "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
         \tfield: char data;\toffset:16;\tsize:{};\tsigned:0;\n",
        PAGE - 16
    )
}

/// Returns the start of a file of this version, from the magic number to the page size.
fn start(version: &str) -> Bytes {
    Bytes::default().put(b"\x17\x08\x44tracing").put(version.as_bytes()).put(b"\0\0\x08").u32(PAGE as u32)
}

fn headers(out: Bytes) -> Bytes {
    let page = header_page();
    let out = out.put(b"header_page\0").u64(page.len() as u64).put(page.as_bytes());
    out.put(b"header_event\0").u64(0)
}

fn events(out: Bytes) -> Bytes {
    let formats = formats();
    let mut out = out.u32(1).put(b"sched\0").u32(formats.len() as u32);
    for format in &formats {
        out = out.u64(format.len() as u64).put(format.as_bytes());
    }
    out
}

const SYMBOLS: &str = "ffffffff81000000 t hrtimer_wakeup\nffffffff81000100 t tick_nohz_handler\n";
const COMMS: &str = "7 hog\n9 cyclictest\n";

/// Returns the sections up to the task names, which version 6 and perf have in common.
fn linear(out: Bytes) -> Bytes {
    let out = events(headers(out).u32(0)).u32(SYMBOLS.len() as u32).put(SYMBOLS.as_bytes());
    out.u32(0).u64(COMMS.len() as u64).put(COMMS.as_bytes())
}

/// Returns a file of version 6, with the pages in the main buffer or in an instance.
fn dat6(instance: bool) -> Vec<u8> {
    let out = linear(start("6")).u32(2).put(b"options  \0");
    let (clock, uname) = (b"local [mono]\0", b"Linux host 6.12.0 x86_64\0");
    let out = out.u16(4).u32(clock.len() as u32).put(clock).u16(5).u32(uname.len() as u32).put(uname);
    if instance {
        let at = out.0.len() as u64 + 21 + 10 + 32;
        let out = out.u16(3).u32(13).u64(at).put(b"room\0").u16(0);
        return data(out.put(b"flyrecord\0").put(&[0; 32])).0;
    }
    data(out.u16(0)).0
}

fn data(out: Bytes) -> Bytes {
    let out = out.put(b"flyrecord\0");
    let data = (out.0.len() + 32) as u64;
    let mut out = out.u64(data).u64(PAGE as u64).u64(data + PAGE as u64).u64(PAGE as u64);
    out = out.put(&page(1_000_000, 0, PAGE));
    out.put(&page(3_000_000, 1 << 31, PAGE))
}

fn section(out: Bytes, id: u16, packed: bool, body: &[u8]) -> Bytes {
    let zstd = ruzstd::encoding::compress_to_vec(body, ruzstd::encoding::CompressionLevel::Fastest);
    let size = if packed { zstd.len() + 8 } else { body.len() };
    let out = out.u16(id).u16(packed.into()).u32(0).u64(size as u64);
    match packed {
        true => out.u32(zstd.len() as u32).u32(body.len() as u32).put(&zstd),
        false => out.put(body),
    }
}

/// Returns a file of version 7, whose sections and pages are compressed if `packed` is true.
fn dat7(packed: bool) -> Vec<u8> {
    let mut out = start("7").put(b"zstd\x001.5\0");
    let first = out.0.len();
    out = out.u64(0);
    let mut places = Vec::new();
    let comms = Bytes::default().u64(COMMS.len() as u64).put(COMMS.as_bytes()).0;
    let symbols = Bytes::default().u32(SYMBOLS.len() as u32).put(SYMBOLS.as_bytes()).0;
    for (id, body) in
        [(16u16, headers(Bytes::default()).0), (18, events(Bytes::default()).0), (19, symbols), (21, comms)]
    {
        places.push((id, out.0.len() as u64));
        out = section(out, id, packed, &body);
    }
    let data = out.0.len() as u64;
    let zstd =
        ruzstd::encoding::compress_to_vec(&page(1_000_000, 0, PAGE)[..], ruzstd::encoding::CompressionLevel::Fastest);
    let pages = match packed {
        true => Bytes::default().u32(1).u32(zstd.len() as u32).u32(PAGE as u32).put(&zstd).0,
        false => page(1_000_000, 0, PAGE),
    };
    out = out.u16(3).u16(packed.into()).u32(0).u64(pages.len() as u64).put(&pages);
    let size = pages.len() as u64 - if packed { 4 } else { 0 };
    let buffer = Bytes::default().u64(data).put(b"\0mono\0").u32(PAGE as u32).u32(1).u32(0).u64(data + 16).u64(size).0;
    let mut options = Bytes::default();
    for (id, place) in places {
        options = options.u16(id).u32(8).u64(place);
    }
    options = options.u16(3).u32(buffer.len() as u32).put(&buffer).u16(0).u32(8).u64(0);
    let at = out.0.len() as u64;
    out.0[first..first + 8].copy_from_slice(&at.to_le_bytes());
    section(out, 0, false, &options.0).0
}

fn perf_record(out: Bytes, kind: u32, body: &[u8]) -> Bytes {
    out.u32(kind).u16(0).u16(8 + body.len() as u16).put(body)
}

/// Returns the records of a perf recording that follow its attributes and formats.
fn perf_records() -> Vec<u8> {
    let mut out = Bytes::default();
    let trailer = |body: Bytes, t: u64| body.u32(7).u32(7).u64(t).u32(0).u32(0).u64(1).0;
    out = perf_record(out, 3, &trailer(Bytes::default().u32(7).u32(7).put(b"hog\0\0\0\0\0"), 0));
    let mut t = 1_000_000;
    for (delta, record) in records(t) {
        t += u64::from(delta);
        let body = Bytes::default().u64(1).u64(0xffff).u32(7).u32(7).u64(t).u32(0).u32(0);
        let size = (record.len() + 4).next_multiple_of(8) - 4;
        let mut body = body.u64(1).u32(size as u32).put(&record).0;
        body.resize(body.len() + size - record.len(), 0);
        out = perf_record(out, 9, &body);
    }
    out = perf_record(out, 68, &[]);
    out = perf_record(out, 2, &trailer(Bytes::default().u64(1).u64(5), t));
    perf_record(out, 68, &[]).0
}

fn perf_attr() -> Vec<u8> {
    let out = Bytes::default().u32(2).u32(112).u64(309).u64(1).u64(0x1_0587).u64(4).u64(1 << 18 | 1 << 25);
    let mut out = out.put(&[0; 44]).u32(1).0;
    out.resize(112, 0);
    out
}

fn perf_pipe(packed: bool) -> Vec<u8> {
    let out = Bytes::default().put(b"PERFILE2").u64(16);
    let attr = [perf_attr(), 1u64.to_le_bytes().to_vec()].concat();
    let formats = linear(start("0.6")).0;
    let out = perf_record(perf_record(out, 64, &attr), 66, &(formats.len() as u32).to_le_bytes()).put(&formats);
    let records = perf_records();
    match packed {
        false => out.put(&records).0,
        true => {
            let mut zstd = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 0x10];
            for block in records.chunks(500) {
                zstd.extend((block.len() as u32).wrapping_mul(8).to_le_bytes().get(..3).unwrap_or_default());
                zstd.extend(block);
            }
            let (first, second) = zstd.split_at(700);
            perf_record(perf_record(out, 81, first), 81, second).0
        }
    }
}

fn perf_file() -> Vec<u8> {
    let (records, formats) = (perf_records(), linear(start("0.6")).0);
    let out = Bytes::default().put(b"PERFILE2").u64(104).u64(128).u64(112).u64(128).u64(240).u64(records.len() as u64);
    let out = out.u64(0).u64(0).u64(1 << 1 | 1 << 4).u64(0).u64(0).u64(0).u64(1);
    let out = out.put(&perf_attr()).u64(104).u64(8).put(&records);
    let table = out.0.len() as u64;
    let release = Bytes::default().u32(8).put(b"6.12.0\0\0").0;
    let out = out.u64(table + 32).u64(formats.len() as u64).u64(table + 32 + formats.len() as u64).u64(12);
    out.put(&formats).put(&release).0
}

/// Returns parts of a text fixture with about this many lines, from several places.
fn pieces(name: &str, lines: usize) -> Vec<Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/analysis/trace/tests/fixtures").join(name);
    let text = fs::read(path).unwrap_or_default();
    let all: Vec<&[u8]> = text.split_inclusive(|b| *b == b'\n').collect();
    let headers: Vec<u8> = all.iter().take(3).flat_map(|l| l.iter().copied()).collect();
    let steps = (all.len() / 6).max(1);
    all.windows(lines.min(all.len()).max(1))
        .step_by(steps)
        .take(6)
        .map(|window| [headers.clone(), window.concat()].concat())
        .collect()
}

/// Returns pages, each preceded by a byte that selects its layout.
fn pages() -> Vec<Vec<u8>> {
    vec![
        [&[0u8][..], &page(1_000_000, 0, 0)].concat(),
        [&[0u8][..], &page(1_000_000, 3 << 30, 0), &7u64.to_le_bytes()].concat(),
    ]
}

/// Returns the event formats with which [`Reader::Pages`] decodes.
pub fn page_formats() -> Vec<String> {
    formats()
}

pub fn of(reader: Reader) -> Vec<Vec<u8>> {
    let many = |names: &[&str]| names.iter().flat_map(|name| pieces(name, 14)).collect();
    match reader {
        Reader::Dat6 => vec![dat6(false), dat6(true)],
        Reader::Dat7 => vec![dat7(false), dat7(true)],
        Reader::Pages => pages(),
        Reader::Boot => super::boot::seeds(),
        Reader::Usdt => vec![super::texts::sample("crates/measurement/stacks/tests/fixtures/usdt.elf")],
        Reader::Import(format) => super::import::seeds(format),
        Reader::Archive => super::archives::seeds(),
        Reader::Run | Reader::Package => super::folder::seeds(reader),
        reader if reader.is_text_of_others() => super::texts::seeds(reader),
        Reader::Perf => vec![perf_pipe(false), perf_pipe(true), perf_file()],
        Reader::Kernel => many(&[
            "g612.trace.txt",
            "g61.steal.trace.txt",
            "g612.latency-format.txt",
            "g612.wakeup_rt.txt",
            "g612.hist-onmax-snapshot.txt",
            "g612.timerlat.txt",
            "g612.osnoise.txt",
            "g612.hwlat.txt",
        ]),
        Reader::TraceCmd => many(&["g612.dat.report.txt"]),
        Reader::Rtla => {
            let mut all: Vec<Vec<u8>> = many(&["g612.rtla-trace.txt", "g612.rtla-aa.txt"]);
            // Text as pasted into mails: quoted, and with soft line breaks.
            for name in ["g612.rtla-aa.txt", "g612.wakeup_rt.txt"] {
                let quoted = pieces(name, 10).into_iter().next().unwrap_or_default();
                let lines = quoted.split_inclusive(|b| *b == b'\n');
                all.push(lines.flat_map(|l| [b"> ", l].concat()).collect());
                all.push(quoted.chunks(76).flat_map(|l| [l, b"=\n"].concat()).collect());
            }
            all
        }
        _ => super::foreign::seeds(reader),
    }
}
