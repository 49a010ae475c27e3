//! Has the pages compiled in again when a file of them is added, changed or removed.

fn main() {
    println!("cargo::rerun-if-changed=web");
}
