//! Regions of an image: the labels of a mask in place of pixels, and the table made from their counts.
//!
//! A region of two pixels, in which lines spent 20 ns, has 5 photons: its rate is 5/20 ns = 250 MHz.

use std::{path::Path, sync::Arc};

use serde::Serialize;
use tagq_ingest::read_mask;
use tagq_query::{Image as Query, Raster, Regions};
use tagq_run::RequestError;
use tagq_store::Tick;

use super::{
    counts::{ImageCounts, ImageRows, PixelsShown},
    request::Image,
};
use crate::{
    cells::Cells,
    error::Error,
    requests::limits,
    table::{Column, Table, Unit},
};

/// Bytes of a pixel while labels are numbered and lines are divided at them.
const PIXEL_BYTES: u64 = 32;

/// The mask as it was used.
#[derive(Debug, Serialize)]
pub(super) struct MaskUsed {
    /// Labels other than 0.
    regions: usize,
    /// Pixels with these labels.
    pixels: u64,
    /// A hash of the labels of all pixels.
    digest: String,
}

impl MaskUsed {
    pub(super) fn of(regions: &Regions) -> Self {
        let (pixels, digest) = (regions.pixels().iter().sum(), regions.digest());
        Self { regions: regions.labels().len(), pixels, digest }
    }
}

impl Image {
    /// Reads the mask, if there is one.
    pub(super) fn regions(&self, raster: Raster) -> Result<Option<Regions>, Error> {
        let Some(path) = &self.mask else { return Ok(None) };
        let pixels = u128::from(raster.pixels) * u128::from(raster.lines);
        limits::check(pixels, "pixels of a mask", PIXEL_BYTES, |most| {
            format!("{most} would fit; leave the mask out, or give fewer `pixels`")
        })?;
        let fault = |reason: String| {
            Error::from(RequestError::options(&["mask"], format!("`mask` {reason}")))
        };
        let labels = read_mask(Path::new(path), [raster.pixels, raster.lines]);
        let labels = labels.map_err(|error| fault(error.to_string()))?;
        let regions = Regions::new(labels).map_err(|error| fault(format!("{path}: {error}")))?;
        Ok(Some(regions))
    }
}

impl ImageCounts {
    /// Returns one row for each region, frame by frame and channel by channel if these are apart.
    pub(super) fn regions_table(
        mut self,
        query: &Query,
        regions: &Regions,
        tick: Tick,
        shown: &PixelsShown,
    ) -> Table {
        let regions = regions.clone();
        let dwell = Arc::new(std::mem::take(&mut self.dwell));
        let rows = self.rows(query, regions.labels().len());
        let ImageRows { first, len, of_frame, of_plane, .. } = rows;
        let label = {
            let regions = regions.clone();
            rows.cells(move |row| i64::from(regions.labels()[row % of_plane]))
        };
        let pixels = rows.cells(move |row| regions.pixels()[row % of_plane]);
        let seconds = rows.cells(move |row| {
            // All channels of a frame have the same times.
            let frame = (first + row) / of_frame;
            let ticks = dwell.get(frame * of_plane + row % of_plane).copied();
            ticks.map(|ticks| tick.seconds_of(ticks.into()))
        });
        let rate = |counted: fn(u64) -> f64| {
            let (rows, seconds) = (rows.clone(), seconds.clone());
            let of_row = move |row: usize| {
                let seconds = seconds.at(row).filter(|&seconds| seconds > 0.0)?;
                Some(counted(rows.count(row)) / seconds)
            };
            Cells::made(len, of_row)
        };
        let table = rows
            .places(query)
            .with(Column::integers("label", label).key())
            .with(Column::counts("pixels", pixels))
            .with(
                Column::floats("dwell_s", seconds.clone())
                    .heading("dwell")
                    .unit(Unit::Seconds)
                    .about("time that lines spent in the pixels"),
            );
        let table = rows
            .with_count(table)
            .with(
                Column::floats("rate_hz", rate(|count| count as f64))
                    .heading("rate")
                    .unit(Unit::Hertz)
                    .err("rate_err_hz"),
            )
            .with(
                Column::floats("rate_err_hz", rate(|count| (count.max(1) as f64).sqrt())).hidden(),
            );
        rows.with_micro(table, shown)
    }
}
