//! Bodies of responses that are sent bit by bit.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use axum::body::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, mpsc};

/// Bytes of an answer that are handed over at a time.
const PIECE: usize = 64 << 10;

/// An answer, of which a set number is in memory: its turn ends when it is sent.
pub(crate) struct Whole {
    bytes: Bytes,
    _turn: OwnedSemaphorePermit,
}

impl Whole {
    pub fn new(bytes: Vec<u8>, turn: OwnedSemaphorePermit) -> Self {
        Self { bytes: bytes.into(), _turn: turn }
    }
}

impl Body for Whole {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.is_end_stream() {
            return Poll::Ready(None);
        }
        let len = self.bytes.len().min(PIECE);
        Poll::Ready(Some(Ok(Frame::data(self.bytes.split_to(len)))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.len() as u64)
    }
}

/// The events of one reader.
pub(crate) struct Events(pub mpsc::Receiver<Bytes>);

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|event| event.map(|event| Ok(Frame::data(event))))
    }
}
