//! The workload on Restate with its Rust SDK. `worker ADDRESS` serves the services, and `drive
//! INGRESS ADMIN rpc
//! inline` submits jobs for the harness. Nothing here tunes the server: the harness does, where its
//! settings are beside those of the other peers.

mod services;
mod submitter;

use std::{error::Error, time::Duration};

use restate_sdk::{endpoint::ServiceOptions, prelude::*, service::IntoServiceDefinition};

/// The allocator of Callboard's own processes.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["worker", address] => {
            // Jobs that wait for a person are suspended soon.
            let options = ServiceOptions::new().inactivity_timeout(Duration::from_secs(1));
            let approval = services::Approval.into_service_definition().options(options);
            let endpoint = Endpoint::builder()
                .bind(services::Activities)
                .bind(services::Rpc)
                .bind(services::Inline)
                .bind(approval)
                .build();
            HttpServer::new(endpoint).listen_and_serve(address.parse()?).await;
            Ok(())
        }
        ["drive", ingress, admin, mode @ ("rpc" | "inline")] => {
            let peer = submitter::Restate::connect(ingress, admin, *mode == "inline")?;
            Ok(peer_load::drive(peer).await?)
        }
        _ => Err("usage: peer-restate worker ADDRESS | drive INGRESS ADMIN rpc|inline".into()),
    }
}
