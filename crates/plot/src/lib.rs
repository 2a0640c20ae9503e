//! Figures of answers: as SVG, PDF, PNG and HTML, and in the terminal.
//!
//! A [`Figure`] is the drawable content of a [`tagq::Answer`]: axes, series with errors, bars or a
//! matrix. It is laid out once into lines and text, from which [`Picture::Svg`],
//! [`Picture::Pdf`] and [`Picture::Png`] are created with the metrics of one font; [`text`] draws it with terminal
//! characters.
//!
//! ```no_run
//! # fn of(answer: &tagq::Answer) -> Result<(), Box<dyn std::error::Error>> {
//! use tagq_plot::{Figure, Picture, Room};
//!
//! let figure = Figure::of(answer);
//! std::fs::write("g2.svg", Picture::Svg.draw(&figure, answer)?)?;
//! print!("{}", tagq_plot::text(&figure, Room { columns: 80, lines: 24, is_coloured: false }));
//! # Ok(())
//! # }
//! ```

mod draw;

mod bins;
mod fit;
mod groups;
mod lanes;
mod map;
mod peaks;
mod phasor;
mod pixels;
mod scan;
mod trace;
mod values;

mod drawn;
mod figure;
mod look;
mod marks;
mod page;
mod shared;

mod axis;
mod quantity;

mod colour;
mod drawing;
mod font;
mod layout;

mod html;
mod pdf;
mod picture;
mod png;
mod svg;
mod terminal;
mod words;

mod error;

pub use axis::{Axis, Mark, Scale, Ticks};
pub use drawn::DrawnFigure;
pub use error::Error;
pub use figure::{
    Bar, Bars, Chart, Figure, Guide, GuideMark, ImageScale, Map, Matrix, Panel, Plot, Point,
    ScaleBar, Series, Shape,
};
pub use look::{FigureName, Limit, Look};
pub use marks::{Line, SeriesMarks, Step};
pub use page::Page;
pub use picture::Picture;
pub use quantity::Quantity;
pub use shared::share_scale;
pub use terminal::{Room, text};
