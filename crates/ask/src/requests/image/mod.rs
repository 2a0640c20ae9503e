//! The request for images by markers.
//!
//! Markers, pixels and lines that the request leaves out are those of the header. If the request names the marker of
//! lines, those of the header are not used, because they are of another scan. An image is counted from scratch each
//! time: the pixel of a photon depends on a marker after it.

mod counts;
mod held;
mod lifetime;
mod notes;
mod reference;
mod regions;
mod request;
mod stated;
mod used;

pub use request::{IMAGE, Image, ScanPath, SineOf, Together};

use std::str::FromStr;

use tagq_ingest::HeldCounts;
use tagq_query::{
    Bins, Error as QueryError, Execution, Image as Query, Kind as _, Ledger, PixelMicro, Scope,
    TimeDivision,
};
use tagq_run::{BinWidth, Channel, RequestError, Run, Work, counted};
use tagq_store::Tick;

use self::{
    counts::{ImageCounts, PixelsShown, block_areas},
    lifetime::Decays,
    stated::Stated,
    used::{Seen, Used},
};
use super::{
    context::QueryContext,
    detectors,
    kind::{Finished, OfRun, RequestKind, Resolved},
    limits,
    micro::{MicroTimes, micro_tick},
    options::RequestType,
    selection::{Selected, Selection},
    used::MOVES,
};
use crate::{answer::SAME_PERIOD, error::Error, figure::FigureKind};

/// Bytes of a number.
const NUMBER_BYTES: u64 = 8;
/// The largest block of pixels.
const BLOCK_MAX: u32 = 1_024;
/// Bytes of the lifetime of a pixel.
const LIFETIME_BYTES: u64 = 128;
/// The most bins of micro times of a lifetime, by default.
const LIFETIME_BINS: usize = 256;
/// Reason why an image is counted from scratch each time.
const MARKERS_MATTER: &str = "the pixel of a photon depends on markers before it and after it";

