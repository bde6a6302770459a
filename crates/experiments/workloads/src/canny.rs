//! Canny edge detection without allocation.
//!
//! J. Canny, A Computational Approach to Edge Detection, IEEE PAMI 8 (1986). Stages, constants and the order of
//! floating-point operations are those of `edges::canny` of imageproc 0.27, so the edges are identical
//! (`tests/it/equality.rs`). Unlike imageproc, which allocates its images on every call, this code does not allocate in
//! a step.

use crate::image::Image;
use std::f32::consts::PI;

/// Minimum gradient strength of a pixel that continues an edge.
pub const LOW: f32 = 50.0;
/// Minimum gradient strength of a pixel that begins an edge.
pub const HIGH: f32 = 100.0;
/// Standard deviation of the blur in pixels.
const SIGMA: f32 = 1.4;
/// Number of weights of the blur: ⌈2σ⌉ on each side of the middle.
const TAPS: usize = 7;
const REACH: usize = TAPS / 2;
const ROWS: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    BlurRows,
    BlurColumns,
    Gradients,
    Thin,
    Follow,
}

/// Detects edges in one image, frame after frame, with a few rows per step.
#[derive(Clone, Debug)]
pub struct Canny {
    source: Image,
    weights: [f32; TAPS],
    half: Vec<u8>,
    blurred: Vec<u8>,
    gx: Vec<i16>,
    gy: Vec<i16>,
    strength: Vec<f32>,
    thinned: Vec<f32>,
    edges: Image,
    /// Edge pixels whose neighbours have not been examined. Each is listed at most once, so the list never grows beyond
    /// its initial capacity.
    open: Vec<u32>,
    stage: Stage,
    row: usize,
    frames: u64,
}

impl Canny {
    /// Allocates the images of all stages: about 20 bytes per pixel.
    pub fn new(source: Image) -> Canny {
        let pixels = source.pixels().len();
        let mut edges = source.clone();
        edges.pixels_mut().fill(0);
        Canny {
            weights: weights(),
            half: vec![0; pixels],
            blurred: vec![0; pixels],
            gx: vec![0; pixels],
            gy: vec![0; pixels],
            strength: vec![0.0; pixels],
            thinned: vec![0.0; pixels],
            edges,
            open: Vec::with_capacity(pixels),
            stage: Stage::BlurRows,
            row: 0,
            frames: 0,
            source,
        }
    }

    /// Processes the next rows of the current stage without allocating.
    pub fn step(&mut self) {
        let end = (self.row + ROWS).min(self.source.height());
        for y in self.row..end {
            match self.stage {
                Stage::BlurRows => self.blur_row(y),
                Stage::BlurColumns => self.blur_column_row(y),
                Stage::Gradients => self.gradient_row(y),
                Stage::Thin => self.thin_row(y),
                Stage::Follow => self.follow_row(y),
            }
        }
        self.row = end;
        if end == self.source.height() {
            self.next_stage();
        }
    }

    fn next_stage(&mut self) {
        self.row = 0;
        self.stage = match self.stage {
            Stage::BlurRows => Stage::BlurColumns,
            Stage::BlurColumns => Stage::Gradients,
            Stage::Gradients => Stage::Thin,
            Stage::Thin => Stage::Follow,
            Stage::Follow => {
                self.frames += 1;
                Stage::BlurRows
            }
        };
    }

    pub fn steps_a_frame(&self) -> u64 {
        5 * self.source.height().div_ceil(ROWS) as u64
    }

    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Processes a whole frame. Returns an image in which edges are 255 and all other pixels 0.
    pub fn frame(&mut self) -> &Image {
        let before = self.frames;
        while self.frames == before {
            self.step();
        }
        &self.edges
    }

    /// Returns the edges of the previous frame if a frame has just begun, otherwise the partial edges of the current
    /// frame.
    pub fn edges(&self) -> &Image {
        &self.edges
    }

    fn blur_row(&mut self, y: usize) {
        let width = self.source.width();
        let row = &self.source.pixels()[y * width..(y + 1) * width];
        let out = &mut self.half[y * width..(y + 1) * width];
        for (x, to) in out.iter_mut().enumerate() {
            let at = |n: usize| row[(x + n).saturating_sub(REACH).min(width - 1)];
            *to = weighted(&self.weights, at);
        }
    }

