pub struct Builder {
    pub big: bool,
    pub long: usize,
    pub bytes: Vec<u8>,
    /// For version 6 of trace.dat: the content of /proc/kallsyms. `instance` is the data of a trace instance.
    pub symbols: String,
    pub instance: Vec<u8>,
}

impl Builder {
    pub fn new(big: bool, long: usize) -> Builder {
        Builder { big, long, bytes: Vec::new(), symbols: String::new(), instance: Vec::new() }
    }

    pub fn u16(&mut self, v: u16) {
        self.bytes.extend(if self.big { v.to_be_bytes() } else { v.to_le_bytes() });
    }

    pub fn u32(&mut self, v: u32) {
        self.bytes.extend(if self.big { v.to_be_bytes() } else { v.to_le_bytes() });
    }

    pub fn u64(&mut self, v: u64) {
        self.bytes.extend(if self.big { v.to_be_bytes() } else { v.to_le_bytes() });
    }

    pub fn long(&mut self, v: u64) {
        if self.long == 4 { self.u32(v as u32) } else { self.u64(v) }
    }

    pub fn text(&mut self, text: &str) {
        self.bytes.extend(text.as_bytes());
    }

    pub fn put(&mut self, at: usize, size: usize, value: i64) {
        let all = if self.big { value.to_be_bytes() } else { value.to_le_bytes() };
        let part = if self.big { &all[8 - size..] } else { &all[..size] };
        self.bytes[at..at + size].copy_from_slice(part);
    }

    /// A ring-buffer page. Each record is a pair: the time since the preceding record, and the data.
    pub fn page(&self, t: u64, flags: u64, size: usize, records: &[(u32, Vec<u8>)]) -> Vec<u8> {
        let mut data = Builder::new(self.big, self.long);
        for (delta, record) in records {
            let words = record.len().div_ceil(4);
            let kind = if words <= 28 { words as u32 } else { 0 };
            data.u32(if self.big { kind << 27 | delta } else { delta << 5 | kind });
            if kind == 0 {
                data.u32(4 * words as u32 + 4);
            }
            data.bytes.extend(record);
            data.bytes.resize(data.bytes.len().next_multiple_of(4), 0);
        }
        let mut page = Builder::new(self.big, self.long);
        page.u64(t);
        page.long(data.bytes.len() as u64 | flags);
        page.bytes.extend(&data.bytes);
        assert!(page.bytes.len() <= size);
        page.bytes.resize(size, 0);
        page.bytes
    }

    pub fn dat6(mut self, formats: &[String], comms: &str, uname: &str, page: usize, cpus: &[Vec<u8>]) -> Vec<u8> {
        self.bytes.extend(b"\x17\x08\x44tracing6\0");
        self.bytes.extend([u8::from(self.big), self.long as u8]);
        self.u32(page as u32);
        let data = 8 + self.long;
        let header = format!(
            "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:{};\tsigned:1;\n\
             \tfield: char data;\toffset:{data};\tsize:{};\tsigned:0;\n",
            self.long,
            page - data
        );
        self.text("header_page\0");
        self.u64(header.len() as u64);
        self.text(&header);
        self.text("header_event\0");
        self.u64(0);
        self.u32(0);
        self.u32(1);
        self.text("sched\0");
        self.u32(formats.len() as u32);
        for format in formats {
            self.u64(format.len() as u64);
            self.text(format);
        }
        let symbols = std::mem::take(&mut self.symbols);
        self.u32(symbols.len() as u32);
        self.text(&symbols);
        self.u32(0);
        self.u64(comms.len() as u64);
        self.text(comms);
        self.u32(cpus.len() as u32);
        self.text("options  \0");
        self.u16(5);
        self.u32(uname.len() as u32);
        self.text(uname);
        self.u16(3);
        self.u32(13);
        let place = self.bytes.len();
        self.u64(0);
        self.text("room\0");
        self.u16(0);
        self.text("flyrecord\0");
        let mut at = (self.bytes.len() + 16 * cpus.len()).next_multiple_of(page);
        let first = at;
        for cpu in cpus {
            self.u64(at as u64);
            self.u64(cpu.len() as u64);
            at += cpu.len();
        }
        self.bytes.resize(first, 0);
        cpus.iter().for_each(|cpu| self.bytes.extend(cpu));
        let instance = std::mem::take(&mut self.instance);
        let end = self.bytes.len();
        self.put(place, 8, end as i64);
        self.text("flyrecord\0");
        for (n, _) in cpus.iter().enumerate() {
            let at = end + 10 + 16 * cpus.len();
            self.u64(at as u64);
            self.u64(if n == 0 { instance.len() as u64 } else { 0 });
        }
        self.bytes.extend(instance);
        self.bytes
    }
}

/// Splits a `*.formats.txt` fixture into format files.
pub fn formats(text: &str) -> Vec<String> {
    text.split("name: ").skip(1).map(|f| format!("name: {f}")).collect()
}

pub fn field(format: &str, name: &str) -> (usize, usize) {
    let line = format
        .lines()
        .find(|l| l.split(';').next().is_some_and(|d| d.split([' ', '[', '*']).any(|w| w == name)))
        .unwrap_or_else(|| panic!("no field {name}"));
    let value = |key: &str| line.split(key).nth(1).unwrap().split(';').next().unwrap().parse().unwrap();
    (value("offset:"), value("size:"))
}

pub fn format_of<'a>(formats: &'a [String], name: &str) -> &'a str {
    formats.iter().find(|f| f.starts_with(&format!("name: {name}\n"))).unwrap()
}

pub fn id(format: &str) -> u16 {
    format.lines().find_map(|l| l.strip_prefix("ID: ")).unwrap().parse().unwrap()
}

/// A record with these fields; `__data_loc` strings follow the fixed part.
pub fn record(b: &Builder, format: &str, numbers: &[(&str, i64)], strings: &[(&str, &str)]) -> Vec<u8> {
    let mut r = Builder::new(b.big, b.long);
    r.bytes.resize(256, 0);
    let mut end = 0;
    for line in format.lines().filter(|l| l.contains("field:")) {
        let value = |key: &str| line.split(key).nth(1).unwrap().split(';').next().unwrap().parse::<usize>().unwrap();
        end = end.max(value("offset:") + value("size:"));
    }
    for (name, value) in numbers.iter().copied().chain([("common_type", i64::from(id(format)))]) {
        let (at, size) = field(format, name);
        r.put(at, size, value);
    }
    for (name, text) in strings {
        let (mut at, size) = field(format, name);
        if size == 4 {
            r.put(at, 4, ((text.len() + 1) << 16 | end) as i64);
            (at, end) = (end, end + text.len() + 1);
        }
        r.bytes[at..at + text.len()].copy_from_slice(text.as_bytes());
    }
    r.bytes.truncate(end);
    r.bytes
}
