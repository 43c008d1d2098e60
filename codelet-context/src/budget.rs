//! Token weights and costs, context-window occupancy, and the decision when an edit pays off.

pub(crate) mod account;
pub mod breaks;
pub mod economics;
pub(crate) mod economy;
pub(crate) mod occupancy;
pub mod policy;
pub mod price;
pub(crate) mod removable_outputs;
pub(crate) mod token_floor;
pub mod tracker;
pub mod usage;
