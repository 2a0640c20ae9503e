//! Opens a run and answers requests, stated as on the command line: `cargo run --example requests -- RUN`.

use std::{env, error::Error, path::Path};

use tagq::{
    OpenOptions, Silent, open,
    requests::{QueryContext, Request, Setup},
};

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args().nth(1).ok_or("the run is missing: requests RUN")?;
    let run = open(Path::new(&path), &OpenOptions::default(), &Silent)?;
    let setup = Setup::of(Path::new(&path), None)?;
    let pool = rayon::ThreadPoolBuilder::new().build()?;
    let context = QueryContext::new(&setup, &pool, &Silent);

    // Options have the names and values of docs/queries.md.
    let options = serde_json::json!({ "window": "2ns", "choose": 2, "last": "1s" });
    let options = options.as_object().cloned().unwrap_or_default();
    let answer = Request::of_options("coincidences", options)?.ask(&run, &context)?;
    println!("{}", answer.header);
    for row in answer.rows.get("count").into_iter().flat_map(|column| column.cells.iter()) {
        println!("{:?}", row.number());
    }

    // The rates are a table of columns, each with its key.
    let rates = Request::of_options("rates", serde_json::Map::new())?.ask(&run, &context)?;
    let columns: Vec<&str> = rates.rows.columns().iter().map(|column| &*column.key).collect();
    println!("{columns:?}");
    Ok(())
}
