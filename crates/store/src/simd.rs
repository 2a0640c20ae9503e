//! The level of vector instructions: a token that only detection creates.
//!
//! Unsafe code relies on that: no other way may be added to make a [`Simd`].

#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "the token of a level is the proof that its code may be called")
)]

use std::{fmt, sync::OnceLock};

/// A level of vector instructions that this machine has. Holding one proves that code of that level may be
/// called.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Simd(Level);

/// The name of a level, to choose code by it: anybody can make one, and it proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// None beyond those that every machine has.
    Scalar,
    /// AVX2, BMI1 and POPCNT.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 F, BW, DQ and VL.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// AVX-512 with VBMI2, which packs values of 16 bits.
    #[cfg(target_arch = "x86_64")]
    Vbmi2,
}

/// Work on values without intrinsics, which is compiled for each level.
pub trait Work {
    /// Its result, equal at each level.
    type Output;

    /// Does it. Must be `inline(always)`, so that it is compiled with the instructions of its caller.
    fn run(self) -> Self::Output;
}

impl Simd {
    /// Does `work` with the instructions of this level.
    pub fn run<W: Work>(self, work: W) -> W::Output {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,bmi1,popcnt")]
        fn avx2<W: Work>(work: W) -> W::Output {
            work.run()
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,bmi1,popcnt,avx512f,avx512bw,avx512dq,avx512vl")]
        fn avx512<W: Work>(work: W) -> W::Output {
            work.run()
        }
        match self.0 {
            Level::Scalar => work.run(),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a token of this level is made only where its features were detected.
            Level::Avx2 => unsafe { avx2(work) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above; a machine with VBMI2 has these features, too.
            Level::Avx512 | Level::Vbmi2 => unsafe { avx512(work) },
        }
    }

    /// Returns all levels of this machine, the plainest first. Never empty.
    pub fn available() -> Vec<Self> {
        let levels = vec![Self(Level::Scalar)];
        #[cfg(target_arch = "x86_64")]
        let levels = {
            let mut levels = levels;
            let avx2 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("popcnt");
            if avx2 {
                levels.push(Self(Level::Avx2));
            }
            if avx2
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
            {
                levels.push(Self(Level::Avx512));
                if is_x86_feature_detected!("avx512vbmi2") {
                    levels.push(Self(Level::Vbmi2));
                }
            }
            levels
        };
        levels
    }

    /// Returns the best level of this machine.
    pub fn best() -> Self {
        static BEST: OnceLock<Simd> = OnceLock::new();
        *BEST.get_or_init(|| Self::available().into_iter().max().unwrap_or(Self(Level::Scalar)))
    }

    /// Returns the level, to choose code by it.
    pub fn level(self) -> Level {
        self.0
    }

    /// Returns the name of the level: `scalar`, `avx2`, `avx512` or `avx512vbmi2`.
    pub fn name(self) -> &'static str {
        match self.0 {
            Level::Scalar => "scalar",
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => "avx512",
            #[cfg(target_arch = "x86_64")]
            Level::Vbmi2 => "avx512vbmi2",
        }
    }
}

impl fmt::Debug for Simd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
