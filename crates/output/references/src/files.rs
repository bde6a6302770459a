//! The board files compiled into the program.

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(include_str!(concat!("../boards/", $name, ".toml"))),*]
    };
}

/// Contents of all board files. A test fails if a file of `boards/` is missing from this list.
pub const FILES: &[&str] = files![
    "altera-cyclone5-soc",
    "asus-z170k-i5-6600k",
    "beaglebone-black",
    "beckhoff-cx9020",
    "brazos-n450",
    "cl-som-imx7",
    "fujitsu-d3161-i7-3770",
    "fujitsu-d3162-i5-3570",
    "hikey",
    "intel-j1900",
    "jetson-agx-xavier",
    "loongson-3a5000",
    "msc-sm2s-imx8mp",
    "nanopi-neo",
    "nextthing-chip",
    "nextthing-chip-pro",
    "nxp-imx95-evk",
    "odroid-c2",
    "orangepi-zero2w",
    "pc-i7-4ghz",
    "raspberry-pi-1",
    "raspberry-pi-2",
    "raspberry-pi-3b",
    "raspberry-pi-3b-plus",
    "raspberry-pi-4b",
    "raspberry-pi-5",
    "rockchip-rk3562",
    "rockchip-rk3568",
    "ti-am57xx-beagleboard-x15",
    "ti-am62a-sk",
    "ti-am62l-evm",
    "ti-am62p-sk",
    "ti-am62x-sk",
    "ti-am64x-evm",
    "tq-tqmxe39",
    "up-xtreme-i7",
];
