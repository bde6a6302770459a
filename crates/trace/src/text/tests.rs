use super::*;

fn read(text: &str) -> (Vec<Event>, TraceInfo) {
    let mut source = TextSource::new(text.as_bytes(), &b""[..], Options::default()).unwrap();
    let events = source.by_ref().collect();
    (events, source.info().clone())
}
