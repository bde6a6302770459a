use punctual_model::Run;

/// Returns the ID of a run: sixteen hexadecimal digits derived from facts that do not change if a run is copied, moved,
/// explained later, or finished after it was added: time and place of its start, and its parameters. If these do not
/// distinguish runs, because a file lacks them or because virtual clocks all start at the same time, the results or the
/// checksums of the files are included.
pub fn identity(run: &Run) -> String {
    let mut hash = Fnv::new();
    let facts = [&run.machine.kernel_release, &run.machine.kernel_version, &run.machine.architecture, &run.host];
    facts.into_iter().for_each(|fact| hash.text(fact.as_deref()));
    run.command.iter().for_each(|word| hash.text(Some(word)));
    if let Some(start) = run.started {
        [start.real_ns, start.mono_ns, start.boot_ns].into_iter().for_each(|n| hash.number(Some(n)));
    }
    for file in run.import.iter().flat_map(|import| &import.files) {
        hash.text(Some(&file.format));
        [file.bytes, file.crc32.into()].into_iter().for_each(|n| hash.number(Some(n)));
    }
    if let Some(model) = &run.virtual_time {
        [&model.emulator, &model.machine, &model.kernel].into_iter().for_each(|text| hash.text(Some(text)));
        [model.instruction_ns.into(), model.cpus.into(), model.seed].into_iter().for_each(|n| hash.number(Some(n)));
    }
    let begins_alike = run.virtual_time.is_some() || run.started.is_none();
    if begins_alike && run.import.is_none() {
        for (phase, cpu) in run.phases.iter().flat_map(|p| p.cpus.iter().map(move |c| (p, c))) {
            hash.text(Some(&phase.id));
            [Some(cpu.cpu.0.into()), Some(cpu.ran), cpu.skipped, cpu.max_ns].into_iter().for_each(|n| hash.number(n));
        }
    }
    format!("{:016x}", hash.0)
}

/// 64-bit FNV-1a (draft-eastlake-fnv-21). The probability that two of 100,000 runs have the same value is 1 in 3.7
/// billion.
struct Fnv(u64);

impl Fnv {
    fn new() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// Includes lengths, so that `ab`, `c` differs from `a`, `bc`.
    fn text(&mut self, text: Option<&str>) {
        self.number(text.map(|t| t.len() as u64));
        self.bytes(text.unwrap_or_default().as_bytes());
    }

    fn number(&mut self, number: Option<u64>) {
        self.bytes(&[u8::from(number.is_some())]);
        self.bytes(&number.unwrap_or(0).to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_published() {
        let of = |text: &str| {
            let mut hash = Fnv::new();
            hash.bytes(text.as_bytes());
            hash.0
        };
        assert_eq!([of(""), of("a"), of("foobar")], [0xcbf29ce484222325, 0xaf63dc4c8601ec8c, 0x85944171f73967e8]);
    }
}
