use super::*;
use proptest::prelude::*;

struct Builder {
    layout: Layout,
    data: Vec<u8>,
}

impl Builder {
    fn word(&mut self, word: u32) {
        self.data.extend(if self.layout.big_endian { word.to_be_bytes() } else { word.to_le_bytes() });
    }

    fn header(&mut self, kind: u32, delta: u32) {
        self.word(if self.layout.big_endian { kind << 27 | delta } else { delta << 5 | kind });
    }

    fn page(&self, t: u64, flags: u64) -> Vec<u8> {
        let commit = self.data.len() as u64 | flags;
        let mut page = if self.layout.big_endian { t.to_be_bytes() } else { t.to_le_bytes() }.to_vec();
        let (big, long) = (self.layout.big_endian, self.layout.long);
        match (big, long) {
            (true, 4) => page.extend((commit as u32).to_be_bytes()),
            (false, 4) => page.extend((commit as u32).to_le_bytes()),
            (true, _) => page.extend(commit.to_be_bytes()),
            (false, _) => page.extend(commit.to_le_bytes()),
        }
        page.extend(&self.data);
        page.resize(self.layout.page, 0);
        page
    }
}

fn all(page: &[u8], layout: &Layout) -> Vec<(u64, Vec<u8>)> {
    let mut walk = Walk::new(page, layout).unwrap();
    let mut found = Vec::new();
    while let Some(record) = walk.next(page, layout).unwrap() {
        found.push((record.t, page[record.start..record.end].to_vec()));
    }
    found
}

#[test]
fn every_record_kind_in_every_layout() {
    for (big_endian, long) in [(false, 8), (false, 4), (true, 8), (true, 4)] {
        let layout = Layout::new(big_endian, long, 4096);
        let mut b = Builder { layout, data: Vec::new() };
        b.header(2, 5); // two words
        b.data.extend(*b"abcdefgh");
        b.header(TIME_EXTEND, 3);
        b.word(2); // 2 << 27 + 3
        b.header(LONG, 1);
        b.word(4 + 120);
        b.data.extend([7; 120]);
        b.header(PADDING, 10); // a discarded event
        b.word(4);
        b.header(TIME_STAMP, 9);
        b.word(1 << 8);
        b.header(1, 1);
        b.data.extend([1, 2, 3, 4]);
        b.header(PADDING, 0); // rest of the page
        b.data.extend([0xff; 64]);
        let extended = 1005 + (2 << 27) + 3 + 1;
        let stamped = ((1u64 << 8) << 27 | 9) + 1;
        let expected = [(1005, b"abcdefgh".to_vec()), (extended, vec![7; 120]), (stamped, vec![1, 2, 3, 4])].to_vec();
        assert_eq!(all(&b.page(1000, 0), &layout), expected, "{layout:?}");
    }
}

#[test]
fn lost_events_with_and_without_a_count() {
    let layout = Layout::new(false, 8, 64);
    let mut b = Builder { layout, data: vec![] };
    b.header(1, 0);
    b.word(1);
    let mut page = b.page(5, MISSED | MISSED_STORED);
    page[24..32].copy_from_slice(&42u64.to_le_bytes());
    assert_eq!(Walk::new(&page, &layout).unwrap().missed, Some(Some(42)));
    assert_eq!(Walk::new(&b.page(5, MISSED), &layout).unwrap().missed, Some(None));
    assert_eq!(Walk::new(&b.page(5, 0), &layout).unwrap().missed, None);
}

#[test]
fn absolute_stamps_keep_the_top_bits_of_a_large_clock() {
    let layout = Layout::new(false, 8, 4096);
    let mut b = Builder { layout, data: vec![] };
    b.header(TIME_STAMP, 1);
    b.word(0); // below the page's time in its 59 bits: wrapped
    b.header(1, 0);
    b.word(0);
    let base = (3u64 << 59) + 100;
    assert_eq!(all(&b.page(base, 0), &layout)[0].0, (4u64 << 59) + 1);
}

#[test]
fn the_kernels_header_page_is_believed() {
    let text = b"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:4;\tsigned:1;\n\
        \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char data;\toffset:12;\tsize:8180;\tsigned:0;\n";
    let layout = Layout::new(false, 8, 4096).with_header_page(text);
    assert_eq!(layout, Layout { big_endian: false, long: 4, data: 12, page: 8192 });
}

proptest! {
    #[test]
    fn any_bytes_end(bytes in proptest::collection::vec(any::<u8>(), 0..600), big: bool, long in prop_oneof![Just(4usize), Just(8)]) {
        let layout = Layout::new(big, long, bytes.len());
        if let Ok(mut walk) = Walk::new(&bytes, &layout) {
            let mut steps = 0;
            while let Ok(Some(record)) = walk.next(&bytes, &layout) {
                prop_assert!(record.start <= record.end && record.end <= bytes.len());
                steps += 1;
                prop_assert!(steps <= bytes.len());
            }
        }
    }
}
