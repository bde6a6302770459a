use punctual_model::Worst;
use punctual_units::Arrange;
use serde::Serialize;

pub(crate) fn lines<T: Serialize>(all: &[T]) -> Vec<u8> {
    let mut lines = Vec::new();
    for one in all {
        // Serialising plain numbers and strings to memory cannot fail.
        if serde_json::to_writer(&mut lines, one).is_ok() {
            lines.push(b'\n');
        }
    }
    lines
}

pub(crate) fn worst_lines(worst: &mut [Worst]) -> Vec<u8> {
    worst.arrange_by(|a, b| b.latency_ns.cmp(&a.latency_ns).then(a.release_mono_ns.cmp(&b.release_mono_ns)));
    lines(worst)
}

pub(crate) fn pretty<T: Serialize>(value: &T) -> std::io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(value)?;
    text.push(b'\n');
    Ok(text)
}
