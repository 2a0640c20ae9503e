//! The description of a file in OME-XML, schema 2016-06.
//!
//! Frames are the axis T. Bins of micro times are a part of T that changes faster, as an annotation `ModuloAlongT` says: 2
//! frames of 50 bins are 100 pages in order of time, with Start 0, Step 4 and End 196.

use std::fmt::Write as _;

use super::{
    layout::PageSize,
    stack::{MicroBins, Planes, Stack, channel},
};

const SCHEMA: &str = "http://www.openmicroscopy.org/Schemas/OME/2016-06";
const MODULO: &str = "openmicroscopy.org/omero/dimension/modulo";
const MODULO_SCHEMA: &str = "http://www.openmicroscopy.org/Schemas/Additions/2011-09";

/// Returns the description of stacks of pages, which follow each other in the file.
pub(super) fn xml(header: &str, page_size: PageSize, stacks: &[Stack<'_>]) -> String {
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<OME xmlns=\"{SCHEMA}\" \
         xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:schemaLocation=\"{SCHEMA} {SCHEMA}/ome.xsd\" \
         Creator=\"tagq {}\">\n",
        env!("CARGO_PKG_VERSION")
    );
    let (mut first_page, mut annotations) = (0, String::new());
    for (number, stack) in stacks.iter().enumerate() {
        let (pages, annotation) = image(&mut xml, (number, first_page), header, page_size, stack);
        first_page += pages;
        annotations.push_str(&annotation);
    }
    if !annotations.is_empty() {
        let _ = writeln!(xml, "<StructuredAnnotations>{annotations}</StructuredAnnotations>");
    }
    xml.push_str("</OME>");
    xml
}

/// Adds the element of an image with this number, whose pages begin with `first_page`; returns the number of its pages,
/// and its annotation.
fn image(
    xml: &mut String,
    (number, first_page): (usize, usize),
    header: &str,
    page_size: PageSize,
    stack: &Stack<'_>,
) -> (usize, String) {
    let PageSize { pixels, lines, pixel_um } = page_size;
    let (name, of, names, bins) = match &stack.planes {
        Planes::Counts(column, bins) => ("counts", "uint32", vec![channel(column).0], *bins),
        Planes::Channels(columns) => {
            let names = columns.iter().map(|column| channel(column).0).collect();
            ("lifetimes", "float", names, None)
        }
    };
    let name = match stack.detector.channel {
        Some(channel) => format!("{name} of channel {channel}"),
        None => name.to_owned(),
    };
    let times = stack.frames * bins.map_or(1, |bins| bins.count);
    let size = pixel_um.filter(|size| *size > 0.0).map_or(String::new(), |size| {
        ["X", "Y"]
            .map(|side| {
                format!(" PhysicalSize{side}=\"{size}\" PhysicalSize{side}Unit=\"&#181;m\"")
            })
            .concat()
    });
    let _ = write!(
        xml,
        "<Image ID=\"Image:{number}\" Name=\"{name}\"><Description>{}</Description>\n<Pixels ID=\"Pixels:{number}\" \
         DimensionOrder=\"XYCZT\" Type=\"{of}\" SizeX=\"{pixels}\" SizeY=\"{lines}\" SizeC=\"{}\" SizeZ=\"1\" \
         SizeT=\"{times}\" BigEndian=\"false\"{size}>",
        escaped(header),
        names.len()
    );
    for (at, name) in names.iter().enumerate() {
        let name = escaped(name);
        let _ = write!(
            xml,
            "<Channel ID=\"Channel:{number}:{at}\" Name=\"{name}\" SamplesPerPixel=\"1\"/>"
        );
    }
    let pages = times * names.len();
    let _ = write!(xml, "<TiffData IFD=\"{first_page}\" PlaneCount=\"{pages}\"/></Pixels>");
    let annotation = bins.map_or(String::new(), |bins| {
        let id = format!("Annotation:{number}");
        let _ = write!(xml, "<AnnotationRef ID=\"{id}\"/>");
        annotation(&id, bins)
    });
    xml.push_str("</Image>\n");
    (pages, annotation)
}

