/// Returns a random number in [0, 1) from the kernel.
pub fn random() -> f64 {
    let mut bytes = [0u8; 4];
    match rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()) {
        Ok(_) => f64::from(u32::from_ne_bytes(bytes)) / 4_294_967_296.0,
        Err(_) => 0.5,
    }
}
