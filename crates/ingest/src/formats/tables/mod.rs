//! Tables: files with a column for the time and one for the channel, of programs for data of any kind. A format finds
//! the columns, and [`reading`] makes tags of them. Tables are read at any byte, so one that is compressed as a whole
//! is refused. Only whole tables are read: none has a checkpoint. They have no suffix, because an export into the
//! folder of a run must not become its source.

pub(crate) mod arrow;
pub(crate) mod bytes;
pub(crate) mod fault;
pub(crate) mod fixed;
pub(crate) mod mask_size;
mod notes;
pub(crate) mod numpy;
pub(crate) mod parquet;
pub(crate) mod reading;
pub(crate) mod values;

use crate::{error::Error, payload::Payload};

/// Refuses a table that is compressed as a whole.
pub(crate) fn check_plain(payload: &Payload<'_>, kind: &str) -> Result<(), Error> {
    let Some(members) = payload.members() else { return Ok(()) };
    Err(Error::Foreign {
        path: payload.path.into(),
        kind: format!("{kind} in {members}"),
        way: "unpack it first by zstd -dc, gzip -dc, xz -dc or bzip2 -dc",
    })
}
