//! Images by markers: photons counted in the pixels of lines, which begin and end at marker tags.
//!
//! `repair` puts in lost markers, `lines` makes lines of the markers, `pixels` finds the pixel of a time in a line, `walk`
//! finds the photons of lines, `sums` adds them up, `count` divides the work, `regions` puts pixels together, and `dwell` is
//! the time of lines in them.

mod count;
mod dwell;
mod lines;
mod pixels;
mod regions;
mod repair;
mod sums;
mod walk;

use std::f64::consts::FRAC_PI_2;

pub use regions::{REGIONS_MAX, Regions};

use super::{histogram::Bins, kind::Kind};
use crate::{
    counters::{Countable, Ledger, Needs},
    error::Error,
    partial::{
        Partial, State,
        keys::{delays, numbers},
    },
    run::{
        counts::Counts, facts::Facts, recording::Recording, scope::Scope, time_range::TimeRange,
    },
    scan::{morsels::Execution, plan::ReadPlan, route::Route, singles::rows_in},
};

/// The largest number of pixels of a line, and of lines of a frame.
pub const IMAGE_SIDE_MAX: u32 = 65_535;

/// Counts photons in the pixels of an image (docs/queries.md, section "Images").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// The markers.
    pub markers: Markers,
    /// The channels whose tags are photons; none occurs twice, and none is a marker.
    pub photons: Vec<u16>,
    /// The pixels.
    pub raster: Raster,
    /// The regions that are counted in place of pixels; they have a label for each pixel of the raster.
    pub regions: Option<Regions>,
    /// How micro times are counted in each pixel.
    pub micro: PixelMicro,
    /// Whether each frame has pixels of its own; else the frames are added up.
    pub is_apart: bool,
    /// Whether each channel of photons has pixels of its own; else the channels are added up.
    pub is_by_channel: bool,
    /// Frames that there can be at most, see [`Image::frames_max`].
    pub frames: usize,
    /// The tags that are used: the delayed times of photons are in its range. Markers count wherever they are.
    pub scope: Scope,
}

/// The channels of the markers of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Markers {
    /// A line begins.
    pub line: u16,
    /// A line ends; without it a line ends at the next line or frame.
    pub line_end: Option<u16>,
    /// A frame begins; without it a frame has the number of lines that is asked for.
    pub frame: Option<u16>,
    /// Whether lost markers are put in and double ones left out.
    pub is_repaired: bool,
}

/// How a scan is divided into pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raster {
    /// Pixels of a line.
    pub pixels: u32,
    /// Lines of a frame.
    pub lines: u32,
    /// The line of each frame that is the first of these; those before it are left out.
    pub first_line: u32,
    /// The first frame that is counted; those before it are left out.
    pub first_frame: u32,
    /// Whether every other line runs backwards.
    pub is_two_way: bool,
    /// The sine along which a line runs; `None` for constant speed.
    pub sine: Option<Sine>,
}

/// The part of a sine that a line covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sine {
    /// The part in thousandths, 1 to 1,000.
    pub thousandths: u16,
    /// Whether it is a part of the half period in which a line lies, not of the amplitude.
    pub is_of_period: bool,
}

impl Raster {
    /// Returns the lines of a frame, those that are left out with them.
    pub fn all_lines(&self) -> u64 {
        u64::from(self.lines) + u64::from(self.first_line)
    }
}

impl Sine {
    /// Returns the part of the amplitude.
    pub fn amplitude(self) -> f64 {
        let part = f64::from(self.thousandths) / 1_000.0;
        if self.is_of_period { libm::sin(part * FRAC_PI_2) } else { part }
    }
}

/// How micro times are counted in a pixel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PixelMicro {
    /// Nothing.
    None,
    /// Their sum and that of their squares.
    Mean,
    /// Their sum, that of their squares, and a histogram, in units of the store's micro tick.
    Bins(Bins),
}

