//! The committed code of the schemas equals the output of the compiler.

use std::{fs, path::Path};

#[test]
fn the_generated_code_fits_the_schemas() {
    if !crate::support::has_capnp() {
        return;
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().unwrap();
    for schema in ["schema/tags", "tests/schema/old", "tests/schema/newer"] {
        let schema = here.join(schema);
        capnpc::CompilerCommand::new()
            .src_prefix(schema.parent().unwrap())
            .file(schema.with_extension("capnp"))
            .output_path(folder.path())
            .run()
            .unwrap();
        let name = format!("{}_capnp.rs", schema.file_name().unwrap().display());
        let made = fs::read_to_string(folder.path().join(&name)).unwrap();
        // Skip the line with the name of the compiler.
        let code = |text: &str| -> Vec<String> {
            let lines = text.lines().filter(|line| !line.starts_with("// capnp binary version"));
            lines.map(str::to_owned).collect()
        };
        let committed = here.join("tests/schema").join(&name);
        if std::env::var_os("TAGQ_WRITE_SCHEMA").is_some() {
            fs::write(&committed, &made).unwrap();
        }
        let committed = fs::read_to_string(committed).unwrap_or_default();
        assert!(
            code(&made) == code(&committed),
            "{name} is not what its schema makes: TAGQ_WRITE_SCHEMA=1"
        );
    }
}
