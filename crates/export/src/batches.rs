//! The tags of a run as record batches.
//!
//! Blocks that are selected as a whole are views of the store, whatever their number; blocks from which channels are
//! picked are copied, 16 blocks of 65,536 rows at a time. All ways give the same rows in the same order.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    vec,
};

use arrow_array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, RecordBatchOptions, UInt8Array, UInt16Array,
    UInt32Array,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, SchemaRef};
use tagq::{
    Projection, Run, Stretch, TagSelection,
    store::{
        Channels, MicroColumn, Store, Tags,
        format::{MICRO_NONE, MICRO_NONE_U16},
    },
    stretches,
};

use crate::{
    Error, TimeUnit, schema,
    unit::Scale,
    view::{self, Labels, MicroTimes},
};

/// Maximum number of blocks whose labels are read for one batch.
pub(crate) const BATCH_BLOCKS: usize = 16;

/// The data that a scan has touched so far.
#[derive(Debug, Default)]
pub struct Touched {
    blocks: AtomicU64,
    lost: AtomicU64,
}

impl Touched {
    /// Returns the number of blocks of 65,536 rows with at least one row that was returned or read.
    pub fn blocks(&self) -> u64 {
        self.blocks.load(Ordering::Relaxed)
    }

    /// Returns the number of tags whose float does not identify their tick.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    pub(crate) fn add_blocks(&self, blocks: u64) {
        self.blocks.fetch_add(blocks, Ordering::Relaxed);
    }
}

/// The selected tags in batches, in time order. Row ranges that are selected completely are views of
/// the memory-mapped store, whatever their length; tags picked by channel, and floats, are copies of at
/// most 1,048,576 rows. Micro times are views in batches of at most as many rows, because a bit for each row
/// says whether there is one.
pub struct Batches {
    maker: Maker,
    /// All times; without them they are decoded batch by batch.
    times: Option<ScalarBuffer<i64>>,
    labels: Labels,
    micro: Option<MicroTimes>,
    store: Arc<Store>,
    stretches: vec::IntoIter<Stretch>,
    pieces: Vec<Stretch>,
    touched: Arc<Touched>,
}

impl Batches {
    /// Returns the selected tags of `run`. Reads the index if the selection excludes something, and
    /// reads times only if the range cuts a block.
    ///
    /// # Errors
    /// Fails if the index is damaged, or if floats of the unit cannot represent the tick.
    pub fn of(run: &Run, selection: &TagSelection) -> Result<Self, Error> {
        run.check_tags()?;
        let store = run.shared_store();
        let stretches = store.guarded(|store| stretches(store, store.tags(), selection))??;
        let maker = Maker::new(run, selection)?;
        Ok(Batches {
            micro: view::micro_times(&store).filter(|_| maker.columns.micro),
            maker,
            times: view::times(&store),
            labels: view::labels(&store),
            store,
            stretches: stretches.into_iter(),
            pieces: Vec::new(),
            touched: Arc::default(),
        })
    }

    /// Returns the columns of all batches.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.maker.schema)
    }

    /// Returns the counter of the data that the scan touches, updated while it runs.
    pub fn touched(&self) -> Arc<Touched> {
        Arc::clone(&self.touched)
    }

    /// Returns the number of all blocks of the run.
    pub fn blocks(&self) -> u64 {
        Stretch { rows: 0..self.store.opened().len(), is_whole: true }.blocks()
    }

    /// Returns the maximum number of rows; exact if no block has to be filtered by channel.
    pub fn rows_at_most(&self) -> usize {
        self.stretches.as_slice().iter().chain(&self.pieces).map(|stretch| stretch.rows.len()).sum()
    }

    fn batch(&self, stretch: &Stretch) -> Result<RecordBatch, Error> {
        self.touched.add_blocks(stretch.blocks());
        let (start, len) = (stretch.rows.start, stretch.rows.len());
        self.store.check_tags(stretch.rows.clone())?;
        if self.micro.is_some() {
            self.store.check_micro(stretch.rows.clone())?;
        }
        let times = if let Some(times) = &self.times {
            times.slice(start, len)
        } else {
            let decode = |store: &Store| store.tags().time.rows(stretch.rows.clone()).to_vec();
            self.store.guarded(decode)?.into()
        };
        if !stretch.is_whole {
            let channels = self.store.unguarded_tags().rows(stretch.rows.clone()).channels;
            let tags = Tags { time: times[..].into(), channels };
            let micro = self.store.unguarded_micro();
            let micro = micro.map(|micro| micro.rows(stretch.rows.clone()));
            return self.maker.picked(tags, micro, &self.touched);
        }
        let floats = self.maker.floats(&times, &self.touched);
        let labels: ArrayRef = match &self.labels {
            Labels::Narrow(labels) => Arc::new(UInt8Array::new(labels.slice(start, len), None)),
            Labels::Wide(labels) => Arc::new(UInt16Array::new(labels.slice(start, len), None)),
        };
        let micro = self.micro.as_ref().map(|micro| match micro {
            MicroTimes::Narrow(values) => narrow_micro(values.slice(start, len)),
            MicroTimes::Wide(values) => wide_micro(values.slice(start, len)),
        });
        self.maker
            .batch([Some(Arc::new(Int64Array::new(times, None))), Some(labels), micro, floats], len)
    }
}