/// The result of [`Image`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imaged {
    /// Numbers of a pixel, see [`PixelCounts`]; the pixels of a line follow each other, then the lines, then the
    /// channels, then the frames. With regions, numbers of a region; the regions follow each other, then the channels, then
    /// the frames.
    pub counts: Vec<u64>,
    /// How many numbers a pixel has.
    pub stride: usize,
    /// The ticks in the range that lines spent in each region, frame by frame if these are apart; empty without regions.
    pub dwell: Vec<u64>,
    /// The lines of each frame that begins in the range, those that are left out with them; 0 for other frames and for
    /// frames that are left out.
    pub lines: Vec<u64>,
    /// The photons and markers.
    pub report: ImageReport,
}

/// The photons in the range by their place, and the markers there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImageReport {
    /// Photons in pixels.
    pub photons: u64,
    /// Photons in no line.
    pub photons_outside: u64,
    /// Photons in lines beyond the last one of a frame.
    pub photons_beyond: u64,
    /// Photons in lines and frames that are left out.
    pub photons_skipped: u64,
    /// Markers of the beginning of a line.
    pub line_starts: u64,
    /// Beginnings of lines without an end: the line is not counted, and the lines after it keep their numbers.
    pub starts_without_end: u64,
    /// Markers of the end of a line outside of a line.
    pub ends_without_start: u64,
    /// Frames without a line.
    pub frames_empty: u64,
    /// Frame markers inside of a line.
    pub frames_inside_lines: u64,
    /// Beginnings of lines that were put in.
    pub starts_added: u64,
    /// Ends of lines that were put in.
    pub ends_added: u64,
    /// Frame markers that were put in.
    pub frames_added: u64,
    /// Double markers of lines and frames that were left out.
    pub doubles_left_out: u64,
    /// Photons in pixels that are in no region.
    pub photons_outside_regions: u64,
}

/// The number of values of a report.
const REPORT: usize = 14;

impl ImageReport {
    /// Returns its numbers, in an order that is part of the partials of images.
    fn numbers(&self) -> [u64; REPORT] {
        // No `..` here: a new field must be added.
        let Self {
            photons,
            photons_outside,
            photons_beyond,
            photons_skipped,
            line_starts,
            starts_without_end,
            ends_without_start,
            frames_empty,
            frames_inside_lines,
            starts_added,
            ends_added,
            frames_added,
            doubles_left_out,
            photons_outside_regions,
        } = *self;
        [
            photons,
            photons_outside,
            photons_beyond,
            photons_skipped,
            line_starts,
            starts_without_end,
            ends_without_start,
            frames_empty,
            frames_inside_lines,
            starts_added,
            ends_added,
            frames_added,
            doubles_left_out,
            photons_outside_regions,
        ]
    }

    fn of_numbers(numbers: [u64; REPORT]) -> Self {
        let [
            photons,
            photons_outside,
            photons_beyond,
            photons_skipped,
            line_starts,
            starts_without_end,
            ends_without_start,
            frames_empty,
            frames_inside_lines,
            starts_added,
            ends_added,
            frames_added,
            doubles_left_out,
            photons_outside_regions,
        ] = numbers;
        Self {
            photons,
            photons_outside,
            photons_beyond,
            photons_skipped,
            line_starts,
            starts_without_end,
            ends_without_start,
            frames_empty,
            frames_inside_lines,
            starts_added,
            ends_added,
            frames_added,
            doubles_left_out,
            photons_outside_regions,
        }
    }

    /// Returns the sum of two reports.
    #[must_use]
    pub fn and(&self, more: &Self) -> Self {
        let (mut sum, more) = (self.numbers(), more.numbers());
        sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        Self::of_numbers(sum)
    }
}

/// The counts of a pixel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PixelCounts<'a>(pub &'a [u64]);

impl<'a> PixelCounts<'a> {
    /// Its numbers if no micro times are counted, and those before the bins.
    const COUNT: usize = 1;
    const WITH_MEAN: usize = 5;

    /// Returns the photons.
    pub fn count(&self) -> u64 {
        self.0[0]
    }

    /// Returns the number of photons that have a micro time, the sum of these micro times and the sum of their
    /// squares.
    pub fn micro(&self) -> Option<(u64, u64, u128)> {
        let &[n, sum, low, high] = self.0.get(Self::COUNT..Self::WITH_MEAN)? else { return None };
        Some((n, sum, (u128::from(high) << 32) + u128::from(low)))
    }

