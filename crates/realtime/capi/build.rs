//! Names the shared library: programs ask for `libpunctual_rt_c.so.0` whatever file they were linked with.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libpunctual_rt_c.so.0");
}
