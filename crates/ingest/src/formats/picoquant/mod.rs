//! Files of PicoQuant's instruments in modes T2 and T3: PTU, and the older formats of PicoHarp and HydraHarp.

pub(crate) mod by_pulse;
mod facts;
mod labels;
mod legacy;
mod ptu;
mod records;
mod tags;
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
use tags::{Fault, HEADER_BYTES_MAX};

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
            names: &[NAME, "pt2", "pt3", "ht2", "ht3"],
            suffixes: &[SUFFIX, ".pt2", ".pt3", ".ht2", ".ht3"],
            recognised: "text PQTTTR, PicoHarp 300 or HydraHarp",
        }
    }

    fn is_start(&self, start: &[u8]) -> bool {
        [tags::MAGIC, legacy::PICOHARP, legacy::HYDRAHARP]
            .iter()
            .any(|magic| start.starts_with(magic))
    }

    fn reader(&self, payload: &Payload<'_>) -> Result<Option<Arc<dyn Reader>>, Error> {
        let file = parse(payload)?;
        Ok(file.map(|file| Arc::new(file) as _))
    }
}

#[cfg(test)]
std::thread_local! {
    /// How many headers this thread parsed.
    pub(crate) static PARSED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Reads the header; `None` if the file ends inside it.
fn parse(payload: &Payload<'_>) -> Result<Option<RecordFile<records::PicoQuant>>, Error> {
    #[cfg(test)]
    PARSED.set(PARSED.get() + 1);
    let mut read = Err(Fault::Torn);
    for len in HEADER_BYTES {
        let bytes = payload.first(len)?;
        read =
            if bytes.starts_with(tags::MAGIC) { ptu::read(&bytes) } else { legacy::read(&bytes) };
        match &read {
            Err(Fault::Torn) if bytes.len() == HEADER_BYTES_MAX => {
                read = Err(Fault::Damaged("it is longer than 4 MiB".into()));
            }
            Err(Fault::Torn) if bytes.len() == len => {}
            _ => break,
        }
    }
    match read {
        Ok(file) => Ok(Some(file)),
        Err(Fault::Torn) => Ok(None),
        Err(Fault::Damaged(what)) => Err(Error::Header { path: payload.path.into(), what }),
        Err(Fault::Refused(kind, way)) => {
            Err(Error::Foreign { path: payload.path.into(), kind, way })
        }
    }
}
