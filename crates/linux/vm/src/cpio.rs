//! The `newc` cpio format, which the kernel unpacks as its initramfs
//! (Documentation/driver-api/early-userspace/buffer-format.rst). All owners are root and all times 0, so the same input
//! gives the same bytes.

#[derive(Default)]
pub(crate) struct Archive {
    bytes: Vec<u8>,
    inode: u32,
}

const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;
const CHARACTER: u32 = 0o020_000;

impl Archive {
    /// Adds a directory; its parents must have been added before.
    pub fn directory(&mut self, path: &str, mode: u32) {
        self.entry(path, DIRECTORY | mode, &[], (0, 0));
    }

    pub fn file(&mut self, path: &str, mode: u32, content: &[u8]) {
        self.entry(path, REGULAR | mode, content, (0, 0));
    }

    pub fn character(&mut self, path: &str, mode: u32, major: u32, minor: u32) {
        self.entry(path, CHARACTER | mode, &[], (major, minor));
    }

    pub fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[], (0, 0));
        self.bytes
    }

    fn entry(&mut self, path: &str, mode: u32, content: &[u8], device: (u32, u32)) {
        self.inode += 1;
        let name = path.trim_start_matches('/');
        let links = if mode & DIRECTORY == DIRECTORY { 2 } else { 1 };
        let fields: [u32; 13] = [
            self.inode,
            mode,
            0,
            0,
            links,
            0,
            // An initramfs does not reach 4 GiB, which the kernel could not unpack anyway.
            u32::try_from(content.len()).unwrap_or(u32::MAX),
            0,
            0,
            device.0,
            device.1,
            name.len() as u32 + 1,
            0,
        ];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08X}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(content);
        self.pad();
    }

    fn pad(&mut self) {
        let padded = self.bytes.len().next_multiple_of(4);
        self.bytes.resize(padded, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_those_of_the_format() {
        let mut archive = Archive::default();
        archive.directory("dev", 0o755);
        archive.character("dev/console", 0o600, 5, 1);
        archive.file("/init", 0o755, b"hello");
        let bytes = archive.finish();
        assert_eq!(bytes.len() % 4, 0);
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.starts_with("07070100000001000041ED00000000000000000000000200000000"), "{text}");
        assert!(text.contains("dev/console\0"));
        assert!(text.contains("init\0\0hello\0"));
        assert!(text.contains("TRAILER!!!\0"));
    }
}
