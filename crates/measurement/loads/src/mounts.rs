//! Mounts of this process, from /proc/self/mountinfo (proc_pid_mountinfo(5)).

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    /// Major and minor number of the device, as in st_dev.
    pub device: (u32, u32),
    /// The directory within the file system that is mounted.
    pub root: String,
    pub point: String,
    /// File system type, for example `ext4`.
    pub kind: String,
    /// Mount source, for example `/dev/sda1`.
    pub source: String,
    pub options: String,
}

pub(crate) fn parse(text: &str) -> Vec<Mount> {
    text.lines().filter_map(parse_line).collect()
}

pub(crate) fn own() -> Vec<Mount> {
    parse(&std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default())
}

fn parse_line(line: &str) -> Option<Mount> {
    let (before, after) = line.split_once(" - ")?;
    let before: Vec<&str> = before.split(' ').collect();
    let after: Vec<&str> = after.split(' ').collect();
    let (major, minor) = before.get(2)?.split_once(':')?;
    Some(Mount {
        device: (major.parse().ok()?, minor.parse().ok()?),
        root: unescape(before.get(3)?),
        point: unescape(before.get(4)?),
        kind: (*after.first()?).into(),
        source: unescape(after.get(1)?),
        options: unescape(after.get(2).unwrap_or(&"")),
    })
}

/// Decodes space, tab, newline and backslash, which are escaped as three octal digits.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let octal = tail.get(..3).and_then(|d| u8::from_str_radix(std::str::from_utf8(d).ok()?, 8).ok());
        match (first, octal) {
            (b'\\', Some(byte)) => {
                bytes.push(byte);
                rest = &tail[3..];
            }
            _ => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn optional_fields_and_escapes() {
        let text = "36 35 98:0 /a /mnt\\040two rw,noatime shared:1 master:2 - ext3 /dev/root rw,errors=continue\n\
                    rubbish\n27 1 254:0 / / rw - overlay none rw\n";
        let mounts = parse(text);
        assert_eq!(mounts.len(), 2);
        assert_eq!((mounts[0].device, mounts[0].point.as_str()), ((98, 0), "/mnt two"));
        assert_eq!((mounts[0].kind.as_str(), mounts[0].source.as_str()), ("ext3", "/dev/root"));
        assert_eq!(mounts[1].root, "/");
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "[0-9: /a\\\\-]*") {
            let _ = parse(&text);
            let _ = unescape(&text);
        }
    }
}
