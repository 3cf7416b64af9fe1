//! Shows that every server really starts, answers, fails on demand and goes away again.

mod api;
mod fault;
mod kube;
mod lifetime;
mod postgres;
mod rabbitmq;
