//! The committed code of Protocol Buffers equals the output of its compiler.

use std::{fs, path::Path};

#[test]
fn the_generated_code_fits_the_schema() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().unwrap();
    let schema = here.join("schema");
    let files = protox::compile(["tags.proto"], [&schema]).unwrap();
    prost_build::Config::new().out_dir(folder.path()).compile_fds(files).unwrap();
    let made = fs::read_to_string(folder.path().join("tagq.formats.rs")).unwrap();
    let committed = here.join("src/generated/tags_proto.rs");
    if std::env::var_os("TAGQ_WRITE_SCHEMA").is_some() {
        fs::write(&committed, &made).unwrap();
    }
    let committed = fs::read_to_string(committed).unwrap();
    assert!(made == committed, "tags_proto.rs is not what its schema makes: TAGQ_WRITE_SCHEMA=1");
}
