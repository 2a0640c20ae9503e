//! The image as it was counted: what an answer says of its query, and the photons and markers that were seen.
//!
//! Of 48 beginnings of lines one has no end: `line_starts` is 48, `line_starts_without_end` is 1, and a note says so.

use std::fmt::Write as _;

use serde::Serialize;
use tagq_query::{Image as Query, PixelMicro};
use tagq_run::counted;
use tagq_store::Tick;

use super::{
    super::{header::bin_width, kind::Resolved, micro::micro_tick, used::SelectionUsed},
    counts::{FramesSeen, ImageCounts},
    lifetime::LifetimeUsed,
    regions::MaskUsed,
    request::{Image, LIFETIME_PHOTONS, SineOf},
    stated::Stated,
};
use crate::error::Error;

/// The query as it was counted.
#[derive(Debug, Serialize)]
pub(crate) struct Used {
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
    pub pixel_um: Option<f64>,
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
    pub(super) lifetime: Option<LifetimeUsed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) seen: Option<Seen>,
    #[serde(flatten)]
    selection: SelectionUsed,
}

/// The photons and the markers in the selection.
#[derive(Debug, Serialize)]
pub(super) struct Seen {
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

impl Image {
    pub(super) fn used(&self, resolved: &Resolved<'_, Query>, runs: usize) -> Result<Used, Error> {
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
    pub(super) fn words(&self, resolved: &Resolved<'_, Query>, used: &Used) -> String {
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
    pub(super) fn of(counts: &ImageCounts, query: &Query) -> Self {
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
