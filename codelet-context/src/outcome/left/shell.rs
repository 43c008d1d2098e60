//! A shell that keeps its folder from one line to the next.

use super::Spot;
use crate::command::{CommandLine, Move};
use crate::path::{Path, is_absolute};

/// Folders that are remembered to be gone back to.
const MOST_KEPT: usize = 64;
/// The longest folder that is followed, in bytes.
const LONGEST: usize = 1024;

/// A folder, or none where nobody has said which.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Place {
    /// As far as it was told from where the conversation began; empty there.
    pub name: String,
    /// Which one that is, only the shell knows.
    pub is_open: bool,
}

impl Place {
    /// The folder of this name as seen from this one.
    pub fn enter(&self, name: &str, is_open: bool) -> Place {
        let is_seen_from_here = !is_absolute(name);
        let is_open = is_open || self.is_open && is_seen_from_here;
        if self.name.len() + name.len() > LONGEST {
            return Place {
                name: String::from("?"),
                is_open: true,
            };
        }
        let path = match self.is_open && is_seen_from_here {
            // What `..` leads to from there, nobody knows.
            true => format!("{}/{name}", self.name),
            false => Path::within(&self.name, name).spelled(),
        };
        let name = if path == "." { String::new() } else { path };
        Place { name, is_open }
    }
}

/// A shell that keeps its folder, as far as anybody can tell.
#[derive(Clone, Debug, Default)]
pub(super) struct Shell {
    pub at: Place,
    /// Where it was before.
    before: Place,
    /// Where it is to go back to.
    kept: Vec<Place>,
    /// A line that does nothing else has gone there, so whoever wrote it takes the shell to stay there; or a harness says so.
    pub is_meant: bool,
    /// It was elsewhere before.
    pub has_moved: bool,
}

impl Shell {
    /// A line was carried out in it.
    pub fn went(&mut self, line: &CommandLine) {
        let moves = line.moves();
        let Some(first) = moves.list.first() else { return };
        let is_seen_from_here = matches!(first, Move::To { name, .. } if name.starts_with(".."));
        let is_meant = moves.is_all || self.is_meant && is_seen_from_here;
        for one in &moves.list {
            self.go(one);
            // Within a line nothing begins anew.
            self.is_meant = true;
        }
        self.is_meant = is_meant;
        self.has_moved = true;
    }

    fn go(&mut self, one: &Move) {
        let at = match one {
            Move::To { name, is_open, is_kept } => {
                if *is_kept && self.kept.len() < MOST_KEPT {
                    self.kept.push(self.at.clone());
                }
                // Of a shell that may begin each line in the same place, only a name that leads out of where it was says so. What
                // the shell has to work out is often a whole path.
                let is_seen_from_here = !is_open && (name.starts_with("..") || self.is_meant || self.at.is_open);
                match is_seen_from_here {
                    true => self.at.enter(name, *is_open),
                    false => Place::default().enter(name, *is_open),
                }
            }
            Move::Back => self.before.clone(),
            Move::Pop => self.kept.pop().unwrap_or_else(|| self.at.enter("popd", true)),
        };
        self.before = std::mem::replace(&mut self.at, at);
    }

    /// A harness says where it is.
    pub fn is_in(&mut self, folder: String) {
        self.has_moved |= !self.at.name.is_empty() && self.at.name != folder;
        self.at = Place {
            name: folder,
            is_open: false,
        };
        self.is_meant = true;
    }

    pub fn spot(&self) -> Spot {
        Spot {
            name: Some(self.at.name.clone()).filter(|name| !name.is_empty()),
            is_open: self.at.is_open,
            is_sure: self.is_meant && !self.at.is_open,
            is_untold: false,
        }
    }
}
