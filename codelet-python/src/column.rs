//! A column of conversations in buffers of Arrow: rows of JSON text, or lists and structs that are written as JSON.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use std::borrow::Cow;
use std::sync::Arc;

/// A column; any row can be read as JSON.
#[pyclass(frozen, module = "codelet._codelet")]
pub struct Column(Arc<Node>);

enum Node {
    /// Rows of bytes, with their offsets as 64-bit numbers.
    Text {
        offsets: PyBackedBytes,
        data: PyBackedBytes,
        valid: Option<PyBackedBytes>,
        /// JSON as it stands, or a text that becomes a string.
        is_json: bool,
    },
    /// Rows of items, with their offsets.
    List {
        starts: Vec<u64>,
        valid: Option<PyBackedBytes>,
        items: Arc<Node>,
    },
    /// Rows with a value of each of these columns.
    Struct {
        fields: Vec<(String, Arc<Node>)>,
        valid: Option<PyBackedBytes>,
        rows: usize,
    },
}

/// Lists and structs within others are written this deep.
const DEEPEST: usize = 64;

#[pymethods]
impl Column {
    /// Rows of text. `valid` has a byte for each, 0 where it is null.
    #[staticmethod]
    #[pyo3(signature = (offsets, data, valid, is_json))]
    fn text(offsets: PyBackedBytes, data: PyBackedBytes, valid: Option<PyBackedBytes>, is_json: bool) -> Self {
        Column(Arc::new(Node::Text {
            offsets,
            data,
            valid,
            is_json,
        }))
    }

    /// Rows of lists: the length of each, as 64-bit numbers, and the items of all.
    #[staticmethod]
    #[pyo3(signature = (lengths, valid, items))]
    fn list(lengths: PyBackedBytes, valid: Option<PyBackedBytes>, items: PyRef<'_, Column>) -> Self {
        let mut starts = vec![0];
        let mut end = 0_u64;
        for at in 0..lengths.len() / WIDE {
            end = end.saturating_add(number(&lengths, at).unwrap_or(0));
            starts.push(end);
        }
        Column(Arc::new(Node::List {
            starts,
            valid,
            items: Arc::clone(&items.0),
        }))
    }

    /// Rows of structs.
    #[staticmethod]
    #[pyo3(signature = (rows, valid, names, fields))]
    fn r#struct(rows: usize, valid: Option<PyBackedBytes>, names: Vec<String>, fields: Vec<PyRef<'_, Column>>) -> Self {
        let fields = fields.iter().map(|field| Arc::clone(&field.0));
        Column(Arc::new(Node::Struct {
            fields: names.into_iter().zip(fields).collect(),
            valid,
            rows,
        }))
    }
}

impl Column {
    /// All rows, which other threads may read without Python.
    pub fn rows(&self) -> Rows {
        Rows(Arc::clone(&self.0))
    }
}

/// The rows of a column.
pub struct Rows(Arc<Node>);

impl Rows {
    /// The number of rows.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// A row as JSON, or as the text that it is; `None` where it is null, or where the buffers do not hold it.
    pub fn get(&self, at: usize) -> Option<Cow<'_, [u8]>> {
        if !self.0.is_valid(at) {
            return None;
        }
        match &*self.0 {
            Node::Text { offsets, data, .. } => text(offsets, data, at).map(Cow::Borrowed),
            node => {
                let mut json = Vec::new();
                node.write(at, DEEPEST, &mut json)?;
                Some(Cow::Owned(json))
            }
        }
    }
}

/// Bytes of a 64-bit number.
const WIDE: usize = size_of::<i64>();

fn number(buffer: &[u8], at: usize) -> Option<u64> {
    let start = at.checked_mul(WIDE)?;
    let bytes = buffer.get(start..start.checked_add(WIDE)?)?;
    u64::try_from(i64::from_ne_bytes(bytes.try_into().ok()?)).ok()
}

fn text<'a>(offsets: &[u8], data: &'a [u8], at: usize) -> Option<&'a [u8]> {
    // The first offset need not be 0: the data begin with the first row.
    let first = number(offsets, 0)?;
    let place = |at| usize::try_from(number(offsets, at)?.checked_sub(first)?).ok();
    data.get(place(at)?..place(at.checked_add(1)?)?)
}

impl Node {
    fn len(&self) -> usize {
        match self {
            Node::Text { offsets, .. } => (offsets.len() / WIDE).saturating_sub(1),
            Node::List { starts, .. } => starts.len() - 1,
            Node::Struct { rows, .. } => *rows,
        }
    }

    fn is_valid(&self, at: usize) -> bool {
        let (Node::Text { valid, .. } | Node::List { valid, .. } | Node::Struct { valid, .. }) = self;
        match valid {
            Some(valid) => valid.get(at).is_some_and(|byte| *byte != 0),
            None => at < self.len(),
        }
    }

    /// Writes a row as JSON. A field that is null is left out: where structs are all alike, most are there for others.
    fn write(&self, at: usize, deep: usize, json: &mut Vec<u8>) -> Option<()> {
        let deep = deep.checked_sub(1)?;
        if !self.is_valid(at) {
            json.extend_from_slice(b"null");
            return Some(());
        }
        match self {
            Node::Text {
                offsets, data, is_json, ..
            } => match (text(offsets, data, at)?, is_json) {
                (text, true) => json.extend_from_slice(text),
                // A string of Arrow is UTF-8.
                (text, false) => serde_json::to_writer(&mut *json, std::str::from_utf8(text).ok()?).ok()?,
            },
            Node::List { starts, items, .. } => {
                json.push(b'[');
                let place = |at: usize| usize::try_from(*starts.get(at)?).ok();
                let (start, end) = (place(at)?, place(at + 1)?);
                for item in start..end.min(items.len()) {
                    if item > start {
                        json.push(b',');
                    }
                    items.write(item, deep, json)?;
                }
                json.push(b']');
            }
            Node::Struct { fields, .. } => {
                json.push(b'{');
                let mut is_first = true;
                for (name, field) in fields.iter().filter(|(_, field)| field.is_valid(at)) {
                    if !std::mem::take(&mut is_first) {
                        json.push(b',');
                    }
                    serde_json::to_writer(&mut *json, name).ok()?;
                    json.push(b':');
                    field.write(at, deep, json)?;
                }
                json.push(b'}');
            }
        }
        Some(())
    }
}
