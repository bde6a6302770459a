//! GRUB's environment block: lines `name=value`, padded with `#` to 1024 bytes.

/// Returns the value of a variable. In the file, `\` precedes each `\` and line end of a value
/// (grub-core/lib/envblk.c).
pub(crate) fn value(text: &str, name: &str) -> Option<String> {
    let start = format!("{name}=");
    let raw = text.lines().find_map(|line| line.strip_prefix(&start))?;
    let mut out = String::new();
    let mut escaped = false;
    for c in raw.chars() {
        if c == '\\' && !escaped {
            escaped = true;
        } else {
            out.push(c);
            escaped = false;
        }
    }
    Some(out)
}
