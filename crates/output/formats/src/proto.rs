//! Protocol buffers, as far as writing needs them (<https://protobuf.dev/programming-guides/encoding/>).

/// A message that grows field by field.
#[derive(Clone, Debug, Default)]
pub struct Message(Vec<u8>);

impl Message {
    /// A field of type uint32, uint64, bool or an enumeration.
    pub fn uint(&mut self, field: u32, value: u64) {
        self.varint(u64::from(field) << 3);
        self.varint(value);
    }

    /// A field of type int32 or int64: two's complement of 64 bits.
    pub fn int(&mut self, field: u32, value: i64) {
        self.uint(field, value as u64);
    }

    /// A field of type string.
    pub fn text(&mut self, field: u32, text: &str) {
        self.bytes(field, text.as_bytes());
    }

    /// A message within.
    pub fn message(&mut self, field: u32, message: &Message) {
        self.bytes(field, &message.0);
    }

    /// The fields of another one.
    pub fn append(&mut self, message: &Message) {
        self.0.extend_from_slice(&message.0);
    }

    /// Everything so far.
    pub fn encoded(&self) -> &[u8] {
        &self.0
    }

    /// Bytes so far.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Nothing so far?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// Seven bits a byte, the lowest first.
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

    /// The examples of the encoding guide.
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
