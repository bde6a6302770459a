//! A writer of protocol buffers (<https://protobuf.dev/programming-guides/encoding/>).

#[derive(Clone, Debug, Default)]
pub struct Message(Vec<u8>);

impl Message {
    /// Appends a field of type uint32, uint64, bool or enum.
    pub fn uint(&mut self, field: u32, value: u64) {
        self.varint(u64::from(field) << 3);
        self.varint(value);
    }

    /// Appends a field of type int32 or int64, in 64-bit two's complement.
    pub fn int(&mut self, field: u32, value: i64) {
        self.uint(field, value as u64);
    }

    pub fn text(&mut self, field: u32, text: &str) {
        self.bytes(field, text.as_bytes());
    }

    pub fn message(&mut self, field: u32, message: &Message) {
        self.bytes(field, &message.0);
    }

    /// Appends the fields of another message.
    pub fn append(&mut self, message: &Message) {
        self.0.extend_from_slice(&message.0);
    }

    pub fn encoded(&self) -> &[u8] {
        &self.0
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// Writes seven bits per byte, lowest first.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_of_the_guide() {
        let mut message = Message::default();
        message.uint(1, 150);
        message.text(2, "testing");
        message.int(1, -2);
        assert_eq!(message.encoded()[..3], [0x08, 0x96, 0x01]);
        assert_eq!(message.encoded()[3..12], *b"\x12\x07testing");
        assert_eq!(message.encoded()[12..], *b"\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    }
}
