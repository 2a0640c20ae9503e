//! Where figures of answers go.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    str::FromStr,
};

use tagq_plot::Picture;

/// What is drawn of an answer.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = super::options::OUTPUT)]
pub(crate) struct PlotArgs {
    /// Draw the answer in the terminal, or as a figure into FILE, named .svg, .png or .html
    #[arg(
        long,
        value_name = "FILE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        group = "files"
    )]
    pub plot: Option<PlotTo>,
}

/// Where a figure is drawn.
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
            format!("`{text}` does not say what to draw; a figure is named .svg, .png or .html")
        })?;
        Ok(Self::File(text.into(), picture))
    }
}

/// The words of the command line, in which `--plot FILE` is `--plot=FILE`: a run, which may follow
/// `--plot`, is named otherwise than a figure.
pub(super) fn argv(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    const FIGURES: [&str; 8] = ["svg", "png", "html", "pdf", "eps", "jpg", "jpeg", "gif"];
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
        joined.push(word);
    }
    joined.extend(words);
    joined
}
