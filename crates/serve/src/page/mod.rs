//! The page that shows runs in a browser. Its files are built from web/src/page.

/// The files of the page, which web/ builds: path, type and text. They say nothing of the runs, and need no token.
pub(crate) const FILES: [(&str, &str, &str); 4] = [
    ("/", "text/html; charset=utf-8", include_str!("index.html")),
    ("/page.js", "text/javascript; charset=utf-8", include_str!("page.js")),
    ("/page.css", "text/css; charset=utf-8", include_str!("page.css")),
    ("/icon.svg", "image/svg+xml", include_str!("icon.svg")),
];