impl RequestKind for Image {
    const TYPES: &'static [&'static RequestType] = &[&IMAGE];
    const OF_COUNTS: &'static [&'static str] = &[
        "channels",
        "detectors",
        "micro",
        "bin",
        "exact_bins",
        "range",
        "lifetime",
        "irf",
        "reference_lifetime",
        "pulse_period",
        "harmonic",
        "min_photons",
        "bin_pixels",
        "mask",
    ];

    type Query = Query;
    type Counts = ImageCounts;
    type Used = Used;

    fn selection(&self) -> &Selection {
        &self.selection
    }

    fn channels(&self) -> Vec<&Channel> {
        self.line.iter().chain(&self.line_end).chain(&self.frame).collect()
    }

    fn is_of_named(&self) -> bool {
        false
    }

    fn recount_reason(&self) -> Option<&'static str> {
        Some(if self.selection.moves() { MOVES } else { MARKERS_MATTER })
    }

    fn check(&self) -> Result<(), Error> {
        let given = [("bin", self.bin.is_some()), ("range", self.range.is_some())];
        if let Some((option, _)) = given.iter().find(|(_, is)| *is && !self.has_bins()) {
            let (option, other) = ((*option).into(), "micro".into());
            return Err(RequestError::Needs { option, other }.into());
        }
        if self.lifetime.is_some() && self.detectors.is_apart() {
            let reason = "detectors differ in their response: ask for `lifetime` of one after the other, with `channels`";
            return Err(RequestError::options(&["detectors", "lifetime"], reason.to_owned()).into());
        }
        if self.bin_pixels.is_some() && self.mask.is_some() {
            let (option, other) = ("bin_pixels".into(), "mask".into());
            return Err(RequestError::Excluded { option, other }.into());
        }
        if self.bin_pixels.is_some_and(|side| !(1..=BLOCK_MAX).contains(&side)) {
            let reason = format!("a whole number from 1 to {BLOCK_MAX} is wanted");
            let option = "bin_pixels".into();
            return Err(RequestError::Option { option, place: None, reason }.into());
        }
        Ok(())
    }

    fn check_parts(&self) -> Result<(), Error> {
        if self.irf_channel.is_some() && self.irf.is_none() {
            let reason = "the answer of a plan is made without the tags of its runs; name a run with `irf` for the channel of `irf_channel`";
            return Err(RequestError::options(&["irf_channel"], reason.into()).into());
        }
        Ok(())
    }

    fn query(
        &self,
        run: &Run,
        selected: &Selected,
        context: &QueryContext<'_>,
        bins: Option<&Bins>,
    ) -> Result<Query, Error> {
        if let Some(counts) = run.held_counts()? {
            return self.query_of_counts((run, context), selected, &counts, bins);
        }
        let stated = Stated::of(run)?;
        let markers = self.markers(run, &stated, context)?;
        let raster = self.raster(&stated)?;
        let named: Vec<u16> =
            [Some(markers.line), markers.line_end, markers.frame].into_iter().flatten().collect();
        let scope = selected.scope.clone();
        let facts = run.facts(self.selection.join);
        let in_use = scope.in_use(&facts);
        let photons = if let Some(channels) = &scope.channels {
            if let Some(both) = channels.iter().find(|channel| named.contains(channel)) {
                return Err(RequestError::options(
                    &["channels"],
                    format!(
                        "channel {} is a marker; `channels` are those of the photons",
                        context.setup.name_of(*both)
                    ),
                )
                .into());
            }
            channels.clone()
        } else {
            detectors::photons(run, in_use, &named)
        };
        context.note_dark(run, named.into_iter().chain(photons.iter().copied()).collect());
        let micro = if self.has_bins() {
            PixelMicro::Bins(self.micro_bins((run, context), &photons, &scope, bins)?)
        } else if run.store().manifest().micro_tick.is_some() {
            PixelMicro::Mean
        } else if self.min_photons.is_some() {
            return Err(RequestError::options(
                &["min_photons"],
                "`min_photons` is for mean micro times, and the run has no micro times".into(),
            )
            .into());
        } else {
            PixelMicro::None
        };
        let frames = Query::frames_max(&facts, markers, &raster);
        let (is_apart, is_by_channel) = (self.frames.is_apart(), self.detectors.is_apart());
        let regions = self.regions(raster)?;
        Ok(Query {
            markers,
            photons,
            raster,
            regions,
            micro,
            is_apart,
            is_by_channel,
            frames,
            scope,
        })
    }

    fn chosen_bins(&self, query: &Query) -> Option<Bins> {
        match &query.micro {
            PixelMicro::Bins(bins) if self.range.is_none() => Some(bins.clone()),
            PixelMicro::Bins(_) | PixelMicro::Mean | PixelMicro::None => None,
        }
    }

    fn is_alike(&self, one: &Query, other: &Query) -> bool {
        // Without `..`: a new field must be compared or ignored on purpose.
        let alike = |query: &Query| {
            let Query {
                markers,
                photons: _,
                raster,
                regions,
                micro,
                is_apart,
                is_by_channel,
                frames: _,
                scope,
            } = query;
            let (micro, delays) = (micro.clone(), scope.delays.clone());
            (*markers, *raster, regions.clone(), micro, *is_apart, *is_by_channel, delays)
        };
        alike(one) == alike(other)
    }

    fn unify(&self, all: &mut [Resolved<'_, Query>]) -> Result<(), Error> {
        if self.detectors.is_apart() {
            // A channel may have photons in some of the runs.
            let mut photons: Vec<u16> =
                all.iter().flat_map(|of| of.query.photons.iter().copied()).collect();
            photons.sort_unstable();
            photons.dedup();
            for of in all.iter_mut() {
                of.query.photons.clone_from(&photons);
            }
        }
        let Some((first, others)) = all.split_first() else { return Ok(()) };
        let unit = |run: &Run| micro_tick(run).ok();
        if others.iter().any(|other| unit(other.run) != unit(first.run)) {
            return Err(
                RequestError::Runs("the runs have micro times of different units".into()).into()
            );
        }
        let is_stated = self.lifetime.is_some() && self.pulse_period.is_none();
        let period = |run: &Run| run.pulse_period_s().unwrap_or(0.0);
        let is_same = |other: f64, first: f64| (other - first).abs() <= SAME_PERIOD * first;
        if is_stated && others.iter().any(|other| !is_same(period(other.run), period(first.run))) {
            let reason = "the runs have pulses of different periods; `pulse_period` gives one";
            return Err(RequestError::Runs(reason.into()).into());
        }
        Ok(())
    }

    fn check_work(&self, resolved: &Resolved<'_, Query>, runs: usize) -> Result<Work, Error> {
        let Resolved { run, context, query, .. } = resolved;
        let (pixels, numbers) = query.size();
        // Each run has its counts; those of a small image are copied for each thread, too.
        let of_threads = if query.is_copied() { context.pool.current_num_threads() } else { 0 };
        let copies = (of_threads + runs) as u64;
        let of_lifetime = self.lifetime.map_or(0, |_| LIFETIME_BYTES);
        let of_pixel = copies * NUMBER_BYTES * query.stride() as u64 + of_lifetime;
        let (what, less) = match query.regions {
            Some(_) => ("regions", "regions"),
            None => ("pixels", "`pixels`"),
        };
        limits::check(pixels as u128, what, of_pixel, |most| {
            let fewer = if query.is_apart { "`frames` together, " } else { "" };
            let bins = if self.has_bins() { ", wider bins" } else { "" };
            format!("{most} {what} would fit; {fewer}a part of the run{bins} or fewer {less}")
        })?;
        limits::check(
            numbers as u128,
            &format!("frames and numbers of {what}"),
            copies * NUMBER_BYTES,
            |most| format!("{most} would fit; give a part of the run"),
        )?;
        let taken = run.count_as(self.selection.join, None, |recording| {
            Ok(context.pool.install(|| query.plan(recording, &Execution::best()))?.rows_taken())
        })?;
        let bytes = pixels as f64 * of_pixel as f64;
        Ok(Work { rows: taken as f64, bytes, scans: 1.0, ..Work::default() })
    }

    fn count(
        &self,
        query: &Query,
        _: Option<&TimeDivision>,
        _: Tick,
        ledger: &Ledger<'_>,
    ) -> Result<ImageCounts, QueryError> {
        Ok(ImageCounts::of(query.ask(ledger)?, query.raster))
    }

    fn take(
        &self,
        resolved: &Resolved<'_, Query>,
        counts: &HeldCounts,
    ) -> Result<ImageCounts, Error> {
        held::take(&resolved.query, counts)
    }

    fn add(
        &self,
        _: &[Resolved<'_, Query>],
        counts: Vec<ImageCounts>,
    ) -> Result<ImageCounts, Error> {
        let sum = counts.into_iter().reduce(ImageCounts::added);
        sum.ok_or_else(|| RequestError::Runs("a sum is of at least one run".into()).into())
    }

    fn head(&self, resolved: &Resolved<'_, Query>, runs: usize) -> Result<(String, Used), Error> {
        let used = self.used(resolved, runs)?;
        Ok((self.words(resolved, &used), used))
    }

    fn finish(&self, all: &[Resolved<'_, Query>], counts: ImageCounts) -> Result<Finished, Error> {
        let first = &all[0];
        let query = &first.query;
        let (words, mut used) = self.head(first, all.len())?;
        notes::note(first, &counts);
        let is_held = first.run.holds_counts();
        let frames = if is_held {
            String::new()
        } else {
            format!(" of {}", counted(counts.frames.count, "frame"))
        };
        used.seen = (!is_held).then(|| Seen::of(&counts, query));
        let has_micro = !matches!(query.micro, PixelMicro::None);
        let unit = has_micro.then(|| micro_tick(first.run)).transpose()?;
        let (counts, raster) = match self.bin_pixels {
            Some(side) => counts.in_blocks(side, query.raster),
            None => (counts, query.raster),
        };
        let mut shown = PixelsShown { has_bins: self.micro, ..PixelsShown::default() };
        if let (PixelMicro::Bins(bins), Some(unit)) = (&query.micro, unit) {
            let (areas, of) = match &query.regions {
                Some(regions) => (regions.pixels().iter().map(|&of| of as f64).collect(), "region"),
                None => (block_areas(self.bin_pixels.unwrap_or(1), query.raster), "pixel"),
            };
            let of_frame = areas.len() * query.planes();
            let frames = if query.is_apart { counts.frames_shown(of_frame).len() } else { 1 };
            let (counts, stride) = (&counts.counts, counts.stride);
            let decays = Decays { counts, stride, areas, frames, of };
            shown.lifetimes = self.lifetimes(all, (bins, unit), &decays)?;
        }
        let (title, value, of_lifetimes) = if let Some(lifetimes) = &mut shown.lifetimes {
            ("Lifetimes", "lifetime_s", std::mem::take(&mut lifetimes.words))
        } else {
            shown.means = unit.map(|unit| (unit, self.min_photons.unwrap_or(1)));
            (if query.regions.is_some() { "Counts" } else { "Image" }, "count", String::new())
        };
        let header = format!(
            "{words}{of_lifetimes}; {} in {}{frames}; tick {}",
            counted(counts.report.photons, "photon"),
            if query.regions.is_some() { "regions" } else { "pixels" },
            first.tick()
        );
        let decays = match (&query.micro, unit) {
            (PixelMicro::Bins(bins), Some(unit)) if self.micro => Some((bins.clone(), unit)),
            _ => None,
        };
        let (figure, rows) = if let Some(regions) = &query.regions {
            (
                FigureKind::Regions { title: format!("{title} of regions"), value, micro: decays },
                counts.regions_table(query, regions, first.tick(), &shown),
            )
        } else {
            let side = f64::from(self.bin_pixels.unwrap_or(1));
            let figure = FigureKind::Image {
                title: title.into(),
                pixels: raster.pixels,
                lines: raster.lines,
                pixel_um: used.pixel_um.map(|size| size * side),
                value,
                phasor_hz: shown.lifetimes.as_ref().and_then(|of| of.used.phasor_hz()),
            };
            (figure, counts.table(query, raster, &shown))
        };
        used.lifetime = shown.lifetimes.map(|of| of.used);
        let query = serde_json::to_value(used)?;
        Ok(Finished { header, query, singles: None, rows, total: None, figure })
    }
}

impl Image {
    /// Returns the bins of micro times: `bins` in place of those that would be chosen.
    fn micro_bins(
        &self,
        (run, context): OfRun<'_>,
        photons: &[u16],
        scope: &Scope,
        bins: Option<&Bins>,
    ) -> Result<Bins, Error> {
        if let Some(bins) = bins.filter(|_| self.range.is_none()) {
            return Ok(bins.clone());
        }
        let bins = self.micro_times().bins(run, photons, scope, context)?;
        let count = bins.count();
        if self.micro || self.bin.is_some() || count <= LIFETIME_BINS {
            return Ok(bins);
        }
        let width = i64::try_from(count.div_ceil(LIFETIME_BINS)).unwrap_or(i64::MAX);
        Ok(Bins::linear(bins.edge(0), bins.edge(count), width)?)
    }

    /// Whether micro times are counted in bins.
    fn has_bins(&self) -> bool {
        self.micro || self.lifetime.is_some()
    }

    /// Returns the request for micro times with the same bins.
    fn micro_times(&self) -> MicroTimes {
        MicroTimes {
            bin: self.bin.clone(),
            exact_bins: self.exact_bins,
            range: self.range.clone(),
            selection: self.selection.clone(),
            ..MicroTimes::default()
        }
    }

    /// Returns the request for the micro times of a response, in these bins, of these channels or of those that are there.
    fn micro_times_of(&self, bins: &Bins, channels: Vec<Channel>) -> Result<MicroTimes, Error> {
        let width = bins.edge(1) - bins.edge(0);
        let range = format!("{}t..{}t", bins.edge(0), bins.edge(bins.count()));
        let of_text = |reason: String| RequestError::Invalid(reason);
        Ok(MicroTimes {
            bin: Some(
                format!("{width}t")
                    .parse()
                    .map_err(|error: <BinWidth as FromStr>::Err| of_text(error.to_string()))?,
            ),
            range: Some(range.parse().map_err(of_text)?),
            selection: Selection { channels, ..self.selection.clone() },
            ..MicroTimes::default()
        })
    }
}
