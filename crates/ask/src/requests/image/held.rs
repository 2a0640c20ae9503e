//! Images that a file holds in place of tags: a decay curve in each pixel.
//!
//! A pixel with two photons of micro time 3 has the numbers 2, 2, 6, 18 and 0, as if they were counted from tags:
//! photons, those with a micro time, Σm, and Σm² in two parts.

use tagq_ingest::HeldCounts;
use tagq_query::{Bins, Image as Query, ImageReport, Imaged, Markers, PixelMicro, Raster};
use tagq_run::RequestError;

use super::{counts::ImageCounts, request::Image};
use crate::{
    error::Error,
    requests::{
        held::{CountPlaces, labels},
        kind::OfRun,
        selection::Selected,
    },
};

/// Nothing reads the markers of an image that a file holds.
const NO_MARKERS: Markers = Markers { line: 0, line_end: None, frame: None, is_repaired: false };

impl Image {
    /// Returns the query for the images of a file that have the size of the first one.
    pub(super) fn query_of_counts(
        &self,
        (run, context): OfRun<'_>,
        selected: &Selected,
        counts: &HeldCounts,
        bins: Option<&Bins>,
    ) -> Result<Query, Error> {
        let images = || counts.labels().filter_map(|(label, size)| Some((label, size?)));
        let scope = selected.scope.clone();
        let photons = labels(run, scope.channels.as_deref(), images().map(|(label, _)| label))?;
        let mut sizes = images().filter(|(label, _)| photons.contains(label));
        let Some((first, [pixels, lines])) = sizes.next() else {
            return Err(RequestError::Held(format!(
                "{} holds decay curves and no image; ask for its micro times",
                run.path().display()
            ))
            .into());
        };
        if let Some((other, _)) = sizes.find(|(_, size)| *size != [pixels, lines]) {
            return Err(RequestError::options(&["channels"], format!(
                "the images of channels {first} and {other} have different sizes; name `channels` of one size"
            )).into());
        }
        let micro = if self.has_bins() {
            PixelMicro::Bins(self.micro_bins((run, context), &photons, &scope, bins)?)
        } else {
            PixelMicro::Mean
        };
        let raster =
            Raster { pixels, lines, first_line: 0, first_frame: 0, is_two_way: false, sine: None };
        let is_by_channel = self.detectors.is_apart();
        let (markers, is_apart, frames) = (NO_MARKERS, false, 0);
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
}

/// Adds up the images of the channels of a query, or puts them one after the other.
pub(super) fn take(query: &Query, counts: &HeldCounts) -> Result<ImageCounts, Error> {
    let every = Bins::linear(0, counts.bins().into(), 1)?;
    let bins = if let PixelMicro::Bins(bins) = &query.micro { bins } else { &every };
    let places = CountPlaces::new(&query.photons, bins, counts);
    let stride = query.stride();
    let has_bins = matches!(query.micro, PixelMicro::Bins(_));
    let mut numbers = vec![0_u64; query.size().0 * stride];
    let (mut photons, mut photons_outside_regions) = (0, 0);
    let of_plane = query.size().0 / query.planes().max(1);
    counts.read(|label, pixel, curve| {
        let Some(plane) = places.of(label) else { return };
        let place = match &query.regions {
            Some(regions) => regions.region(pixel),
            None => Some(pixel),
        };
        let Some(place) = place else {
            photons_outside_regions += curve.iter().map(|&count| u64::from(count)).sum::<u64>();
            return;
        };
        let place = place + if query.is_by_channel { plane * of_plane } else { 0 };
        let numbers = &mut numbers[place * stride..(place + 1) * stride];
        for (micro, (&count, bin)) in (0_u64..).zip(curve.iter().zip(&places.bins)) {
            let count = u64::from(count);
            photons += count;
            // Those of `PixelCounts`. A micro time has 16 bits, and a count 32.
            let squares = count * micro * micro;
            numbers[0] += count;
            numbers[1] += count;
            numbers[2] += count * micro;
            numbers[3] += squares & u64::from(u32::MAX);
            numbers[4] += squares >> 32;
            if let Some(bin) = bin.filter(|_| has_bins) {
                numbers[5 + bin] += count;
            }
        }
    })?;
    let report = ImageReport { photons, photons_outside_regions, ..ImageReport::default() };
    // A file of counts does not say how long lines are.
    let (lines, dwell) = (Vec::new(), Vec::new());
    let imaged = Imaged { counts: numbers, stride, dwell, lines, report };
    Ok(ImageCounts::of(imaged, query.raster))
}
