//! Demangles the names of Rust and C++ functions.

/// Number of bytes from which on a name of C++ is not demangled.
const LONGEST: usize = 4096;

/// Returns a function's name as in the source, without the hash that Rust appends and the parameter types of C++.
pub(crate) fn demangled(name: &str) -> String {
    let name = name.split('@').next().unwrap_or(name);
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        return format!("{rust:#}");
    }
    if let Some((kind, target)) = thunk(name) {
        return format!("{kind} to {}", demangled(&format!("_Z{target}")));
    }
    if name.starts_with("_Z") && name.len() < LONGEST {
        let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type().recursion_limit(96);
        if let Ok(text) = cpp_demangle::Symbol::new(name)
            .and_then(|s| s.demangle_with_options(&options).map_err(|_| cpp_demangle::error::Error::UnexpectedText))
        {
            return text;
        }
    }
    name.to_owned()
}

/// Returns the kind of thunk, in the words of c++filt(1), and the encoding of the function that it calls: _ZTh OFFSET _,
/// _ZTv OFFSET _ OFFSET _, _ZTc with two of these (Itanium C++ ABI, 5.1.4.2).
fn thunk(name: &str) -> Option<(&'static str, &str)> {
    fn offset(text: &str) -> Option<&str> {
        let text = text.strip_prefix('n').unwrap_or(text);
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        text[digits..].strip_prefix('_').filter(|_| digits > 0)
    }
    fn call_offset(text: &str) -> Option<&str> {
        match text.split_at_checked(1)? {
            ("h", rest) => offset(rest),
            ("v", rest) => offset(offset(rest)?),
            _ => None,
        }
    }
    let text = name.strip_prefix("_ZT").filter(|_| name.len() < LONGEST)?;
    let (kind, target) = match text.split_at_checked(1)? {
        ("h", _) => ("non-virtual thunk", call_offset(text)?),
        ("v", _) => ("virtual thunk", call_offset(text)?),
        ("c", rest) => ("covariant return thunk", call_offset(call_offset(rest)?)?),
        _ => return None,
    };
    Some((kind, target)).filter(|(_, target)| !target.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_those_of_the_source() {
        assert_eq!(demangled("_ZN3app4Loop4stepEi"), "app::Loop::step");
        assert_eq!(demangled("_ZN7control4step17h0123456789abcdefE"), "control::step");
        assert_eq!(demangled("_RNvCs1234_7control4step"), "control::step");
        assert_eq!(demangled("malloc@@GLIBC_2.2.5"), "malloc");
        assert_eq!(demangled("write"), "write");
        assert_eq!(demangled("_ZThn16_N3app4Loop4stepEv"), "non-virtual thunk to app::Loop::step");
        assert_eq!(demangled("_ZTv0_n24_N3app4Loop4stepEv"), "virtual thunk to app::Loop::step");
        assert_eq!(demangled("_ZTch0_h16_N3app4Loop5cloneEv"), "covariant return thunk to app::Loop::clone");
        for other in ["_ZTV4Loop", "_ZThn_x", "_ZTh16_", "_ZTc", "_ZT"] {
            assert!(!demangled(other).contains("thunk to"), "{other}");
        }
    }

    proptest! {
        #[test]
        fn any_name_is_answered(name in "(_Z|_R|_ZN|_ZT[hvc]n?[0-9]?_?)?\\PC{0,60}") {
            let _ = demangled(&name);
        }
    }
}
