//! Files of PicoQuant's instruments: PTU, and the older formats of PicoHarp and HydraHarp, in modes T2 and T3, and of
//! a TimeHarp 200.

pub(crate) mod by_pulse;
mod facts;
mod labels;
mod legacy;
mod ptu;
mod pulses;
mod records;
mod tags;
mod timeharp;
pub(crate) mod writer;

use std::sync::Arc;

use crate::{
    error::Error,
    formats::{
        format::{Format, FormatFacts, Reader},
        records::RecordFile,
    },
    payload::Payload,
};
pub(crate) use tags::NO_TAGS;
use tags::{HEADER_BYTES_MAX, HeaderFault};

/// The name of the format of files that are written, too.
pub(crate) const NAME: &str = "ptu";
/// The end of the names of files that are written, too.
pub(crate) const SUFFIX: &str = ".ptu";
/// Headers of this length are looked at first, and of the second length if they are longer.
const HEADER_BYTES: [usize; 2] = [64 << 10, HEADER_BYTES_MAX];

/// The formats of PicoQuant's instruments.
pub(crate) struct PicoQuant;

impl Format for PicoQuant {
    fn facts(&self) -> FormatFacts {
        FormatFacts {
            names: &[NAME, "pt2", "pt3", "ht2", "ht3", timeharp::NAME],
            suffixes: &[SUFFIX, ".pt2", ".pt3", ".ht2", ".ht3", ".t3r"],
            recognised: "text PQTTTR, PicoHarp 300, HydraHarp or TimeHarp 200",
        }
    }

    fn is_start(&self, start: &[u8]) -> bool {
        [tags::MAGIC, legacy::PICOHARP, legacy::HYDRAHARP, timeharp::TIMEHARP]
            .iter()
            .any(|magic| start.starts_with(magic))
    }

    fn reader(&self, payload: &Payload<'_>) -> Result<Option<Arc<dyn Reader>>, Error> {
        let start = payload.first(legacy::IDENT_BYTES)?;
        if start.starts_with(timeharp::TIMEHARP) {
            return Ok(parse(payload, timeharp::read)?.map(|file| Arc::new(file) as _));
        }
        let read = if start.starts_with(tags::MAGIC) { ptu::read } else { legacy::read };
        Ok(parse(payload, read)?.map(|file| Arc::new(file) as _))
    }
}

#[cfg(test)]
std::thread_local! {
    /// How many headers this thread parsed.
    pub(crate) static PARSED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Reads the header by `read`; `None` if the file ends inside it.
fn parse<R>(
    payload: &Payload<'_>,
    read: impl Fn(&[u8]) -> Result<RecordFile<R>, HeaderFault>,
) -> Result<Option<RecordFile<R>>, Error> {
    #[cfg(test)]
    PARSED.set(PARSED.get() + 1);
    let mut found = Err(HeaderFault::Torn);
    for len in HEADER_BYTES {
        let bytes = payload.first(len)?;
        found = read(&bytes);
        match &found {
            Err(HeaderFault::Torn) if bytes.len() == HEADER_BYTES_MAX => {
                found = Err(HeaderFault::Damaged("it is longer than 4 MiB".into()));
            }
            Err(HeaderFault::Torn) if bytes.len() == len => {}
            _ => break,
        }
    }
    let path = || payload.path.into();
    match found {
        Ok(file) => Ok(Some(file)),
        Err(HeaderFault::Torn) => Ok(None),
        Err(HeaderFault::Damaged(what)) => Err(Error::Header { path: path(), what }),
        Err(HeaderFault::Refused(kind, way)) => Err(Error::Foreign { path: path(), kind, way }),
    }
}