/// Returns whether the selection extends so far into `run` that floats of its unit do not always
/// identify the tick.
///
/// # Errors
/// Fails if floats of the unit cannot represent the tick.
pub fn blurs_ticks(run: &Run, selection: &TagSelection) -> Result<bool, Error> {
    let manifest = run.store().manifest();
    let span = manifest.time_first.zip(manifest.time_last);
    let (Some(unit), Some((first, last))) = (selection.time_unit, span) else { return Ok(false) };
    let end = selection.range.to.map_or(last, |to| last.min(to.saturating_sub(1)));
    let scale = Scale::of(unit, manifest.tick).map_err(tagq::Error::from)?;
    Ok(end >= first && scale.blurs(first, end))
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.pieces.is_empty() {
            let stretch = self.stretches.next()?;
            let has_copies = self.maker.unit.is_some() || self.times.is_none();
            let is_cut = !stretch.is_whole || has_copies || self.micro.is_some();
            let blocks = if is_cut { BATCH_BLOCKS } else { usize::MAX };
            self.pieces = stretch.pieces(blocks).collect();
            self.pieces.reverse();
            // An empty run has one batch without rows.
            if self.pieces.is_empty() {
                self.pieces.push(Stretch { rows: 0..0, is_whole: true });
            }
        }
        let piece = self.pieces.pop()?;
        Some(self.batch(&piece).map_err(|error| match error {
            Error::Arrow(error) => error,
            error => ArrowError::ExternalError(Box::new(error)),
        }))
    }
}

impl std::fmt::Debug for Batches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batches").field("schema", &self.maker.schema).finish_non_exhaustive()
    }
}

/// Creates batches of one schema.
pub(crate) struct Maker {
    pub schema: SchemaRef,
    columns: Projection,
    channels: Option<Vec<u16>>,
    unit: Option<(Scale, i64)>,
}

impl Maker {
    pub fn new(run: &Run, selection: &TagSelection) -> Result<Self, Error> {
        let manifest = run.store().manifest();
        let scale = |unit: TimeUnit| Scale::of(unit, manifest.tick).map_err(tagq::Error::from);
        let scale = selection.time_unit.map(scale).transpose()?;
        Ok(Self {
            schema: schema::of_tags(run, selection),
            columns: selection.columns,
            channels: selection.channels.clone(),
            unit: scale.map(|scale| (scale, manifest.time_first.unwrap_or(0))),
        })
    }

    /// Copies those of `tags` whose channel is selected.
    pub fn picked(
        &self,
        tags: Tags<'_>,
        micro: Option<MicroColumn<'_>>,
        touched: &Touched,
    ) -> Result<RecordBatch, Error> {
        let is_wanted: Vec<bool> = match &self.channels {
            None => vec![true; tags.len()],
            Some(channels) => {
                let mut wanted = vec![false; 1 << 16];
                for &channel in channels {
                    wanted[usize::from(channel)] = true;
                }
                match tags.channels {
                    Channels::U8(labels) => {
                        labels.all().iter().map(|&label| wanted[usize::from(label)]).collect()
                    }
                    Channels::U16(labels) => {
                        labels.all().iter().map(|&label| wanted[usize::from(label)]).collect()
                    }
                }
            }
        };
        let mut buffer = Vec::new();
        let times = picked(tags.time.read(0..tags.len(), &mut buffer), &is_wanted);
        let (rows, floats) = (times.len(), self.floats(&times, touched));
        let labels: ArrayRef = match tags.channels {
            Channels::U8(labels) => Arc::new(UInt8Array::from(picked(labels.all(), &is_wanted))),
            Channels::U16(labels) => Arc::new(UInt16Array::from(picked(labels.all(), &is_wanted))),
        };
        let micro = micro.filter(|_| self.columns.micro).map(|micro| match micro {
            MicroColumn::U16(values) => narrow_micro(picked(values.all(), &is_wanted).into()),
            MicroColumn::U32(values) => wide_micro(picked(values.all(), &is_wanted).into()),
        });
        self.batch([Some(Arc::new(Int64Array::from(times))), Some(labels), micro, floats], rows)
    }

    fn floats(&self, times: &[i64], touched: &Touched) -> Option<ArrayRef> {
        let (scale, origin) = self.unit?;
        let (floats, lost) = scale.floats(times, origin);
        touched.lost.fetch_add(lost, Ordering::Relaxed);
        Some(Arc::new(Float64Array::from(floats)))
    }

    /// Makes a batch of times, labels, micro times and floats; leaves out the columns that are not exported.
    fn batch(&self, columns: [Option<ArrayRef>; 4], rows: usize) -> Result<RecordBatch, Error> {
        let Projection { time, channel, micro } = self.columns;
        let columns = columns.into_iter().zip([time, channel, micro, true]);
        let columns =
            columns.filter_map(|(column, is_wanted)| column.filter(|_| is_wanted)).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}

fn narrow_micro(values: ScalarBuffer<u16>) -> ArrayRef {
    let nulls = nulls_of(&values, MICRO_NONE_U16);
    Arc::new(UInt16Array::new(values, nulls))
}

fn wide_micro(values: ScalarBuffer<u32>) -> ArrayRef {
    let nulls = nulls_of(&values, MICRO_NONE);
    Arc::new(UInt32Array::new(values, nulls))
}

/// Returns the mask of the values that differ from `none`, the mark of a missing value; `None` if no value is
/// missing.
fn nulls_of<T: Copy + PartialEq>(values: &[T], none: T) -> Option<NullBuffer> {
    let is_there = BooleanBuffer::collect_bool(values.len(), |row| values[row] != none);
    Some(NullBuffer::new(is_there)).filter(|nulls| nulls.null_count() > 0)
}

fn picked<T: Copy>(values: &[T], is_wanted: &[bool]) -> Vec<T> {
    values.iter().zip(is_wanted).filter_map(|(&value, &wanted)| wanted.then_some(value)).collect()
}
