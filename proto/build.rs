//! Compiles `cloudevents.proto` without `protoc`.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=cloudevents.proto");
    let files = protox::compile(["cloudevents.proto"], ["."])?;
    tonic_prost_build::configure().server_mod_attribute(".", "#[cfg(feature = \"server\")]").compile_fds(files)?;
    Ok(())
}
