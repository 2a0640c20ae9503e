//! An HTTP server that answers requests about runs while they are recorded.
//!
//! [`Server::run`] serves until it is stopped. One thread ingests what is new, as `tagq watch` does; the same requests as
//! those of the command line are answered as JSON or Arrow (docs/serve.md).
//!
//! ```no_run
//! use std::{net::TcpListener, sync::Arc};
//! use tagq::{Follower, HOLD_BACK, OpenOptions, Silent, requests::Setup};
//! use tagq_serve::{Limits, ServedRun, Server, Sites};
//!
//! let path = "run/".as_ref();
//! let follower = Follower::new(path, &OpenOptions::default(), HOLD_BACK.parse()?)?;
//! let runs = vec![ServedRun { name: "run/".into(), setup: Setup::default(), follower }];
//! let listener = TcpListener::bind("127.0.0.1:8417")?;
//! let (sites, limits) = (Sites::default(), Limits::default());
//! Server { listener, runs, sites, token: None, limits }.run(Arc::new(Silent), &|| false)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod info;
mod notes;
mod page;
mod timed;
mod token;

mod budget;
mod sent;

mod counting;
mod runs;

mod answering;
mod question;

mod access;
mod live;
mod query;
mod tables;
mod updates;

mod answerer;
mod routes;

mod server;

pub use access::Sites;
pub use answerer::Answerer;
pub use counting::Limits;
pub use error::Error;
pub use runs::ServedRun;
pub use server::Server;
pub use token::Token;
