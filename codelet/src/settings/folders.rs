//! Folders beside the workspace, from the settings and from the command line.

use super::Settings;
use crate::exit::Failure;
use crate::place::Place;
use std::path::PathBuf;

impl Settings {
    /// Adds the folders of these settings and of the command line to a place.
    ///
    /// # Errors
    /// If a folder from the command line cannot be added; one from a settings file is skipped with a notice.
    pub fn widen(&mut self, place: &mut Place, named: &[PathBuf]) -> Result<(), Failure> {
        let write = &self.write;
        for folder in &write.value {
            match place.planted(folder, &write.value) {
                None => place.write.push(folder.clone()),
                Some(link) => {
                    let (shown, link, from) = (folder.display(), link.display(), &write.from);
                    self.notices.push(format!(
                        "commands cannot write to {shown}: {link} is a link that a command could have made (write, {from})"
                    ));
                }
            }
        }
        for folder in &self.add_dirs.value {
            let planted = place.planted(folder, &write.value);
            let planted = planted.map(|link| format!("{} is a link that a command could have made", link.display()));
            if let Err(problem) = planted.map_or_else(|| place.add(folder), Err) {
                let (shown, from) = (folder.display(), &self.add_dirs.from);
                self.notices
                    .push(format!("{shown} is not added: {problem} (add_dirs, {from})"));
            }
        }
        for folder in named {
            place
                .add(folder)
                .map_err(|problem| Failure::at(folder.display(), format!("{problem} (--add-dir)")))?;
        }
        Ok(())
    }
}
