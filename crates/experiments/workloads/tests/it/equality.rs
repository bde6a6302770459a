//! Compares the edges with the edges found by imageproc, pixel by pixel.

use image::GrayImage;
use imageproc::edges::canny;
use proptest::prelude::*;
use punctual_workloads::{Canny, HIGH, Image, LOW};

fn both(image: &Image) -> (Image, Vec<u8>) {
    let theirs = GrayImage::from_raw(image.width() as u32, image.height() as u32, image.pixels().to_vec()).unwrap();
    let ours = Canny::new(image.clone()).frame().clone();
    (ours, canny(&theirs, LOW, HIGH).into_raw())
}

fn differing(ours: &Image, theirs: &[u8]) -> usize {
    ours.pixels().iter().zip(theirs).filter(|(a, b)| a != b).count()
}

#[test]
fn edges_are_imageprocs_on_images_of_three_sizes() {
    for (width, height) in [(640, 480), (854, 480), (1280, 720)] {
        let image = Image::scene(width, height, 42).unwrap();
        let (ours, theirs) = both(&image);
        assert_eq!(differing(&ours, &theirs), 0, "{width} x {height}");
        assert!(ours.lit() > 2_000, "{width} x {height}: only {} edge pixels, which proves little", ours.lit());
        println!("{width} x {height}: {} edge pixels, none differs", ours.lit());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn edges_are_imageprocs_on_any_noise(width in 8usize..70, height in 8usize..70, seed in any::<u64>(), flat in 0u8..8) {
        let mut state = seed | 1;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) as u8
        };
        // Includes plateaus as well as noise: with equal neighbours, thinning depends on the order.
        let pixels = (0..width * height).map(|_| (random() >> flat) << flat).collect();
        let image = Image::new(width, height, pixels).unwrap();
        let (ours, theirs) = both(&image);
        prop_assert_eq!(differing(&ours, &theirs), 0);
    }
}
