//! The option `--plot`.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    str::FromStr,
};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser as _};
use tagq_plot::{FigureName, Limit, Look, Picture, Room};

/// Option to draw an answer.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = super::options::OUTPUT)]
#[expect(clippy::struct_excessive_bools, reason = "flags of the command line")]
pub(crate) struct PlotArgs {
    /// Draw the answer in the terminal, or as a figure into FILE, which ends with .svg, .pdf, .png or .html
    #[arg(
        long,
        value_name = "FILE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        group = "files"
    )]
    pub plot: Option<PlotTo>,
    /// Draw values on a logarithmic axis, and counts of pairs and maps in logarithmic colours
    #[arg(long, requires = "plot")]
    pub log_y: bool,
    /// Draw values from LO to HI, in counts, hertz or as a ratio, or with units, as 3ns..5ns or 10kHz..1MHz
    #[arg(long, value_name = "LO..HI", requires = "plot", allow_hyphen_values = true)]
    pub ylim: Option<Limits>,
    /// Write TEXT over the figure
    #[arg(long, value_name = "TEXT", requires = "plot")]
    pub title: Option<String>,
    /// Draw the values of this column, such as count, rate, car or p [default: what the answer is about]
    #[arg(long, value_name = "NAME", requires = "plot")]
    pub quantity: Option<String>,
    /// Draw this figure of an image
    #[arg(long, value_name = "NAME", requires = "plot", value_parser = figures())]
    pub figure: Option<FigureName>,
    /// Draw pixels of an image as bright as they have photons
    #[arg(long, requires = "plot")]
    pub brightness: bool,
    /// Draw W pixels wide and H high; in the terminal, W characters and H lines
    #[arg(long, value_name = "WxH", requires = "plot")]
    pub size: Option<Size>,
    /// Draw for a dark background
    #[arg(long, requires = "plot")]
    pub dark: bool,
    /// Draw without title, header and note, as for a paper; --title gives a title
    #[arg(long, requires = "plot")]
    pub no_caption: bool,
}

/// Returns the parser of the figures of an image.
fn figures() -> impl clap::builder::TypedValueParser<Value = FigureName> {
    let names = [
        PossibleValue::new("map").help("The value of each pixel"),
        PossibleValue::new("histogram").help("How many pixels have each value"),
        PossibleValue::new("phasor").help("How many pixels have each phasor, and the semicircle"),
    ];
    PossibleValuesParser::new(names).map(|name| FigureName::of_name(&name).unwrap_or_default())
}

/// Width and height of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size(pub u16, pub u16);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let sides = text.split_once(['x', 'X', '\u{d7}']);
        let sides = sides.and_then(|(width, height)| {
            Some(Self(width.trim().parse().ok()?, height.trim().parse().ok()?))
        });
        sides.ok_or_else(|| format!("`{text}` is no size; write width and height as 1200x800"))
    }
}

/// The ends of an axis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Limits(Limit, Limit);

impl FromStr for Limits {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let end = |text: &str| match text.trim().parse() {
            Ok(number) => Limit::Number(number),
            Err(_) => Limit::Text(text.trim().to_owned()),
        };
        let ends = text.split_once("..").map(|(low, high)| Self(end(low), end(high)));
        let can_be = |Self(low, high): &Self| match (low, high) {
            (Limit::Number(low), Limit::Number(high)) => low < high,
            (low, high) => low.is_number() && high.is_number(),
        };
        ends.filter(can_be).ok_or_else(|| {
            format!("`{text}` is no range of values; write it as 0..1.5 or 1e3..1e6")
        })
    }
}

impl PlotArgs {
    /// Draws in the terminal.
    pub(crate) fn in_terminal() -> Self {
        let plot = Some(PlotTo::Terminal);
        Self {
            plot,
            log_y: false,
            ylim: None,
            title: None,
            quantity: None,
            figure: None,
            brightness: false,
            size: None,
            dark: false,
            no_caption: false,
        }
    }

