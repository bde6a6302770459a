//! Sets the soname of the shared library: programs load `libpunctual_rt_c.so.0`, whatever file they were linked with.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libpunctual_rt_c.so.0");
}
