//! The body of a response that is written while the client reads it.
//!
//! An answer of 5 MiB is written in 20 pieces of 256 KiB, of which at most three are in memory. An error within the
//! first piece is the response, with its status; a later one breaks the body off, since the status was sent.

use std::{
    io::{self, Write},
    mem,
    sync::Arc,
};

use axum::body::{Body, Bytes};
use futures_util::{StreamExt as _, stream};
use tagq::Progress;
use tokio::{
    sync::mpsc,
    task::{self, JoinHandle},
};

use crate::error::Refusal;

/// Bytes that are handed over at a time. Three such pieces are in memory at most: one is written, one waits, one is sent.
const PIECE: usize = 256 << 10;

/// Returns the body that `write` writes, on a thread of its own. If it is shorter than a piece, an error is the response.
/// A longer one is written as the client reads it, and breaks off at an error.
///
/// `progress` receives why it broke off.
pub(crate) async fn body(
    progress: Arc<dyn Progress + Send + Sync>,
    write: impl FnOnce(&mut (dyn Write + Send)) -> Result<(), Refusal> + Send + 'static,
) -> Result<Body, Refusal> {
    let (full, mut pieces) = mpsc::channel(1);
    let writing = task::spawn_blocking(move || {
        let mut out = Pieces { piece: Vec::new(), full };
        write(&mut out)?;
        Ok(out.piece)
    });
    match pieces.recv().await {
        Some(first) => {
            let first = stream::iter([Ok(first.into())]);
            Ok(Body::from_stream(first.chain(following(pieces, writing, progress))))
        }
        None => Ok(last(writing).await?.into()),
    }
}

/// Returns the pieces after the first one.
fn following(
    pieces: mpsc::Receiver<Vec<u8>>,
    writing: JoinHandle<Result<Vec<u8>, Refusal>>,
    progress: Arc<dyn Progress + Send + Sync>,
) -> impl stream::Stream<Item = io::Result<Bytes>> {
    stream::unfold(Some((pieces, writing, progress)), |state| async {
        let (mut pieces, writing, progress) = state?;
        if let Some(piece) = pieces.recv().await {
            return Some((Ok(piece.into()), Some((pieces, writing, progress))));
        }
        let last = last(writing).await.map_err(|refusal| {
            progress.note(refusal.note.as_ref().unwrap_or(&refusal.reason));
            io::Error::other(refusal.reason)
        });
        Some((last.map(Bytes::from), None))
    })
}

/// Returns the piece that was not full at the end.
async fn last(writing: JoinHandle<Result<Vec<u8>, Refusal>>) -> Result<Vec<u8>, Refusal> {
    writing.await.map_err(|fault| Refusal::failed(fault.to_string()))?
}

/// A writer that passes bytes on in pieces.
struct Pieces {
    piece: Vec<u8>,
    full: mpsc::Sender<Vec<u8>>,
}

impl Write for Pieces {
    fn write(&mut self, more: &[u8]) -> io::Result<usize> {
        let more = &more[..more.len().min(PIECE - self.piece.len())];
        self.piece.extend_from_slice(more);
        if self.piece.len() == PIECE {
            let piece = mem::take(&mut self.piece);
            self.full.blocking_send(piece).map_err(|_| io::ErrorKind::BrokenPipe)?;
        }
        Ok(more.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use axum::{body::to_bytes, http::StatusCode};
    use tagq::Silent;

    use super::*;

    fn run<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
    }

    #[test]
    fn all_bytes_arrive_in_their_order_for_any_length() {
        for len in [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE, 5 * PIECE + 7] {
            let bytes: Vec<u8> = (0..251).cycle().take(len).collect();
            let written = bytes.clone();
            let body = body(Arc::new(Silent), move |out| {
                // Of other lengths than pieces.
                written.chunks(1 + PIECE / 3).try_for_each(|part| out.write_all(part)).unwrap();
                Ok(())
            });
            let read = run(async { to_bytes(body.await.unwrap(), usize::MAX).await });
            assert!(read.unwrap() == bytes, "{len}");
        }
    }

    #[test]
    fn an_error_is_the_response_or_breaks_it_off() {
        let failing = |len: usize| {
            body(Arc::new(Silent), move |out| {
                out.write_all(&vec![0; len]).unwrap();
                Err(Refusal::busy())
            })
        };
        run(async {
            let refused = failing(PIECE - 1).await.unwrap_err();
            assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
            let begun = failing(PIECE + 1).await.unwrap();
            assert!(to_bytes(begun, usize::MAX).await.is_err());
        });
    }

    #[test]
    fn writing_waits_for_the_reader_and_ends_with_it() {
        let (ends, ended) = channel();
        run(async {
            let body = body(Arc::new(Silent), move |out| {
                let mut written = 0;
                while out.write_all(&vec![0; PIECE]).is_ok() {
                    written += 1;
                }
                ends.send(written).unwrap();
                Ok(())
            });
            drop(body.await.unwrap());
            let written: usize = ended.recv().unwrap();
            assert!((1..=2).contains(&written), "{written}");
        });
    }
}
