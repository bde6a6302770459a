//! Demangles the names of Rust and C++ functions.

/// Returns a function's name as in the source, without the hash that Rust appends and the parameter types of C++.
pub(crate) fn demangled(name: &str) -> String {
    let name = name.split('@').next().unwrap_or(name);
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        return format!("{rust:#}");
    }
    if name.starts_with("_Z") && name.len() < 4096 {
        let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type().recursion_limit(96);
        if let Ok(text) = cpp_demangle::Symbol::new(name)
            .and_then(|s| s.demangle_with_options(&options).map_err(|_| cpp_demangle::error::Error::UnexpectedText))
        {
            return text;
        }
    }
    name.to_owned()
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
    }

    proptest! {
        #[test]
        fn any_name_is_answered(name in "(_Z|_R|_ZN)?\\PC{0,60}") {
            let _ = demangled(&name);
        }
    }
}
