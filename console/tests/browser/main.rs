//! Reads the pages in Chromium, as people do: with keys, with a telephone, with texts that strangers wrote, and while sources go away.
//!
//! What the pages tell of real clusters is tested where these are: in e2e/stack/tests/stories.

mod access;
mod away;
mod hostile;
mod large;
mod world;
