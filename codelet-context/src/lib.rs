//! The context engine: keeps a conversation with a model small, valid and faithful, without asking a model.

pub mod anchor;
pub mod body;
pub mod compact;
pub mod cut;
mod exchange;
mod hash;
pub mod history;
pub mod inspect;
pub mod message;
pub mod occupancy;
pub mod outcome;
pub mod policy;
mod programs;
pub mod recall;
pub mod reminder;
mod shell;
pub mod strategy;
pub mod summary_request;
pub mod testrun;
pub mod todo;
pub mod tokens;
pub mod tracker;
pub mod turn;
pub mod usage;
pub mod validate;
pub mod verdict;
pub mod view;
