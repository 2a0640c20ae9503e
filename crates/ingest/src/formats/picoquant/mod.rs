//! Files of PicoQuant's instruments in modes T2 and T3: PTU, and the older formats of PicoHarp and HydraHarp.

pub(crate) mod by_pulse;
mod labels;
mod legacy;
mod measurement;
mod ptu;
mod records;
mod tags;
pub(crate) mod writer;

use crate::{
    error::Error,
    formats::{
        format::{Format, FormatFacts, Header, Sink, Summary},
        records as fixed,
    },
    payload::Payload,
    settings::Settings,
};
use measurement::Measurement;
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

    fn header(&self, payload: &Payload<'_>) -> Result<Option<Header>, Error> {
        let measurement = measurement(payload)?;
        Ok(measurement.map(|of| Header::of(Some(of.tick), of.head.micro_tick, of.head.recording)))
    }

    fn lasting_head(&self, payload: &Payload<'_>) -> Result<Vec<u8>, Error> {
        Ok(measurement(payload)?.map_or(Vec::new(), |of| of.head.lasting))
    }

    fn read(
        &self,
        payload: &Payload<'_>,
        settings: &Settings,
        sink: &mut Sink<'_>,
    ) -> Result<Summary, Error> {
        match measurement(payload)? {
            Some(Measurement { head, records, .. }) => {
                fixed::read(&records, &head, payload, settings, sink)
            }
            None => Ok(Summary::inside_header(payload, settings)),
        }
    }
}

/// Reads the header; `None` if the file ends inside it.
fn measurement(payload: &Payload<'_>) -> Result<Option<Measurement>, Error> {
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
        Ok(measurement) => Ok(Some(measurement)),
        Err(Fault::Torn) => Ok(None),
        Err(Fault::Damaged(what)) => Err(Error::Header { path: payload.path.into(), what }),
    }
}
