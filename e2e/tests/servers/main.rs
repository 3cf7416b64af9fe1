//! Tests of the servers themselves: each starts, answers, fails on demand and stops.

mod api;
mod fault;
mod kube;
mod lifetime;
mod node;
mod postgres;
mod rabbitmq;