/// Returns the annotation that splits T into frames and bins of micro times.
fn annotation(id: &str, bins: MicroBins) -> String {
    let [start, step, end] = axis(bins);
    format!(
        "<XMLAnnotation ID=\"{id}\" Namespace=\"{MODULO}\"><Value><Modulo namespace=\"{MODULO_SCHEMA}\">\
         <ModuloAlongT Type=\"lifetime\" TypeDescription=\"TCSPC\" Unit=\"ps\" Start=\"{start}\" Step=\"{step}\" \
         End=\"{end}\"/></Modulo></Value></XMLAnnotation>"
    )
}

/// Returns the start of the first bin, the step, and the start of the last bin, as readers can count with them.
///
/// Readers compute the number of bins as floor((End - Start) / Step) + 1, and as the length of a range from Start to
/// End + Step, in floating point. With multiples of one power of two, which have few enough digits, all of these
/// differences and sums are exact. The step is off by less than 1e-11 of itself up to 65,536 bins.
fn axis(bins: MicroBins) -> [f64; 3] {
    let MicroBins { count, start_ps, width_ps } = bins;
    let largest = start_ps.abs() + width_ps * (count + 1) as f64;
    let (_, exponent) = libm::frexp(largest);
    let grid = libm::ldexp(1.0, exponent - 52);
    let [start, step] = [start_ps, width_ps].map(|of| (of / grid).round() * grid);
    [start, step, start + step * count.saturating_sub(1) as f64]
}

/// Returns a text for an element or an attribute, in ASCII, as fields of TIFF have it.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for of in text.chars() {
        match of {
            // XML has no control characters.
            _ if of.is_control() => out.push(' '),
            '&' | '<' | '>' | '"' | '\u{80}'.. => {
                let _ = write!(out, "&#{};", u32::from(of));
            }
            _ => out.push(of),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers as a reader parses them.
    fn read(bins: MicroBins) -> [f64; 3] {
        axis(bins).map(|number| number.to_string().parse().unwrap())
    }

    #[test]
    fn readers_count_the_bins_that_there_are() {
        for width_ps in [1.0, 156.25, 96.97, 4.0, 1e12 / 1.023e10, 25.6 / 1.1] {
            for start_ps in [0.0, width_ps, 1_234.0 * width_ps, 7.77 * width_ps] {
                for count in (1..=4096).chain([65_535, 65_536]) {
                    let [start, step, end] = read(MicroBins { count, start_ps, width_ps });
                    let n = count as f64;
                    let at = || format!("{count} bins of {width_ps} ps from {start_ps} ps");
                    let quotient = (end - start) / step;
                    // The last one is the length of `numpy.arange(start, end + step, step)`.
                    let by_range = ((end + step - start) / step).ceil();
                    let counts = [quotient.floor() + 1.0, quotient.ceil() + 1.0, by_range];
                    assert_eq!(
                        counts.map(|of| of.to_string()),
                        [(); 3].map(|()| count.to_string()),
                        "{}",
                        at()
                    );
                    assert!((step / width_ps - 1.0).abs() < 1e-11, "{}", at());
                    assert!((start - start_ps).abs() < 1e-11 * width_ps * n.max(2e3), "{}", at());
                }
            }
        }
    }

    #[test]
    fn short_numbers_stay_short() {
        let bins = MicroBins { count: 64, start_ps: 0.0, width_ps: 156.25 };
        assert_eq!(axis(bins).map(|number| number.to_string()), ["0", "156.25", "9843.75"]);
    }

    #[test]
    fn texts_are_ascii_without_markup() {
        assert_eq!(
            escaped("|Δt| < 2 \"µs\" & >\u{1}"),
            "|&#916;t| &#60; 2 &#34;&#181;s&#34; &#38; &#62; "
        );
    }
}