    /// Returns the room of a figure in the terminal, as it was asked for or else `room`.
    pub(crate) fn room(&self, room: Room) -> Room {
        match (&self.plot, self.size) {
            (Some(PlotTo::Terminal), Some(Size(columns, lines))) => {
                Room { columns: columns.into(), lines: lines.into(), ..room }
            }
            _ => room,
        }
    }

    /// How figures shall look.
    pub(crate) fn look(&self) -> Look {
        let limits = self.ylim.clone().map(|Limits(low, high)| (low, high));
        // A size in the terminal is in characters.
        let size = self.size.filter(|_| self.plot != Some(PlotTo::Terminal));
        Look {
            title: self.title.clone(),
            is_logarithmic: self.log_y,
            limits,
            quantity: self.quantity.clone(),
            figure: self.figure,
            brightness: self.brightness,
            size: size.map(|Size(width, height)| (width.into(), height.into())),
            is_dark: self.dark,
            no_caption: self.no_caption,
        }
    }
}

/// Destination of a figure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PlotTo {
    Terminal,
    File(PathBuf, Picture),
}

impl FromStr for PlotTo {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Self::Terminal);
        }
        let picture = Picture::of_name(text.as_ref()).ok_or_else(|| {
            format!(
                "`{text}` does not say what to draw; a figure is named .svg, .pdf, .png or .html"
            )
        })?;
        Ok(Self::File(text.into(), picture))
    }
}

/// Returns the arguments with `--plot FILE` rewritten as `--plot=FILE`, if FILE has the extension of a
/// figure. Otherwise the argument after `--plot` is a run. If the command draws, so is `--output FILE` with a figure, and
/// the value of an option that can be without one is joined to it if it is one of its values.
pub(super) fn argv(
    words: impl IntoIterator<Item = OsString>,
    command: Option<&clap::Command>,
) -> Vec<OsString> {
    const FIGURES: [&str; 13] = [
        "svg", "png", "html", "pdf", "eps", "jpg", "jpeg", "gif", "ps", "tif", "tiff", "bmp",
        "webp",
    ];
    let args = || command.into_iter().flat_map(clap::Command::get_arguments);
    let words: Vec<OsString> = words.into_iter().collect();
    let is_plot = |word: &OsString| word.as_encoded_bytes().starts_with(b"--plot");
    let draws = args().any(|arg| arg.get_id() == "plot") && !words.iter().any(is_plot);
    let is_figure = |word: &OsString| {
        let end = Path::new(word).extension().and_then(OsStr::to_str);
        end.is_some_and(|end| FIGURES.iter().any(|figure| end.eq_ignore_ascii_case(figure)))
    };
    let mut joined = Vec::new();
    let mut words = words.into_iter().peekable();
    while let Some(mut word) = words.next() {
        if word == OsStr::new("--") {
            joined.push(word);
            break;
        }
        if word == OsStr::new("--plot")
            && let Some(file) = words.next_if(is_figure)
        {
            word.push("=");
            word.push(file);
        }
        let is_drawn = |file: &OsString| draws && Picture::of_name(Path::new(file)).is_some();
        if (word == OsStr::new("--output") || word == OsStr::new("-o"))
            && let Some(file) = words.next_if(is_drawn)
        {
            word = "--plot=".into();
            word.push(file);
        }
        let is_it = |arg: &&clap::Arg| {
            let name = word.to_str().and_then(|word| word.strip_prefix("--"));
            arg.is_require_equals_set() && arg.get_long() == name && name.is_some()
        };
        if let Some(arg) = args().find(is_it) {
            let values = arg.get_possible_values();
            let is_value =
                |next: &OsString| values.iter().any(|of| next == OsStr::new(of.get_name()));
            if let Some(value) = words.next_if(is_value) {
                word.push("=");
                word.push(value);
            }
        }
        joined.push(word);
    }
    joined.extend(words);
    joined
}
