//! The tags of a run as record batches.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    vec,
};

use arrow_array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, RecordBatchOptions, UInt8Array, UInt16Array,
};
use arrow_buffer::ScalarBuffer;
use arrow_schema::{ArrowError, SchemaRef};
use tagq::{
    Run,
    store::{Channels, Store, Tags},
};

use crate::{
    Error, Projection, Selection, TimeUnit,
    plan::{self, Stretch},
    schema,
    unit::Scale,
    view::{self, Labels},
};

/// Blocks whose labels are looked at for one batch.
pub(crate) const BATCH_BLOCKS: usize = 16;

/// What a scan has touched so far.
#[derive(Debug, Default)]
pub struct Touched {
    blocks: AtomicU64,
    lost: AtomicU64,
}

impl Touched {
    /// Blocks of 65,536 rows of which some row was handed out or looked at.
    pub fn blocks(&self) -> u64 {
        self.blocks.load(Ordering::Relaxed)
    }

    /// Tags of which the float column does not say which tick it was.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    pub(crate) fn add_blocks(&self, blocks: u64) {
        self.blocks.fetch_add(blocks, Ordering::Relaxed);
    }
}

/// The selected tags, batch by batch, in order of time. Stretches of rows that are all wanted lie in the
/// mapping of the store, whatever their length; what had to be picked by channel, and floats, are
/// copies of at most 1,048,576 rows.
pub struct Batches {
    maker: Maker,
    times: ScalarBuffer<i64>,
    labels: Labels,
    store: Arc<Store>,
    stretches: vec::IntoIter<Stretch>,
    pieces: Vec<Stretch>,
    touched: Arc<Touched>,
}

impl Selection {
    /// The selected tags of `run`. Reads the index where something is left out, and times only where the
    /// range cuts a block.
    ///
    /// # Errors
    /// Damage of the index, and times that are out of reach for floats.
    pub fn batches(&self, run: &Run) -> Result<Batches, Error> {
        let store = run.shared_store();
        let stretches = plan::stretches(&store, store.unguarded_tags(), self)?;
        Ok(Batches {
            maker: Maker::new(run, self)?,
            times: view::times(&store),
            labels: view::labels(&store),
            store,
            stretches: stretches.into_iter(),
            pieces: Vec::new(),
            touched: Arc::default(),
        })
    }

    /// Whether the selection reaches so far into `run` that floats of its unit do not always say which tick
    /// it was.
    ///
    /// # Errors
    /// A tick that is out of reach for floats of the unit.
    pub fn blurs_ticks(&self, run: &Run) -> Result<bool, Error> {
        let manifest = run.store().manifest();
        let span = manifest.time_first.zip(manifest.time_last);
        let (Some(unit), Some((first, last))) = (self.time_unit, span) else { return Ok(false) };
        let end = self.range.to.map_or(last, |to| last.min(to.saturating_sub(1)));
        let scale = unit.scale(manifest.tick).map_err(tagq::Error::from)?;
        Ok(end >= first && scale.blurs(first, end))
    }
}

