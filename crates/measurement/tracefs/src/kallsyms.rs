use std::fs::File;
use std::io::{BufRead, BufReader, Read};

/// Returns the addresses of kernel functions in the order of `names`, from /proc/kallsyms, which takes up to 0.1 s. A
/// function is `None` if the kernel lacks it, or hides addresses (kernel.kptr_restrict).
pub fn addresses<const N: usize>(names: [&str; N]) -> [Option<u64>; N] {
    File::open("/proc/kallsyms").map_or([None; N], |file| find(file, names))
}

fn find<const N: usize>(file: impl Read, names: [&str; N]) -> [Option<u64>; N] {
    let mut found = [None; N];
    let mut lines = BufReader::with_capacity(1 << 16, file);
    let mut line = Vec::new();
    while found.contains(&None) {
        line.clear();
        if !lines.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            break;
        }
        // ADDRESS TYPE NAME; the names of modules' functions are followed by the module.
        let name = line.trim_ascii_end().rsplit(|byte| *byte == b' ').next().unwrap_or_default();
        let Some(n) = names.iter().position(|known| known.as_bytes() == name) else { continue };
        let address =
            std::str::from_utf8(&line).ok().and_then(|line| u64::from_str_radix(line.split(' ').next()?, 16).ok());
        if address == Some(0) {
            break;
        }
        found[n] = found[n].or(address);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn functions_are_found_by_their_whole_names() {
        let text =
            "ffffffff81000010 t __pfx_b\nffffffff81000020 t b\nffffffffc0000000 t c\t[mod]\nffffffff81000000 T a\nx t";
        let found = find(text.as_bytes(), ["a", "b", "c"]);
        assert_eq!(found, [Some(0xffff_ffff_8100_0000), Some(0xffff_ffff_8100_0020), None]);
        assert_eq!(find(&b"0000000000000000 t a\n"[..], ["a"]), [None], "hidden");
        assert_eq!(find(&[0xff, b'\n'][..], ["a"]), [None]);
    }
}
