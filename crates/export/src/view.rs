//! The columns of a store as Arrow buffers: no byte is copied, and the store stays open while a buffer
//! is in use.

use std::sync::Arc;

use arrow_buffer::{Buffer, ScalarBuffer};
use tagq::store::{Channels, MicroColumn, Store};

/// Provides the bytes of one column, and keeps its store open.
struct Bytes {
    store: Arc<Store>,
    column: fn(&Store) -> &[u8],
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        (self.column)(&self.store)
    }
}

fn buffer(store: &Arc<Store>, column: fn(&Store) -> &[u8]) -> Buffer {
    Buffer::from(bytes::Bytes::from_owner(Bytes { store: Arc::clone(store), column }))
}

/// Returns all times of the store if they are in memory or have a column. Access to a missing page raises a system
/// signal, and never reads as zero.
pub(crate) fn times(store: &Arc<Store>) -> Option<ScalarBuffer<i64>> {
    let rows = store.decoded_times()?.len();
    Some(ScalarBuffer::new(buffer(store, time_bytes), 0, rows))
}

fn time_bytes(store: &Store) -> &[u8] {
    bytemuck::cast_slice(store.decoded_times().unwrap_or_default())
}

fn label_bytes(store: &Store) -> &[u8] {
    match store.unguarded_tags().channels {
        Channels::U8(labels) => labels.all(),
        Channels::U16(labels) => bytemuck::cast_slice(labels.all()),
    }
}

/// All labels of the store, with the same guarantees.
pub(crate) enum Labels {
    Narrow(ScalarBuffer<u8>),
    Wide(ScalarBuffer<u16>),
}

pub(crate) fn labels(store: &Arc<Store>) -> Labels {
    let tags = store.unguarded_tags();
    let bytes = buffer(store, label_bytes);
    match tags.channels {
        Channels::U8(_) => Labels::Narrow(ScalarBuffer::new(bytes, 0, tags.len())),
        Channels::U16(_) => Labels::Wide(ScalarBuffer::new(bytes, 0, tags.len())),
    }
}

/// All micro times of the store as they are stored, with the same guarantees; a value with all bits set stands for
/// none.
pub(crate) enum MicroTimes {
    Narrow(ScalarBuffer<u16>),
    Wide(ScalarBuffer<u32>),
}

/// Returns `None` if the store has no micro times.
pub(crate) fn micro_times(store: &Arc<Store>) -> Option<MicroTimes> {
    let rows = store.unguarded_tags().len();
    let bytes = || buffer(store, micro_bytes);
    store.unguarded_micro().map(|micro| match micro {
        MicroColumn::U16(_) => MicroTimes::Narrow(ScalarBuffer::new(bytes(), 0, rows)),
        MicroColumn::U32(_) => MicroTimes::Wide(ScalarBuffer::new(bytes(), 0, rows)),
    })
}

fn micro_bytes(store: &Store) -> &[u8] {
    match store.unguarded_micro() {
        Some(MicroColumn::U16(values)) => bytemuck::cast_slice(values.all()),
        Some(MicroColumn::U32(values)) => bytemuck::cast_slice(values.all()),
        None => &[],
    }
}