impl Batches {
    /// The columns of all batches.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.maker.schema)
    }

    /// Counts what the scan touches, while it goes on.
    pub fn touched(&self) -> Arc<Touched> {
        Arc::clone(&self.touched)
    }

    /// All blocks of the run.
    pub fn blocks(&self) -> u64 {
        Stretch { rows: 0..self.times.len(), is_whole: true }.blocks()
    }

    /// Rows that may be handed out: exact where no channel had to be picked out of a block.
    pub fn rows_at_most(&self) -> usize {
        self.stretches.as_slice().iter().chain(&self.pieces).map(|stretch| stretch.rows.len()).sum()
    }

    fn batch(&self, stretch: &Stretch) -> Result<RecordBatch, Error> {
        self.touched.add_blocks(stretch.blocks());
        let tags = self.store.unguarded_tags();
        if !stretch.is_whole {
            return self.maker.picked(tags.rows(stretch.rows.clone()), &self.touched);
        }
        let (start, len) = (stretch.rows.start, stretch.rows.len());
        let times = self.times.slice(start, len);
        let floats = self.maker.floats(&tags.time[stretch.rows.clone()], &self.touched);
        let labels: ArrayRef = match &self.labels {
            Labels::Narrow(labels) => Arc::new(UInt8Array::new(labels.slice(start, len), None)),
            Labels::Wide(labels) => Arc::new(UInt16Array::new(labels.slice(start, len), None)),
        };
        self.maker.batch(Arc::new(Int64Array::new(times, None)), labels, floats, len)
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.pieces.is_empty() {
            let stretch = self.stretches.next()?;
            let is_copied = !stretch.is_whole || self.maker.unit.is_some();
            let blocks = if is_copied { BATCH_BLOCKS } else { usize::MAX };
            self.pieces = stretch.pieces(blocks).collect();
            self.pieces.reverse();
            // An empty run has one batch of no rows.
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

/// Makes batches of one schema.
pub(crate) struct Maker {
    pub schema: SchemaRef,
    columns: Projection,
    channels: Option<Vec<u16>>,
    unit: Option<(Scale, i64)>,
}

impl Maker {
    pub fn new(run: &Run, selection: &Selection) -> Result<Self, Error> {
        let manifest = run.store().manifest();
        let scale = |unit: TimeUnit| unit.scale(manifest.tick).map_err(tagq::Error::from);
        let scale = selection.time_unit.map(scale).transpose()?;
        Ok(Self {
            schema: schema::of_tags(run, selection),
            columns: selection.columns,
            channels: selection.channels.clone(),
            unit: scale.map(|scale| (scale, manifest.time_first.unwrap_or(0))),
        })
    }

    /// A copy of those of `tags` whose channel is wanted.
    pub fn picked(&self, tags: Tags<'_>, touched: &Touched) -> Result<RecordBatch, Error> {
        let is_wanted: Vec<bool> = match &self.channels {
            None => vec![true; tags.len()],
            Some(channels) => {
                let mut wanted = vec![false; 1 << 16];
                for &channel in channels {
                    wanted[usize::from(channel)] = true;
                }
                match tags.channels {
                    Channels::U8(labels) => {
                        labels.iter().map(|&label| wanted[usize::from(label)]).collect()
                    }
                    Channels::U16(labels) => {
                        labels.iter().map(|&label| wanted[usize::from(label)]).collect()
                    }
                }
            }
        };
        let times = picked(tags.time, &is_wanted);
        let (rows, floats) = (times.len(), self.floats(&times, touched));
        let labels: ArrayRef = match tags.channels {
            Channels::U8(labels) => Arc::new(UInt8Array::from(picked(labels, &is_wanted))),
            Channels::U16(labels) => Arc::new(UInt16Array::from(picked(labels, &is_wanted))),
        };
        self.batch(Arc::new(Int64Array::from(times)), labels, floats, rows)
    }

    fn floats(&self, times: &[i64], touched: &Touched) -> Option<ArrayRef> {
        let (scale, origin) = self.unit?;
        let (floats, lost) = scale.floats(times, origin);
        touched.lost.fetch_add(lost, Ordering::Relaxed);
        Some(Arc::new(Float64Array::from(floats)))
    }

    fn batch(
        &self,
        times: ArrayRef,
        labels: ArrayRef,
        floats: Option<ArrayRef>,
        rows: usize,
    ) -> Result<RecordBatch, Error> {
        let Projection { time, channel } = self.columns;
        let columns = [time.then_some(times), channel.then_some(labels), floats];
        let columns = columns.into_iter().flatten().collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}

fn picked<T: Copy>(values: &[T], is_wanted: &[bool]) -> Vec<T> {
    values.iter().zip(is_wanted).filter_map(|(&value, &wanted)| wanted.then_some(value)).collect()
}
