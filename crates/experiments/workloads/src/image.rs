//! Generates grey images, and writes them as PGM.

use std::fmt::Write;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    #[error("an image of {width} x {height} pixels: both sides must be 8 to 8192; choose another size")]
    Size { width: usize, height: usize },
    #[error("{found} pixels for an image that needs {needed}: pass width x height bytes")]
    Pixels { found: usize, needed: usize },
}

impl Image {
    /// # Errors
    /// [`ImageError`] if a side is not between 8 and 8192, or if the number of pixels does not match.
    pub fn new(width: usize, height: usize, pixels: Vec<u8>) -> Result<Image, ImageError> {
        let sides = 8..=8192;
        if !sides.contains(&width) || !sides.contains(&height) {
            return Err(ImageError::Size { width, height });
        }
        match pixels.len() == width * height {
            true => Ok(Image { width, height, pixels }),
            false => Err(ImageError::Pixels { found: pixels.len(), needed: width * height }),
        }
    }

    /// Generates a scene with many kinds of edges: a gradient, rectangles, discs and noise. Uses integers only, so the
    /// same seed gives the same image everywhere.
    ///
    /// # Errors
    /// [`ImageError::Size`] if a side is not between 8 and 8192.
    pub fn scene(width: usize, height: usize, seed: u64) -> Result<Image, ImageError> {
        let mut image = Image::new(width, height, vec![0; width.saturating_mul(height).min(1 << 26)])?;
        // Never 0, which xorshift maps to itself, and distinct for every seed.
        let mut random = Random(seed.wrapping_mul(2).wrapping_add(1));
        image.paint(|x, y| Some((60 + x * 80 / width + y * 40 / height) as u8));
        for _ in 0..12 {
            let (left, top) = (random.below(width), random.below(height));
            let (right, bottom) = (left + random.below(width / 3), top + random.below(height / 3));
            let grey = random.below(256) as u8;
            image.paint(|x, y| ((left..right).contains(&x) && (top..bottom).contains(&y)).then_some(grey));
        }
        for _ in 0..12 {
            let (cx, cy, r) = (random.below(width), random.below(height), 4 + random.below(height / 6));
            let grey = random.below(256) as u8;
            image.paint(|x, y| (x.abs_diff(cx).pow(2) + y.abs_diff(cy).pow(2) < r * r).then_some(grey));
        }
        for pixel in &mut image.pixels {
            *pixel = pixel.saturating_add(random.below(24) as u8).saturating_sub(12);
        }
        Ok(image)
    }

    fn paint(&mut self, colour: impl Fn(usize, usize) -> Option<u8>) {
        for (y, row) in self.pixels.chunks_mut(self.width).enumerate() {
            for (x, pixel) in row.iter_mut().enumerate() {
                *pixel = colour(x, y).unwrap_or(*pixel);
            }
        }
    }

    pub fn width(&self) -> usize {
        self.width
    }

    pub fn height(&self) -> usize {
        self.height
    }

    pub fn pixels(&self) -> &[u8] {
        &self.pixels
    }

    /// Returns the number of pixels that are not black.
    pub fn lit(&self) -> usize {
        self.pixels.iter().filter(|pixel| **pixel != 0).count()
    }

    /// Returns the image as a binary PGM (`P5`, <https://netpbm.sourceforge.net/doc/pgm.html>).
    pub fn pgm(&self) -> Vec<u8> {
        let mut out = pgm_head(self.width, self.height);
        out.extend_from_slice(&self.pixels);
        out
    }

    pub(crate) fn pixels_mut(&mut self) -> &mut [u8] {
        &mut self.pixels
    }
}

pub(crate) fn pgm_head(width: usize, height: usize) -> Vec<u8> {
    let mut head = String::new();
    // Writing to a String cannot fail.
    let _ = write!(head, "P5\n{width} {height}\n255\n");
    head.into_bytes()
}

/// Marsaglia's xorshift generator; its randomness is sufficient for an image.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 16) % limit.max(1) as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scene_is_the_same_for_the_same_seed() {
        let scene = |seed| Image::scene(64, 48, seed).unwrap();
        assert!(scene(42) == scene(42));
        assert!(scene(42) != scene(43));
    }

    #[test]
    fn impossible_images_are_refused_with_their_sides() {
        assert!(Image::scene(7, 480, 1).unwrap_err().to_string().starts_with("an image of 7 x 480"));
        assert!(Image::scene(usize::MAX, 480, 1).is_err());
        assert_eq!(Image::new(8, 8, vec![0; 63]), Err(ImageError::Pixels { found: 63, needed: 64 }));
    }

    #[test]
    fn a_pgm_has_its_head_and_every_pixel() {
        let pgm = Image::new(8, 9, vec![7; 72]).unwrap().pgm();
        assert!(pgm.starts_with(b"P5\n8 9\n255\n") && pgm.len() == 11 + 72, "{}", pgm.len());
    }
}