    fn blur_column_row(&mut self, y: usize) {
        let (width, height) = (self.source.width(), self.source.height());
        for x in 0..width {
            let at = |n: usize| self.half[(y + n).saturating_sub(REACH).min(height - 1) * width + x];
            self.blurred[y * width + x] = weighted(&self.weights, at);
        }
    }

    fn gradient_row(&mut self, y: usize) {
        let (width, height) = (self.source.width(), self.source.height());
        let (above, here, below) = (y.saturating_sub(1) * width, y * width, (y + 1).min(height - 1) * width);
        for x in 0..width {
            let (left, right) = (x.saturating_sub(1), (x + 1).min(width - 1));
            let p = |row: usize, column: usize| i16::from(self.blurred[row + column]);
            let gx = p(above, right) - p(above, left) + 2 * (p(here, right) - p(here, left)) + p(below, right)
                - p(below, left);
            let gy =
                p(below, left) - p(above, left) + 2 * (p(below, x) - p(above, x)) + p(below, right) - p(above, right);
            (self.gx[here + x], self.gy[here + x]) = (gx, gy);
            self.strength[here + x] = f32::from(gx).hypot(f32::from(gy));
        }
    }

    /// Keeps pixels that are no weaker than their two neighbours across the edge. Also clears the row of the old edges.
    fn thin_row(&mut self, y: usize) {
        let (width, height) = (self.source.width(), self.source.height());
        let here = y * width;
        self.edges.pixels_mut()[here..here + width].fill(0);
        if y == 0 || y == height - 1 {
            return;
        }
        for at in here + 1..here + width - 1 {
            // The two neighbours are at the same distance before and after the pixel.
            let distance = across(f32::from(self.gx[at]), f32::from(self.gy[at]), width);
            let g = self.strength[at];
            let weaker = g < self.strength[at - distance] || g < self.strength[at + distance];
            self.thinned[at] = if weaker { 0.0 } else { g };
        }
    }

    /// Starts an edge at every strong pixel of the row and follows it.
    fn follow_row(&mut self, y: usize) {
        let (width, height) = (self.source.width(), self.source.height());
        if y == 0 || y == height - 1 {
            return;
        }
        for at in y * width + 1..(y + 1) * width - 1 {
            if self.thinned[at] >= HIGH && self.edges.pixels()[at] == 0 {
                self.follow(at, width);
            }
        }
    }

    fn follow(&mut self, start: usize, width: usize) {
        let edges = self.edges.pixels_mut();
        edges[start] = 255;
        self.open.push(start as u32);
        while let Some(at) = self.open.pop() {
            let at = at as usize;
            // Pixels at the border have strength 0, so no edge reaches it and every neighbour exists. The pixels above
            // and to the upper right are not followed, as in imageproc.
            let neighbours = [at + 1, at + width + 1, at + width, at - width - 1, at - 1, at + width - 1];
            for next in neighbours {
                if self.thinned[next] >= LOW && edges[next] == 0 {
                    edges[next] = 255;
                    self.open.push(next as u32);
                }
            }
        }
    }
}

/// Returns the offset in the image from a pixel to its neighbour across an edge with this gradient.
fn across(gx: f32, gy: f32, width: usize) -> usize {
    let mut angle = gy.atan2(gx) * (180.0 / PI);
    if angle < 0.0 {
        angle += 180.0;
    }
    match angle {
        a if (22.5..67.5).contains(&a) => width + 1,
        a if (67.5..112.5).contains(&a) => width,
        a if (112.5..157.5).contains(&a) => width - 1,
        _ => 1,
    }
}

/// Returns Gaussian weights whose sum is 1.
fn weights() -> [f32; TAPS] {
    let density = |x: f32| (SIGMA * (2.0 * PI).sqrt()).recip() * (-x.powi(2) / (2.0 * SIGMA.powi(2))).exp();
    let mut weights = [0.0; TAPS];
    for n in 0..=REACH {
        (weights[REACH + n], weights[REACH - n]) = (density(n as f32), density(n as f32));
    }
    let sum: f32 = weights.iter().sum();
    weights.map(|weight| weight / sum)
}

/// Returns the weighted sum, added from first to last. Another order would round differently.
fn weighted(weights: &[f32; TAPS], at: impl Fn(usize) -> u8) -> u8 {
    let mut sum = 0.0;
    for (n, weight) in weights.iter().enumerate() {
        sum += f32::from(at(n)) * weight;
    }
    // The cast truncates and saturates.
    sum as u8
}
