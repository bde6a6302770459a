//! Decompresses records (`perf record -z`): chunks of one Zstandard stream, flushed but never ended.

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::collections::VecDeque;

/// Maximum window; `-z 19` uses 8 MiB.
const WINDOW: u64 = 16 << 20;
/// Maximum size of a block (RFC 8878, 3.1.1.2.3). `HEADER` is the size of a block's header.
const BLOCK: usize = 128 << 10;
const HEADER: usize = 3;
/// An empty last block, and zeros for a checksum.
const END: &[u8] = &[1, 0, 0, 0, 0, 0, 0];

pub(super) struct Packed {
    decoder: FrameDecoder,
    waiting: Vec<u8>,
    frame: Option<Frame>,
    plain: Vec<u8>,
    at: usize,
    came: u64,
    taken: u64,
    /// Offsets in the decoded stream at which a round ends.
    rounds: VecDeque<u64>,
    pub(super) used: bool,
}

#[derive(Clone, Copy)]
struct Frame {
    window: u64,
    checksum: bool,
    came: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Broken;

impl Packed {
    pub(super) fn new() -> Packed {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(WINDOW);
        Packed {
            decoder,
            waiting: Vec::new(),
            frame: None,
            plain: Vec::new(),
            at: 0,
            came: 0,
            taken: 0,
            rounds: VecDeque::new(),
            used: false,
        }
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.used = true;
        self.waiting.extend_from_slice(bytes);
    }

    /// Marks the end of a round after the input so far. The decoder holds back a full window once it has released
    /// anything; before that the amount is unknown and the mark is dropped, which only makes a round longer.
    pub(super) fn round(&mut self) {
        let held = self.frame.filter(|frame| frame.came).map(|frame| frame.window);
        if let Some(place) = held.and_then(|held| self.came.checked_add(held)) {
            self.rounds.push_back(place);
        }
    }

    /// True if a round ends at the current position; consumes the mark.
    pub(super) fn take_round(&mut self) -> bool {
        let due = self.rounds.front().is_some_and(|place| *place <= self.taken);
        due && self.rounds.pop_front().is_some()
    }

    pub(super) fn plain(&self) -> &[u8] {
        self.plain.get(self.at..).unwrap_or_default()
    }

    pub(super) fn take(&mut self, bytes: usize) {
        self.at += bytes;
        self.taken += bytes as u64;
    }

    /// Decodes one more block; returns `false` if no complete one is available.
    pub(super) fn step(&mut self) -> Result<bool, Broken> {
        let Some(frame) = self.frame else { return self.begin() };
        let Some([a, b, c]) = self.waiting.first_chunk().copied() else { return Ok(false) };
        let header = u32::from_le_bytes([a, b, c, 0]);
        let (last, size) = (header & 1 == 1, (header >> 3) as usize);
        // An RLE block contains one byte.
        let size = if header >> 1 & 3 == 1 { 1 } else { size };
        if size > BLOCK {
            return Err(Broken);
        }
        let whole = HEADER + size + if last && frame.checksum { 4 } else { 0 };
        let Some(block) = self.waiting.get(..whole) else { return Ok(false) };
        self.decoder.decode_blocks(block, BlockDecodingStrategy::UptoBlocks(1)).map_err(|_| Broken)?;
        self.waiting.drain(..whole);
        self.collect();
        Ok(true)
    }

    /// Flushes what the window holds back; no more input follows.
    pub(super) fn end(&mut self) -> Result<(), Broken> {
        self.waiting.clear();
        if self.frame.is_some() {
            self.decoder.decode_blocks(END, BlockDecodingStrategy::UptoBlocks(1)).map_err(|_| Broken)?;
            self.collect();
        }
        Ok(())
    }

    fn collect(&mut self) {
        self.plain.drain(..self.at);
        self.at = 0;
        let before = self.plain.len();
        let _ = self.decoder.collect_to_writer(&mut self.plain);
        let came = (self.plain.len() - before) as u64;
        self.came += came;
        if let Some(frame) = &mut self.frame {
            frame.came |= came > 0;
        }
        if self.decoder.is_finished() {
            self.frame = None;
        }
    }

    /// Reads a frame header (RFC 8878, 3.1.1.1).
    fn begin(&mut self) -> Result<bool, Broken> {
        let Some(descriptor) = self.waiting.get(4).copied() else { return Ok(false) };
        let single = descriptor >> 5 & 1 == 1;
        let dictionary = [0, 1, 2, 4].get(usize::from(descriptor & 3)).copied().unwrap_or(0);
        let content = match descriptor >> 6 {
            0 => usize::from(single),
            n => 1 << n,
        };
        let whole = 5 + usize::from(!single) + dictionary + content;
        let Some(header) = self.waiting.get(..whole) else { return Ok(false) };
        self.decoder.reset(header).map_err(|_| Broken)?;
        let window = header.get(5).map_or(0, |b| (8 + u64::from(b & 7)) << (7 + (b >> 3)));
        // The window of a single-segment frame is its content size; such a frame gets no round marks.
        let window = if single { u64::MAX } else { window };
        self.frame = Some(Frame { window, checksum: descriptor >> 2 & 1 == 1, came: false });
        self.waiting.drain(..whole);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame with a window of 1 KiB and raw blocks of 600 bytes, split at any byte and never ended.
    #[test]
    fn a_stream_in_pieces_comes_out_whole_and_rounds_stay_in_place() {
        let mut stream = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 0];
        for n in 0..5u8 {
            stream.extend((600u32 << 3).to_le_bytes().get(..3).unwrap());
            stream.extend([n; 600]);
        }
        for piece in [1, 7, 601, 5000] {
            let mut packed = Packed::new();
            let (mut out, mut rounds) = (Vec::new(), Vec::new());
            for bytes in stream.chunks(piece) {
                packed.feed(bytes);
                while packed.step().unwrap() {
                    let plain = packed.plain().to_vec();
                    packed.take(plain.len());
                    out.extend(plain);
                    while packed.take_round() {
                        rounds.push(out.len());
                    }
                }
                packed.round();
            }
            packed.end().unwrap();
            out.extend(packed.plain());
            assert_eq!(out.len(), 3000);
            assert!(out.chunks(600).enumerate().all(|(n, part)| part == [n as u8; 600]));
            assert!(rounds.is_sorted());
        }
    }

    #[test]
    fn nonsense_is_broken() {
        let mut packed = Packed::new();
        packed.feed(b"nonsense that is no frame");
        assert_eq!(packed.step(), Err(Broken));
        let mut packed = Packed::new();
        packed.feed(&[0x28, 0xb5, 0x2f, 0xfd, 0, 0xa8]);
        assert_eq!(packed.step(), Err(Broken));
    }
}