    /// Returns the bins of micro times.
    pub fn bins(&self) -> &'a [u64] {
        self.0.get(Self::WITH_MEAN..).unwrap_or_default()
    }
}

impl Image {
    /// Returns how many frames a run with these facts can have at most.
    pub fn frames_max(facts: &Facts, markers: Markers, raster: &Raster) -> usize {
        // No more markers are put in than there are.
        let times = 1 + u64::from(markers.is_repaired);
        let of = |source: &crate::run::facts::SourceFacts| {
            let markers_of = |channel| source.singles_of(channel).saturating_mul(times);
            markers.frame.map_or_else(
                || markers_of(markers.line).div_ceil(raster.all_lines().max(1)),
                |frame| markers_of(frame) + 1,
            )
        };
        let frames = facts.iter().map(|source| of(source)).fold(0, u64::saturating_add);
        usize::try_from(frames).unwrap_or(usize::MAX)
    }

    /// Returns how many numbers are counted for a pixel.
    pub fn stride(&self) -> usize {
        match &self.micro {
            PixelMicro::None => PixelCounts::COUNT,
            PixelMicro::Mean => PixelCounts::WITH_MEAN,
            PixelMicro::Bins(bins) => PixelCounts::WITH_MEAN + bins.count(),
        }
    }

    /// Returns how many channels have pixels of their own; 1 if all are added up.
    pub fn planes(&self) -> usize {
        if self.is_by_channel { self.photons.len() } else { 1 }
    }

    /// Returns the lines of a frame, and the pixels of a line. With regions, a frame is one line of them.
    fn grid(&self) -> (usize, usize) {
        match &self.regions {
            Some(regions) => (1, regions.labels().len()),
            None => (self.raster.lines as usize, self.raster.pixels as usize),
        }
    }

    /// Returns how many times of regions there are: of each frame if frames are apart.
    fn dwells(&self) -> usize {
        let frames = if self.is_apart { self.frames } else { 1 };
        self.regions.as_ref().map_or(0, |regions| regions.labels().len().saturating_mul(frames))
    }

    /// Returns the number of pixels or regions, and how many numbers are counted in all.
    pub fn size(&self) -> (usize, usize) {
        let (lines, side) = self.grid();
        let frames = if self.is_apart { self.frames } else { 1 };
        let pixels = (lines * side).saturating_mul(frames).saturating_mul(self.planes());
        let numbers = pixels.saturating_mul(self.stride()).saturating_add(self.dwells());
        (pixels, numbers.saturating_add(self.frames).saturating_add(REPORT))
    }

    /// Whether each thread may count in a copy of all numbers; those of large images are never copied.
    pub fn is_copied(&self) -> bool {
        self.size().0.saturating_mul(self.stride()) <= count::COPIED_MAX
    }
}

impl Countable for Image {
    fn scope(&self) -> &Scope {
        &self.scope
    }

    fn key(&self) -> String {
        // No `..` here: a new field must be added to the key.
        let Self {
            markers,
            photons,
            raster,
            regions,
            micro,
            is_apart,
            is_by_channel,
            frames,
            scope,
        } = self;
        let Markers { line, line_end, frame, is_repaired } = markers;
        let Raster { pixels, lines, first_line, first_frame, is_two_way, sine } = raster;
        let touched: Vec<u16> = [Some(*line), *line_end, *frame]
            .into_iter()
            .flatten()
            .chain(photons.iter().copied())
            .collect();
        let some = |channel: &Option<u16>| channel.map_or("none".to_owned(), |of| of.to_string());
        let micro = match micro {
            PixelMicro::None => String::new(),
            PixelMicro::Mean => "; mean micro times".to_owned(),
            PixelMicro::Bins(bins) => format!("; micro times in bins {}", bins.key()),
        };
        format!(
            "image; lines {line} to {}; frames {}, {} of {frames}{}; photons {}{}; {pixels} x {lines} after \
             {first_line}, {first_frame}{}{}{}{micro}{}",
            some(line_end),
            some(frame),
            if *is_apart { "apart" } else { "together" },
            if *is_repaired { "; repaired" } else { "" },
            numbers(photons),
            if *is_by_channel { " apart" } else { "" },
            if *is_two_way { "; two-way" } else { "" },
            sine.map_or(String::new(), |sine| {
                let of = if sine.is_of_period { " of the period" } else { "" };
                format!("; sine {}{of}", sine.thousandths)
            }),
            regions
                .as_ref()
                .map_or(String::new(), |regions| format!("; regions {}", regions.digest())),
            delays(scope, Some(&touched)),
        )
    }

