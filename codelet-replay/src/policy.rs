//! The compared policies: when and how each edits what has been sent.

use crate::editor::{Editor, Unedited};
use crate::engine::Engine;
use crate::mask::{Mask, Rule};
use crate::session::Session;
use codelet_context::economics::Preset;

pub use crate::settings::Settings;

/// A way of editing a conversation. Each of them compacts with the engine, without a model, if a request would not fit;
/// they differ only in the editing before that.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Policy {
    /// Nothing is edited before the window is full.
    Never,
    /// All results except those of the last ten calls are masked, at every request.
    MaskTen,
    /// Beyond 100,000 tokens, all results but the last three are cleared.
    Clear,
    /// The engine's own preset of that name, run by the engine.
    Preset(Preset),
}

impl Policy {
    /// All policies, in the order in which they are listed; the first is the baseline.
    pub const ALL: &[Policy] = &[
        Policy::Never,
        Policy::MaskTen,
        Policy::Clear,
        Policy::Preset(Preset::Faithful),
        Policy::Preset(Preset::Balanced),
        Policy::Preset(Preset::Thrifty),
        Policy::Preset(Preset::Off),
    ];

    /// The default policies: all but `off`, which edits when `never` does.
    pub const USUAL: &[Policy] = Policy::ALL.split_at(Policy::ALL.len() - 1).0;

    /// The name by which users select it.
    pub fn name(self) -> &'static str {
        match self {
            Policy::Never => "never",
            Policy::MaskTen => "mask-10",
            Policy::Clear => "clear-100k",
            Policy::Preset(preset) => preset.name(),
        }
    }

    /// Returns the policy of that name.
    pub fn from_name(name: &str) -> Option<Policy> {
        Policy::ALL.iter().copied().find(|policy| policy.name() == name)
    }

    /// Returns the policies of these names.
    ///
    /// # Errors
    /// If one of them is unknown; the sentence lists the known ones.
    pub fn from_names(names: &[String]) -> Result<Vec<Policy>, String> {
        let policy = |name: &String| {
            Policy::from_name(name).ok_or_else(|| {
                let known: Vec<_> = Policy::ALL.iter().map(|policy| policy.name()).collect();
                format!("unknown policy {name:?}; policies: {}", known.join(", "))
            })
        };
        names.iter().map(policy).collect()
    }

    /// Returns the policies to replay for these arguments: each once, with the baseline first; the default ones if
    /// there are no arguments.
    pub fn played(asked: &[Policy]) -> Vec<Policy> {
        if asked.is_empty() {
            return Policy::USUAL.to_vec();
        }
        let mut policies = vec![Policy::Never];
        for policy in asked {
            if !policies.contains(policy) {
                policies.push(*policy);
            }
        }
        policies
    }

    /// A short description for a list.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Policy::Never => "edit nothing until the context window is full",
            Policy::MaskTen => "mask all tool outputs but the last ten",
            Policy::Clear => "above 100k tokens, clear all tool outputs but the last three",
            Policy::Preset(preset) => preset.explained(),
        }
    }

    pub(crate) fn editor<'a>(
        self,
        session: &'a Session,
        settings: &Settings,
        unedited: &'a Unedited<'a>,
    ) -> Box<dyn Editor + 'a> {
        let rule = match self {
            Policy::Preset(preset) => return Box::new(Engine::new(session, settings, preset)),
            Policy::Never => Rule::Nothing,
            Policy::MaskTen => Rule::Last(10),
            Policy::Clear => Rule::Beyond {
                trigger: 100_000,
                keep: 3,
            },
        };
        Box::new(Mask::new(unedited, rule))
    }
}

impl std::fmt::Display for Policy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_prints_as_the_name_by_which_it_is_asked_for() {
        assert!(Policy::ALL.iter().all(|policy| policy.to_string() == policy.name()));
    }
}
