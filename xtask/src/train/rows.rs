//! Sparse feature rows of many segments: only features that are not zero are stored.

/// A row of features for each segment.
#[derive(Default)]
pub struct Rows {
    entries: Vec<(u16, f32)>,
    ends: Vec<usize>,
}

impl Rows {
    /// Adds a row.
    pub fn push(&mut self, features: &[f32]) {
        let features = features.iter().enumerate().filter(|(_, value)| **value != 0.0);
        self.entries
            .extend(features.map(|(feature, value)| (feature as u16, *value)));
        self.ends.push(self.entries.len());
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The nonzero features of each row, with their index.
    pub fn iter(&self) -> impl Iterator<Item = &[(u16, f32)]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).map(|(&start, &end)| &self.entries[start..end])
    }
}

impl<'a> FromIterator<&'a [f32]> for Rows {
    fn from_iter<I: IntoIterator<Item = &'a [f32]>>(rows: I) -> Self {
        let mut made = Rows::default();
        rows.into_iter().for_each(|row| made.push(row));
        made
    }
}
