//! Arguments of the linker, so that cargo alone links the module on macOS, where Python has the missing functions.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
