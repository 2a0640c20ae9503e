//! Files of arrays: the columns of tags, kept in temporary files until all of them are known.
//!
//! Such a file states the length of each array in front of the array, so it is written after the last tag. Memory does
//! not grow with the number of tags.

mod npz;
mod photon_hdf5;

use std::{
    fs::File,
    io::{self, BufWriter, Read, Seek as _, Write},
};

use tagq_store::{Tag, Tick, format::MICRO_NONE};

/// Rows that are handed on at once.
const ROWS: usize = 1 << 15;

/// The kind of a file of arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArrayForm {
    PhotonHdf5,
    Npz,
}

impl ArrayForm {
    /// Whether such a file can state this unit exactly.
    pub(crate) fn states(self, tick: Tick) -> bool {
        match self {
            Self::PhotonHdf5 => tick.to_seconds().is_some(),
            Self::Npz => true,
        }
    }
}

/// The columns of tags, in temporary files.
#[derive(Debug)]
pub(crate) struct SpilledColumns {
    time: BufWriter<File>,
    channel: BufWriter<File>,
    /// `None` if no tag has a micro time.
    micro: Option<BufWriter<File>>,
    rows: u64,
    /// First and last of all times.
    span: Option<(i64, i64)>,
    /// The labels of tags, and the largest micro time.
    labels: Vec<u16>,
    micro_max: u32,
}

/// Names of channels for a file of arrays.
#[derive(Debug, Clone, Default)]
pub(crate) struct About {
    pub channel_names: Vec<(u16, String)>,
}

/// The units of times.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Units {
    pub tick: Tick,
    pub micro_tick: Option<Tick>,
}

impl SpilledColumns {
    /// Columns without tags.
    pub(crate) fn new(has_micro: bool) -> io::Result<Self> {
        let column = || tempfile::tempfile().map(BufWriter::new);
        Ok(Self {
            time: column()?,
            channel: column()?,
            micro: has_micro.then(column).transpose()?,
            rows: 0,
            span: None,
            labels: Vec::new(),
            micro_max: 0,
        })
    }

    /// Appends tags with their micro times, [`MICRO_NONE`] for none; none of them has one if `micro` is empty.
    pub(crate) fn push(&mut self, tags: &[Tag], micro: &[u32]) -> io::Result<()> {
        for tag in tags {
            let label = u16::try_from(tag.channel).map_err(|_| {
                let what = format!("channel {} is above 65535", tag.channel);
                io::Error::new(io::ErrorKind::InvalidInput, what)
            })?;
            self.time.write_all(&tag.time.to_le_bytes())?;
            self.channel.write_all(&label.to_le_bytes())?;
            if self.labels.last() != Some(&label) && !self.labels.contains(&label) {
                self.labels.push(label);
            }
            let (first, last) = self.span.unwrap_or((tag.time, tag.time));
            self.span = Some((first.min(tag.time), last.max(tag.time)));
        }
        if let Some(column) = &mut self.micro {
            let micro = micro.iter().copied().chain(std::iter::repeat(MICRO_NONE));
            for micro in micro.take(tags.len()) {
                column.write_all(&micro.to_le_bytes())?;
                self.micro_max = self.micro_max.max(if micro == MICRO_NONE { 0 } else { micro });
            }
        }
        self.rows += tags.len() as u64;
        Ok(())
    }

    /// Writes the file to `out`.
    pub(crate) fn finish<W: Write>(
        self,
        form: ArrayForm,
        units: Units,
        about: &About,
        out: &mut W,
    ) -> io::Result<()> {
        match form {
            ArrayForm::PhotonHdf5 => photon_hdf5::write(self, units, about, out),
            ArrayForm::Npz => npz::write(self, units, out),
        }
    }
}

/// Returns a temporary file after its last write, to be read from its beginning.
fn rewound(column: BufWriter<File>) -> io::Result<File> {
    let mut file = column.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.rewind()?;
    Ok(file)
}

/// Hands the values of a column to `take`, some at a time.
fn each_part<const BYTES: usize>(
    column: BufWriter<File>,
    mut take: impl FnMut(&[[u8; BYTES]]) -> io::Result<()>,
) -> io::Result<()> {
    let mut file = rewound(column)?;
    let mut bytes = vec![0; ROWS * BYTES];
    loop {
        let mut len = 0;
        while len < bytes.len() {
            match file.read(&mut bytes[len..])? {
                0 => break,
                n => len += n,
            }
        }
        if len == 0 {
            return Ok(());
        }
        let (values, _) = bytes[..len].as_chunks::<BYTES>();
        take(values)?;
    }
}
