use core::fmt;
use core::str::FromStr;

use crate::east::{Block, Word};
use crate::error::Error;
use crate::join::{Found, Scratch, West, join};
use crate::simd::portable::Portable;

/// An instruction set with which the solutions are counted. All of them yield the same counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kernel {
    Avx512,
    Avx2,
    Neon,
    /// Only instructions of the build target, which every CPU of that target supports.
    Portable,
}

impl Kernel {
    pub const ALL: [Self; 4] = [Self::Avx512, Self::Avx2, Self::Neon, Self::Portable];

    /// Returns the fastest kernel that this CPU supports, as determined at run time.
    #[must_use]
    pub fn detect() -> Self {
        Self::ALL.into_iter().find(|kernel| kernel.is_available()).unwrap_or(Self::Portable)
    }

    #[must_use]
    pub fn is_available(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => std::arch::is_x86_feature_detected!("avx512f") && has_bit_manipulation(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => std::arch::is_x86_feature_detected!("avx2") && has_bit_manipulation(),
            #[cfg(target_arch = "aarch64")]
            Self::Neon => std::arch::is_aarch64_feature_detected!("neon"),
            Self::Portable => true,
            #[allow(unreachable_patterns)]
            _ => false,
        }
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Avx512 => "avx512",
            Self::Avx2 => "avx2",
            Self::Neon => "neon",
            Self::Portable => "portable",
        }
    }

    /// Returns the kernel if this CPU supports it.
    pub(crate) fn select(self) -> Result<Join, Error> {
        if !self.is_available() {
            return Err(Error::Kernel { kernel: self, detected: Self::detect() });
        }
        Ok(Join { kernel: self })
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Kernel {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|kernel| kernel.name() == text)
            .ok_or_else(|| Error::KernelName { name: text.to_owned() })
    }
}

/// Returns true if the CPU has the bit manipulation instructions that the kernels use. So far, all CPUs with AVX2 have
/// them.
#[cfg(target_arch = "x86_64")]
fn has_bit_manipulation() -> bool {
    std::arch::is_x86_feature_detected!("bmi1")
        && std::arch::is_x86_feature_detected!("bmi2")
        && std::arch::is_x86_feature_detected!("popcnt")
        && std::arch::is_x86_feature_detected!("lzcnt")
}

/// A kernel whose instructions are known to be supported. It is created only by [`Kernel::select`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Join {
    kernel: Kernel,
}

impl Join {
    /// Counts the solutions in a block for one set of western columns.
    pub(crate) fn count<T: Word>(self, west: West<'_>, block: &Block<T>, scratch: &mut Scratch<T>) -> Found {
        match self.kernel {
            // SAFETY: select() has verified that the CPU supports the instructions.
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512 => unsafe { avx512(west, block, scratch) },
            // SAFETY: select() has verified that the CPU supports the instructions.
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 => unsafe { avx2(west, block, scratch) },
            // SAFETY: select() has verified that the CPU supports the instructions.
            #[cfg(target_arch = "aarch64")]
            Kernel::Neon => unsafe { neon(west, block, scratch) },
            // SAFETY: the portable kernel needs no special instructions.
            _ => unsafe { join::<Portable, T>(west, block, scratch) },
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,bmi1,bmi2,popcnt,lzcnt")]
fn avx512<T: Word>(west: West<'_>, block: &Block<T>, scratch: &mut Scratch<T>) -> Found {
    // SAFETY: the instructions are enabled for this function.
    unsafe { join::<crate::simd::avx512::Avx512, T>(west, block, scratch) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn avx2<T: Word>(west: West<'_>, block: &Block<T>, scratch: &mut Scratch<T>) -> Found {
    // SAFETY: the instructions are enabled for this function.
    unsafe { join::<crate::simd::avx2::Avx2, T>(west, block, scratch) }
}

#[cfg(target_arch = "aarch64")]
#[target_feature(enable = "neon")]
fn neon<T: Word>(west: West<'_>, block: &Block<T>, scratch: &mut Scratch<T>) -> Found {
    // SAFETY: the instructions are enabled for this function.
    unsafe { join::<crate::simd::neon::Neon, T>(west, block, scratch) }
}