    /// The pixel of a photon depends on markers before it and after it, as far away as a line and a frame are long.
    fn needs(&self) -> Needs {
        Needs { before: None, after: i64::MAX, ..Needs::NOTHING }
    }

    fn nothing(&self) -> Counts {
        Counts::Bins(vec![0; self.size().1], 0)
    }

    fn count(
        &self,
        recording: &Recording<'_>,
        range: TimeRange,
        _: Option<&Partial>,
        execution: &Execution,
    ) -> Result<(Counts, State), Error> {
        let (pixels, numbers) = self.size();
        let scans = lines::of_sources(self, recording, range, execution);
        let (mut counts, report) = count::count(self, recording, range, execution, &scans);
        counts.resize(numbers, 0);
        let mut rest = &mut counts[pixels * self.stride()..];
        if let Some(regions) = &self.regions {
            let (dwell, after) = rest.split_at_mut(self.dwells());
            dwell.copy_from_slice(&dwell::dwell(self, regions, &scans, range));
            rest = after;
        }
        let (lines, rest) = rest.split_at_mut(self.frames);
        let mut report = report;
        for scan in &scans {
            let lines::MarkerCounts { report: of_markers, lines: of_frames } = &scan.counts;
            report = report.and(of_markers);
            let own = lines.get_mut(scan.first_frame..).unwrap_or_default();
            own.iter_mut().zip(of_frames).for_each(|(sum, more)| *sum += more);
        }
        rest.copy_from_slice(&report.numbers());
        Ok((Counts::Bins(counts, 0), State::Nothing))
    }
}

/// Cost: one pass over the labels for the markers; for the photons one pass over times and labels, and micro times,
/// for each delay.
impl Kind for Image {
    type Answer = Imaged;

    fn over(&self, range: TimeRange) -> Self {
        Self { scope: self.scope.over(range), ..self.clone() }
    }

    fn check(&self, facts: &Facts) -> Result<(), Error> {
        let sides = [self.raster.pixels, self.raster.lines];
        if sides.iter().any(|side| !(1..=IMAGE_SIDE_MAX).contains(side))
            || self.raster.sine.is_some_and(|sine| !(1..=1_000).contains(&sine.thousandths))
        {
            return Err(Error::Raster);
        }
        let pixels = self.raster.pixels as usize * self.raster.lines as usize;
        if self.regions.as_ref().is_some_and(|regions| !regions.is_of(pixels)) {
            return Err(Error::Regions);
        }
        if let PixelMicro::Bins(bins) = &self.micro {
            bins.check()?;
        }
        self.scope.check(facts)
    }

    fn answer(&self, _: &Ledger<'_>, counts: Counts) -> Result<Imaged, Error> {
        let (pixels, numbers) = self.size();
        let mut counts = counts.bins(numbers)?.0;
        let stride = self.stride();
        let mut dwell = counts.split_off(pixels * stride);
        let mut lines = dwell.split_off(self.dwells());
        let report = lines.split_off(self.frames);
        let report = <[u64; REPORT]>::try_from(report).unwrap_or_default();
        Ok(Imaged { counts, stride, dwell, lines, report: ImageReport::of_numbers(report) })
    }

    fn add_to_plan(
        &self,
        recording: &Recording<'_>,
        _: &Execution,
        plan: &mut ReadPlan,
    ) -> Result<(), Error> {
        let all = TimeRange::default();
        plan.read(recording, |source| [(Route::Labels, rows_in(source, 0, all))]);
        for (delay, _) in self.scope.by_delay(&self.photons) {
            plan.read(recording, |source| {
                [(Route::Pixels, rows_in(source, delay, self.scope.range))]
            });
        }
        Ok(())
    }
}
