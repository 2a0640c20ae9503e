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

pub use request::{IMAGE, Image, PixelResponse, ScanPath, SineOf, Together};

use std::{fmt::Write as _, str::FromStr};

use serde::Serialize;
use tagq_ingest::HeldCounts;
use tagq_query::{
    Bins, Error as QueryError, Execution, Image as Query, Kind as _, Ledger, Markers, PixelMicro,
    Raster, Scope, Sine, TimeDivision,
};
use tagq_run::{BinWidth, Channel, RequestError, Run, Work, counted};
use tagq_store::{ScanFacts, Tick, pasted};

use self::{
    counts::{FramesSeen, ImageCounts, PixelsShown, block_areas},
    lifetime::{Decays, LifetimeUsed},
    regions::MaskUsed,
    request::LIFETIME_PHOTONS,
};
use super::{
    context::QueryContext,
    detectors,
    header::bin_width,
    kind::{Finished, OfRun, RequestKind, Resolved},
    limits,
    micro::{MicroTimes, micro_tick},
    options::RequestType,
    selection::{Selected, Selection},
    used::{MOVES, SelectionUsed},
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

/// The query as it was counted.
#[derive(Debug, Serialize)]
pub(super) struct Used {
    kind: &'static str,
    /// The marker of lines; an image that a file holds has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u16>,
    line_end: Option<u16>,
    frame: Option<u16>,
    photons: Vec<u16>,
    pixels: u32,
    lines: u32,
    two_way: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    sine_percent: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sine_of: Option<SineOf>,
    /// The first line of a frame and the first frame, if they are not 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_frame: Option<u32>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    repaired: bool,
    /// `together` or `apart`.
    frames: &'static str,
    detectors: &'static str,
    /// The side of a pixel in micrometres.
    #[serde(skip_serializing_if = "Option::is_none")]
    pixel_um: Option<f64>,
    /// The unit of micro times, as a fraction of attoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    micro_tick: Option<String>,
    /// Width of a bin of micro times.
    #[serde(skip_serializing_if = "Option::is_none")]
    bin_ticks: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bin_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    range_ticks: Option<[i64; 2]>,
    /// The fewest photons of a pixel that has a mean micro time or a lifetime.
    #[serde(skip_serializing_if = "Option::is_none")]
    min_photons: Option<u64>,
    /// The side of the blocks of pixels that are pixels of the image.
    #[serde(skip_serializing_if = "Option::is_none")]
    bin_pixels: Option<u32>,
    /// The regions that are counted in place of pixels.
    #[serde(skip_serializing_if = "Option::is_none")]
    mask: Option<MaskUsed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lifetime: Option<LifetimeUsed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seen: Option<Seen>,
    #[serde(flatten)]
    selection: SelectionUsed,
}

/// The photons and the markers in the selection.
#[derive(Debug, Serialize)]
struct Seen {
    photons_in_pixels: u64,
    photons_outside_lines: u64,
    photons_beyond_lines: u64,
    photons_skipped: u64,
    /// With a mask, photons in pixels that are in no region.
    #[serde(skip_serializing_if = "Option::is_none")]
    photons_outside_regions: Option<u64>,
    line_starts: u64,
    line_starts_without_end: u64,
    line_ends_without_start: u64,
    frames_with_lines: u64,
    frames_with_fewer_lines: u64,
    frames_with_more_lines: u64,
    frames_without_lines: u64,
    frame_markers_inside_lines: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    repaired: Option<RepairedSeen>,
    /// The number of a frame with another number of lines, and these: the first 100.
    frames_of_other_lines: Vec<(usize, u64)>,
}

/// The markers that were put in and left out.
#[derive(Debug, Serialize)]
struct RepairedSeen {
    line_starts_added: u64,
    line_ends_added: u64,
    frame_markers_added: u64,
    double_markers_left_out: u64,
}

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
            let reason = "parts are added up without the tags of the run; name a run with `irf`, of which `irf_channel` is a channel";
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
        let (figure, rows) = if let Some(regions) = &query.regions {
            (
                FigureKind::Regions { title: format!("{title} of regions"), value },
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

/// The scan as the headers of the files state it, all alike, and the channels of its markers.
struct Stated {
    scan: ScanFacts,
    line: Option<u16>,
    line_end: Option<u16>,
    frame: Option<u16>,
}

impl Stated {
    fn of(run: &Run) -> Result<Self, Error> {
        let sources = &run.store().manifest().sources;
        let recordings = || sources.iter().filter_map(|source| source.facts.recording.as_ref());
        let mut scans = recordings().map(ScanFacts::of).filter(|of| *of != ScanFacts::default());
        let scan = scans.next().unwrap_or_default();
        if scans.any(|other| other != scan) {
            return Err(RequestError::Runs(format!(
                "the files of {} state different scans; ask each of them alone",
                run.path().display()
            ))
            .into());
        }
        let channel = |name: &Option<String>| {
            let name = name.as_ref()?;
            let mut names = recordings().flat_map(|of| &of.channel_names);
            names.find(|(_, of)| of == name).map(|&(channel, _)| channel)
        };
        let [line, line_end, frame] = [&scan.line, &scan.line_end, &scan.frame].map(channel);
        Ok(Self { scan, line, line_end, frame })
    }
}

/// Why the header states nothing.
const OF_HEADER: &str = "the store has none from a file's header; ingest it with `rebuild` if it was made before headers of images \
                         were read";

/// Returns why a run without markers is no image, and the query that counts it.
fn of_point(run: &Run) -> String {
    let path = run.path();
    let other = match run.store().manifest().micro_tick {
        Some(_) => format!("`tagq micro {}` counts its micro times", pasted(path)),
        None => format!("`tagq rates {}` counts it", pasted(path)),
    };
    format!("{} has no markers, as of a point that is not scanned; {other}", path.display())
}

impl Image {
    /// Returns the markers. If the marker of lines is given, those of the header are of another scan.
    fn markers(
        &self,
        run: &Run,
        stated: &Stated,
        context: &QueryContext<'_>,
    ) -> Result<Markers, Error> {
        let given = |channel: &Option<Channel>| {
            channel.as_ref().map(|channel| context.setup.channel(channel)).transpose()
        };
        let missing = || {
            let why = if detectors::has_markers(run) { OF_HEADER.into() } else { of_point(run) };
            RequestError::missing("line", &format!(": the marker at which lines begin; {why}"))
        };
        let line = given(&self.line)?;
        let or = |stated: Option<u16>| stated.filter(|_| line.is_none());
        let markers = Markers {
            line: line.or(stated.line).ok_or_else(missing)?,
            line_end: given(&self.line_end)?.or(or(stated.line_end)),
            frame: given(&self.frame)?.or(or(stated.frame)),
            is_repaired: self.repair,
        };
        let Markers { line, line_end, frame, .. } = markers;
        if line_end == Some(line) || frame == Some(line) || (frame.is_some() && frame == line_end) {
            return Err(RequestError::options(
                &["line", "line_end", "frame"],
                "`line`, `line_end` and `frame` are different channels".into(),
            )
            .into());
        }
        Ok(markers)
    }

    fn raster(&self, stated: &Stated) -> Result<Raster, Error> {
        let missing =
            |option: &str| RequestError::missing(option, &format!(": their number; {OF_HEADER}"));
        let scan = self.scan;
        let is_sinusoidal =
            scan.map_or(stated.scan.sine_percent.is_some(), ScanPath::is_sinusoidal);
        let given = [("sine", self.sine.is_some()), ("sine_of", self.sine_of.is_some())];
        if let Some((given, _)) = given.iter().find(|(_, is)| *is && !is_sinusoidal) {
            return Err(RequestError::options(
                &[given, "scan"],
                format!("`{given}` is of a `scan` that is sinusoidal"),
            )
            .into());
        }
        let percent = self.sine.map(f64::from).or(stated.scan.sine_percent).unwrap_or(100.0);
        if is_sinusoidal && !(0.1..=100.0).contains(&percent) {
            return Err(RequestError::options(
                &["sine"],
                format!("a line covers 1 to 100 percent of a sine, not {percent}"),
            )
            .into());
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 1,000")]
        let thousandths = (percent * 10.0).round() as u16;
        let is_of_period =
            self.sine_of.unwrap_or(SineOf::of(stated.scan.is_sine_of_period)) == SineOf::Period;
        Ok(Raster {
            pixels: self.pixels.or(stated.scan.pixels).ok_or_else(|| missing("pixels"))?,
            lines: self.lines.or(stated.scan.lines).ok_or_else(|| missing("lines"))?,
            first_line: self.first_line.unwrap_or(0),
            first_frame: self.first_frame.unwrap_or(0),
            is_two_way: scan.map_or(stated.scan.is_two_way.unwrap_or(false), ScanPath::is_two_way),
            sine: is_sinusoidal.then_some(Sine { thousandths, is_of_period }),
        })
    }

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

    fn used(&self, resolved: &Resolved<'_, Query>, runs: usize) -> Result<Used, Error> {
        let Query { markers, photons, raster, micro, .. } = &resolved.query;
        let has_micro = !matches!(micro, PixelMicro::None);
        let unit = has_micro.then(|| micro_tick(resolved.run)).transpose()?;
        let bins = if let PixelMicro::Bins(bins) = micro { Some(bins) } else { None };
        let bin = bins.map(|bins| bins.edge(1) - bins.edge(0));
        let stated = Stated::of(resolved.run)?;
        // Other numbers of pixels would be of another size.
        let is_as_stated =
            |asked: Option<u32>, of: Option<u32>| asked.is_none_or(|n| of == Some(n));
        let pixel_um = stated.scan.pixel_um.filter(|_| {
            is_as_stated(self.pixels, stated.scan.pixels)
                && is_as_stated(self.lines, stated.scan.lines)
        });
        Ok(Used {
            kind: "image",
            line: (!resolved.run.holds_counts()).then_some(markers.line),
            line_end: markers.line_end,
            frame: markers.frame,
            photons: photons.clone(),
            pixels: raster.pixels,
            lines: raster.lines,
            two_way: raster.is_two_way,
            sine_percent: raster.sine.map(|sine| f64::from(sine.thousandths) / 10.0),
            sine_of: raster.sine.map(|sine| SineOf::of(sine.is_of_period)),
            first_line: (raster.first_line > 0).then_some(raster.first_line),
            first_frame: (raster.first_frame > 0).then_some(raster.first_frame),
            repaired: markers.is_repaired,
            frames: self.frames.name(),
            detectors: self.detectors.name(),
            pixel_um,
            micro_tick: unit.map(Tick::fraction),
            bin_ticks: bin,
            bin_s: bin.zip(unit).map(|(bin, unit)| unit.seconds_of(bin.into())),
            range_ticks: bins.map(|bins| [bins.edge(0), bins.edge(bins.count())]),
            min_photons: match self.lifetime {
                Some(_) => Some(self.min_photons.unwrap_or(LIFETIME_PHOTONS)),
                None => self.min_photons.filter(|_| has_micro),
            },
            bin_pixels: self.bin_pixels,
            mask: resolved.query.regions.as_ref().map(MaskUsed::of),
            lifetime: None,
            seen: None,
            selection: SelectionUsed::of(&resolved.selected, self.selection.join, resolved.tick())
                .of_runs(runs),
        })
    }

    /// Returns the request as text for the header.
    fn words(&self, resolved: &Resolved<'_, Query>, used: &Used) -> String {
        let (context, tick) = (resolved.context, resolved.tick());
        let name = |channel: u16| context.setup.name_of(channel);
        let end =
            used.line_end.map_or(" to the next line".to_owned(), |of| format!(" to {}", name(of)));
        let frame = used.frame.map_or(String::new(), |of| format!(", frames at {}", name(of)));
        let (lines, frames) = match used.line {
            Some(line) => {
                let lines = format!(", lines from {}{end}{frame}", name(line));
                (lines, format!("; frames {}", used.frames))
            }
            None => (" as the file holds it".to_owned(), String::new()),
        };
        let photons: Vec<String> = used.photons.iter().map(|&of| name(of)).collect();
        let apart = if self.detectors.is_apart() { " apart" } else { "" };
        let mut scan = String::new();
        let firsts = [("line", used.first_line), ("frame", used.first_frame)];
        for (of, first) in firsts.into_iter().filter_map(|(of, first)| Some((of, first?))) {
            let _ = write!(scan, "; from {of} {first}");
        }
        if used.repaired {
            scan.push_str("; markers repaired");
        }
        if used.two_way {
            scan.push_str("; two-way");
        }
        if let Some(percent) = used.sine_percent {
            let of = if used.sine_of == Some(SineOf::Period) { " of the period" } else { "" };
            let _ = write!(scan, "; sine of {percent} %{of}");
        }
        let micro = match (used.bin_ticks, micro_tick(resolved.run)) {
            (Some(bin), Ok(unit)) => {
                format!("; micro times in bins of {}", bin_width(bin, self.bin.as_ref(), unit))
            }
            _ => String::new(),
        };
        let of = if self.lifetime.is_some() { "lifetimes" } else { "mean micro times" };
        let least = used
            .min_photons
            .map_or(String::new(), |least| format!("; {of} from {} on", counted(least, "photon")));
        let blocks =
            used.bin_pixels.map_or(String::new(), |side| format!(" in blocks of {side} x {side}"));
        let regions = resolved.query.regions.as_ref().map_or(String::new(), |regions| {
            format!(" in {}", counted(regions.labels().len() as u64, "region"))
        });
        format!(
            "image of {} x {} pixels{blocks}{regions}{lines}{scan}{frames}; photons of {}{apart}{micro}{least}{}",
            used.pixels,
            used.lines,
            if photons.is_empty() { "no channel".to_owned() } else { photons.join(",") },
            used.selection.words(context.setup, tick)
        )
    }
}

impl Seen {
    fn of(counts: &ImageCounts, query: &Query) -> Self {
        let (report, frames) = (&counts.report, &counts.frames);
        let FramesSeen { count, fewer, more, other } = frames;
        Self {
            photons_in_pixels: report.photons,
            photons_outside_lines: report.photons_outside,
            photons_beyond_lines: report.photons_beyond,
            photons_skipped: report.photons_skipped,
            photons_outside_regions: (query.regions.is_some())
                .then_some(report.photons_outside_regions),
            line_starts: report.line_starts,
            line_starts_without_end: report.starts_without_end,
            line_ends_without_start: report.ends_without_start,
            frames_with_lines: *count,
            frames_with_fewer_lines: *fewer,
            frames_with_more_lines: *more,
            frames_without_lines: report.frames_empty,
            frame_markers_inside_lines: report.frames_inside_lines,
            repaired: query.markers.is_repaired.then_some(RepairedSeen {
                line_starts_added: report.starts_added,
                line_ends_added: report.ends_added,
                frame_markers_added: report.frames_added,
                double_markers_left_out: report.doubles_left_out,
            }),
            frames_of_other_lines: other.clone(),
        }
    }
}
