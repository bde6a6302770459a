pub mod schema;

/// Number of a field, its value if it is a varint, and its bytes if it is a string or a message.
pub type Field = (u32, u64, Option<Vec<u8>>);

/// Decodes a message. Panics if the bytes are not a message.
pub fn decode(mut bytes: &[u8]) -> Vec<Field> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let field = u32::try_from(tag >> 3).unwrap();
        assert!(field > 0);
        match tag & 7 {
            0 => fields.push((field, varint(&mut bytes), None)),
            2 => {
                let length = varint(&mut bytes) as usize;
                let (body, rest) = bytes.split_at(length);
                fields.push((field, 0, Some(body.to_vec())));
                bytes = rest;
            }
            other => panic!("wire type {other}"),
        }
    }
    fields
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0u64;
    for shift in (0..70).step_by(7) {
        let (first, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return value;
        }
    }
    panic!("a varint is ten bytes at most");
}

pub fn each(bytes: &[u8], field: u32) -> Vec<Vec<u8>> {
    decode(bytes).into_iter().filter(|f| f.0 == field).filter_map(|f| f.2).collect()
}

pub fn number(fields: &[Field], field: u32) -> Option<u64> {
    fields.iter().find(|f| f.0 == field && f.2.is_none()).map(|f| f.1)
}

pub fn text(fields: &[Field], field: u32) -> Option<String> {
    fields.iter().find(|f| f.0 == field).map(|f| String::from_utf8(f.2.clone().unwrap()).unwrap())
}
