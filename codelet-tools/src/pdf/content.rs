//! The characters that a page's content shows, with their places.

use super::font::{Font, Shown};
use hayro_syntax::content::TypedIter;
use hayro_syntax::content::ops::TypedInstruction;
use hayro_syntax::object::{Array, Dict, Name, Object, ObjectIdentifier, Rect, Stream};
use hayro_syntax::page::{Page, Resources};
use std::collections::HashMap;
use std::rc::Rc;

/// A character on a page whose y axis points down.
#[derive(Clone, Debug)]
pub(super) struct Glyph {
    /// Possibly several characters, or none.
    pub text: String,
    /// The beginning of its base line.
    pub at: (f64, f64),
    /// The end of its base line, where the next one begins.
    pub end: (f64, f64),
    /// The height of the font.
    pub size: f64,
}

/// The fonts read so far.
pub(super) type Fonts = HashMap<ObjectIdentifier, Rc<Font>>;

/// Depth to which forms may show other forms.
const DEPTH: usize = 12;
/// Forms that a page shows at most: a few that each show others often could otherwise take forever.
const FORMS: usize = 10_000;
/// Glyphs of a page at most; a dense one has ten thousand.
const MOST: usize = 500_000;
/// Replaces characters that the font does not name.
pub(super) const UNKNOWN: &str = "\u{fffd}";

/// A transformation of coordinates, as in PDF.
type Matrix = [f64; 6];
const IDENTITY: Matrix = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0];

/// `first`, followed by `then`.
fn followed(first: Matrix, then: Matrix) -> Matrix {
    let [a, b, c, d, e, f] = first;
    let place = |x: f64, y: f64| [x * then[0] + y * then[2], x * then[1] + y * then[3]];
    let ([a, b], [c, d], [e, f]) = (place(a, b), place(c, d), place(e, f));
    [a, b, c, d, e + then[4], f + then[5]]
}

/// Returns the characters of a page in the order in which they are shown, including those of filled form fields.
pub(super) fn glyphs(page: &Page<'_>, fonts: &mut Fonts) -> Vec<Glyph> {
    let mut reader = Reader {
        fonts,
        glyphs: Vec::new(),
        open: Vec::new(),
        forms: 0,
        replacement: Vec::new(),
    };
    let to_page = page.initial_transform(true).as_coeffs();
    reader.run(page.page_stream().unwrap_or_default(), page.resources(), to_page);
    for annotation in page
        .raw()
        .get::<Array<'_>>("Annots")
        .iter()
        .flat_map(Array::iter::<Dict<'_>>)
    {
        reader.annotation(&annotation, page.resources(), to_page);
    }
    let (width, height) = page.render_dimensions();
    let is_visible = |glyph: &Glyph| {
        let (x, y) = glyph.at;
        (-1.0..=f64::from(width) + 1.0).contains(&x) && (-1.0..=f64::from(height) + 1.0).contains(&y)
    };
    reader.glyphs.retain(is_visible);
    reader.glyphs
}

struct Reader<'f> {
    fonts: &'f mut Fonts,
    glyphs: Vec<Glyph>,
    /// The forms that are being shown.
    open: Vec<ObjectIdentifier>,
    /// Forms shown so far.
    forms: usize,
    /// For each open marked content, the text that replaces its characters, until the first of them has taken it.
    replacement: Vec<Option<Option<String>>>,
}

/// What `q` saves.
#[derive(Clone)]
struct State {
    to_page: Matrix,
    font: Option<Rc<Font>>,
    size: f64,
    character_spacing: f64,
    word_spacing: f64,
    /// 1 for none.
    scaling: f64,
    leading: f64,
    rise: f64,
}

/// The text being shown.
struct Text {
    matrix: Matrix,
    line: Matrix,
}

impl Text {
    fn next_line(&mut self, x: f64, y: f64) {
        self.line = followed([1.0, 0.0, 0.0, 1.0, x, y], self.line);
        self.matrix = self.line;
    }
}

