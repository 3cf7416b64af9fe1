//! The messages and the service of [Maestro's gRPC interface](../../proto/cloudevents.proto), generated from it.
//!
//! Maestro does not use the official mapping of CloudEvents to these messages: see the crate `lifecycle-maestro`.

tonic::include_proto!("io.cloudevents.v1");