impl Reader<'_> {
    fn annotation(&mut self, annotation: &Dict<'_>, resources: &Resources<'_>, to_page: Matrix) -> Option<()> {
        /// Bits of annotations that are not shown.
        const HIDDEN: i32 = 0b10_0010;
        if annotation.get::<i32>("F").unwrap_or(0) & HIDDEN != 0 {
            return None;
        }
        let looks = annotation.get::<Dict<'_>>("AP")?;
        let form = looks.get::<Stream<'_>>("N").or_else(|| {
            // One for each state, such as of a check box.
            looks
                .get::<Dict<'_>>("N")?
                .get::<Stream<'_>>(&*annotation.get::<Name<'_>>("AS")?)
        })?;
        let place = annotation.get::<Rect>("Rect")?;
        let frame = form.dict().get::<Rect>("BBox")?;
        let matrix = form.dict().get::<Matrix>("Matrix").unwrap_or(IDENTITY);
        let corner = followed([1.0, 0.0, 0.0, 1.0, frame.x0, frame.y0], matrix);
        let to_place = [1.0, 0.0, 0.0, 1.0, place.x0 - corner[4], place.y0 - corner[5]];
        self.form(&form, resources, followed(to_place, to_page))
    }

    fn form(&mut self, form: &Stream<'_>, resources: &Resources<'_>, to_page: Matrix) -> Option<()> {
        let id = form.obj_id();
        if self.open.len() >= DEPTH || self.open.contains(&id) || self.forms >= FORMS {
            return None;
        }
        self.forms += 1;
        let dict = form.dict();
        let own = dict.get::<Dict<'_>>("Resources").map(Resources::new);
        let matrix = dict.get::<Matrix>("Matrix").unwrap_or(IDENTITY);
        self.open.push(id);
        let content = form.decoded_data().ok();
        self.run(
            content.as_deref().unwrap_or_default(),
            own.as_ref().unwrap_or(resources),
            followed(matrix, to_page),
        );
        self.open.pop();
        Some(())
    }

    fn run(&mut self, content: &[u8], resources: &Resources<'_>, to_page: Matrix) {
        let mut state = State {
            to_page,
            font: None,
            size: 1.0,
            character_spacing: 0.0,
            word_spacing: 0.0,
            scaling: 1.0,
            leading: 0.0,
            rise: 0.0,
        };
        let mut text = Text {
            matrix: IDENTITY,
            line: IDENTITY,
        };
        let mut saved = Vec::new();
        let marked = self.replacement.len();
        let mut instructions = TypedIter::new(content);
        while let Some(instruction) = instructions.next() {
            if self.glyphs.len() >= MOST {
                break;
            }
            match instruction {
                TypedInstruction::SaveState(_) => saved.push(state.clone()),
                TypedInstruction::RestoreState(_) => state = saved.pop().unwrap_or(state),
                TypedInstruction::Transform(it) => {
                    let matrix = [it.0, it.1, it.2, it.3, it.4, it.5].map(|number| number.as_f64());
                    state.to_page = followed(matrix, state.to_page);
                }
                TypedInstruction::XObject(name) => {
                    if let Some(form) = resources.get_x_object(name.0)
                        && form.dict().get::<Name<'_>>("Subtype").as_deref() == Some(&b"Form"[..])
                    {
                        self.form(&form, resources, state.to_page);
                    }
                }
                TypedInstruction::BeginMarkedContent(_) => self.replacement.push(None),
                TypedInstruction::BeginMarkedContentWithProperties(it) => {
                    let properties = match it.1 {
                        Object::Dict(dict) => Some(dict.clone()),
                        Object::Name(name) => resources.properties.get::<Dict<'_>>(name),
                        _ => None,
                    };
                    let replacement =
                        properties.and_then(|dict| dict.get::<hayro_syntax::object::String<'_>>("ActualText"));
                    self.replacement.push(replacement.map(|text| Some(text_string(&text))));
                }
                TypedInstruction::EndMarkedContent(_) if self.replacement.len() > marked => {
                    self.replacement.pop();
                }
                TypedInstruction::CharacterSpacing(it) => state.character_spacing = it.0.as_f64(),
                TypedInstruction::WordSpacing(it) => state.word_spacing = it.0.as_f64(),
                TypedInstruction::HorizontalScaling(it) => state.scaling = it.0.as_f64() / 100.0,
                TypedInstruction::TextLeading(it) => state.leading = it.0.as_f64(),
                TypedInstruction::TextRise(it) => state.rise = it.0.as_f64(),
                TypedInstruction::TextFont(it) => {
                    state.size = it.1.as_f64();
                    state.font = resources.get_font(it.0).map(|font| self.font(&font));
                }
                TypedInstruction::BeginText(_) => {
                    text.line = IDENTITY;
                    text.matrix = IDENTITY;
                }
                TypedInstruction::NextLine(it) => text.next_line(it.0.as_f64(), it.1.as_f64()),
                TypedInstruction::NextLineAndSetLeading(it) => {
                    state.leading = -it.1.as_f64();
                    text.next_line(it.0.as_f64(), it.1.as_f64());
                }
                TypedInstruction::SetTextMatrix(it) => {
                    text.line = [it.0, it.1, it.2, it.3, it.4, it.5].map(|number| number.as_f64());
                    text.matrix = text.line;
                }
                TypedInstruction::NextLineUsingLeading(_) => text.next_line(0.0, -state.leading),
                TypedInstruction::ShowText(it) => self.show(it.0, &state, &mut text),
                TypedInstruction::NextLineAndShowText(it) => {
                    text.next_line(0.0, -state.leading);
                    self.show(it.0, &state, &mut text);
                }
                TypedInstruction::ShowTextWithParameters(it) => {
                    state.word_spacing = it.0.as_f64();
                    state.character_spacing = it.1.as_f64();
                    text.next_line(0.0, -state.leading);
                    self.show(it.2, &state, &mut text);
                }
                TypedInstruction::ShowTexts(it) => {
                    for object in it.0.iter::<Object<'_>>() {
                        match object {
                            Object::String(shown) => self.show(&shown, &state, &mut text),
                            Object::Number(back) => {
                                let along = -back.as_f64() / 1000.0 * state.size * state.scaling;
                                text.matrix = followed([1.0, 0.0, 0.0, 1.0, along, 0.0], text.matrix);
                            }
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        self.replacement.truncate(marked);
    }

    fn font(&mut self, dict: &Dict<'_>) -> Rc<Font> {
        match dict.obj_id() {
            Some(id) => Rc::clone(self.fonts.entry(id).or_insert_with(|| Rc::new(Font::read(dict)))),
            None => Rc::new(Font::read(dict)),
        }
    }

    fn show(&mut self, bytes: &[u8], state: &State, text: &mut Text) {
        let Some(font) = &state.font else { return };
        font.show(
            bytes,
            |Shown {
                 text: shown,
                 width,
                 is_space,
             }| {
                let spacing = state.character_spacing + if is_space { state.word_spacing } else { 0.0 };
                let to_page = followed(text.matrix, state.to_page);
                let place = |x: f64, y: f64| {
                    let [.., x, y] = followed([1.0, 0.0, 0.0, 1.0, x, y], to_page);
                    (x, y)
                };
                let shown = match self.replacement.iter_mut().flatten().next() {
                    Some(replacement) => replacement.take().unwrap_or_default(),
                    None => shown.unwrap_or_else(|| UNKNOWN.to_owned()),
                };
                let (base, top) = (place(0.0, state.rise), place(0.0, state.rise + state.size));
                if self.glyphs.len() < MOST {
                    self.glyphs.push(Glyph {
                        text: shown,
                        at: base,
                        end: place(width * state.size * state.scaling, state.rise),
                        size: (top.0 - base.0).hypot(top.1 - base.1),
                    });
                }
                let along = (width * state.size + spacing) * state.scaling;
                text.matrix = followed([1.0, 0.0, 0.0, 1.0, along, 0.0], text.matrix);
            },
        );
    }
}

/// Decodes a string that is text for people: UTF-16 or UTF-8 with a mark, or Latin-1 as far as that matters.
fn text_string(bytes: &[u8]) -> String {
    match bytes {
        [0xfe, 0xff, rest @ ..] => {
            let units = rest.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
            char::decode_utf16(units)
                .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
                .collect()
        }
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        _ => bytes.iter().copied().map(char::from).collect(),
    }
}
