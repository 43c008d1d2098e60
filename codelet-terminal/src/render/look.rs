//! How things look: width, colours or none, light or dark, and the few roles that text plays.

use ratatui::style::{Color, Modifier, Style};

/// Narrower than this nothing can be laid out; a narrower terminal breaks the lines itself.
pub const MIN_WIDTH: usize = 8;
/// Wider lines of prose than this are hard to read, in columns.
const MAX_PROSE: usize = 120;

/// What the terminal is like, as far as it matters for how things look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Look {
    /// Columns.
    pub width: usize,
    /// Which styles it shows.
    pub styles: Styles,
    /// What it writes upon.
    pub background: Background,
}

/// Which styles a terminal shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Styles {
    /// None, and only the plainest characters for lines and marks: a dumb terminal, a pipe, a screen reader.
    Plain,
    /// Bold, dim, underlined and reversed, but no colour: `NO_COLOR`.
    Monochrome,
    /// The sixteen colours that every colour terminal has, as its user has chosen them.
    Colour,
}

/// What a terminal writes upon.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Background {
    /// Dark.
    #[default]
    Dark,
    /// Light.
    Light,
}

/// The parts that text plays. Each has a style that can be told from plain text without colour too, where that matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Role {
    /// What is read.
    Text,
    /// What steps back: frames, figures, folded things.
    Dim,
    /// What stands out.
    Strong,
    /// Headings, marks, what belongs to the program itself.
    Accent,
    /// What the user said.
    Prompt,
    /// Code within prose.
    Code,
    /// Links.
    Link,
    /// It went well.
    Good,
    /// It went wrong.
    Error,
    /// The user should look.
    Warning,
    /// A line that was added.
    Added,
    /// A line that was removed.
    Removed,
    /// Words of a line that were added.
    AddedWords,
    /// Words of a line that were removed.
    RemovedWords,
    /// Words of the language, in code.
    Keyword,
    /// Strings, in code.
    Quoted,
    /// Numbers and other constants, in code.
    Number,
    /// Comments, in code.
    Comment,
    /// Names of types and of what is defined, in code.
    Name,
}

impl Look {
    /// Without styles.
    pub fn plain(width: usize) -> Self {
        Look::new(width, Styles::Plain, Background::Dark)
    }

    /// A look. A width below [`MIN_WIDTH`] counts as that.
    pub fn new(width: usize, styles: Styles, background: Background) -> Self {
        Look {
            width: width.max(MIN_WIDTH),
            styles,
            background,
        }
    }

    /// The same at another width.
    pub fn at_width(self, width: usize) -> Self {
        Look::new(width, self.styles, self.background)
    }

    /// Whether only the plainest characters are used.
    pub fn is_plain(&self) -> bool {
        self.styles == Styles::Plain
    }

    /// Columns for prose, which is hard to read on very wide lines.
    pub fn prose(&self) -> usize {
        self.width.clamp(MIN_WIDTH, MAX_PROSE)
    }

    /// One of two spellings: the fine one, or the one for plain terminals.
    pub fn pick<'a>(&self, fine: &'a str, plain: &'a str) -> &'a str {
        if self.is_plain() { plain } else { fine }
    }

    /// The style of a role.
    pub fn style(&self, role: Role) -> Style {
        let style = Style::new();
        match self.styles {
            Styles::Plain => style,
            Styles::Monochrome => style.add_modifier(modifier(role)),
            Styles::Colour => match self.colour(role) {
                Some(colour) => style.fg(colour).add_modifier(modifier(role) - Modifier::DIM),
                None => style.add_modifier(modifier(role)),
            },
        }
    }

    /// Yellow and the bright colours cannot be read on white, and blue hardly on black.
    fn colour(&self, role: Role) -> Option<Color> {
        let (dark, light) = match role {
            Role::Text | Role::Dim | Role::Strong => return None,
            Role::Accent | Role::Prompt | Role::Keyword => (Color::Cyan, Color::Blue),
            Role::Code | Role::Name => (Color::LightBlue, Color::Blue),
            Role::Link => (Color::LightBlue, Color::Blue),
            Role::Good | Role::Added | Role::AddedWords | Role::Quoted => (Color::Green, Color::Green),
            Role::Error | Role::Removed | Role::RemovedWords => (Color::Red, Color::Red),
            Role::Warning => (Color::Yellow, Color::Magenta),
            Role::Number => (Color::Magenta, Color::Magenta),
            // A terminal's bright black is the background of some themes: dim text is never lost.
            Role::Comment => return None,
        };
        Some(match self.background {
            Background::Dark => dark,
            Background::Light => light,
        })
    }
}

fn modifier(role: Role) -> Modifier {
    match role {
        Role::Dim | Role::Comment => Modifier::DIM,
        Role::Strong | Role::Accent | Role::Error | Role::Warning | Role::Prompt => Modifier::BOLD,
        Role::Link => Modifier::UNDERLINED,
        Role::AddedWords | Role::RemovedWords => Modifier::REVERSED,
        _ => Modifier::empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROLES: [Role; 19] = [
        Role::Text,
        Role::Dim,
        Role::Strong,
        Role::Accent,
        Role::Prompt,
        Role::Code,
        Role::Link,
        Role::Good,
        Role::Error,
        Role::Warning,
        Role::Added,
        Role::Removed,
        Role::AddedWords,
        Role::RemovedWords,
        Role::Keyword,
        Role::Quoted,
        Role::Number,
        Role::Comment,
        Role::Name,
    ];

    #[test]
    fn without_colour_no_role_has_one_and_without_styles_none_has_any() {
        for role in ROLES {
            for background in [Background::Dark, Background::Light] {
                let style = |styles| Look::new(80, styles, background).style(role);
                assert_eq!(style(Styles::Monochrome).fg, None);
                assert_eq!(style(Styles::Plain), Style::new());
                assert_eq!(style(Styles::Colour).bg, None, "the user's background stays");
            }
        }
    }

    #[test]
    fn no_role_is_written_in_a_colour_that_its_background_swallows() {
        for role in ROLES {
            let on = |background| Look::new(80, Styles::Colour, background).style(role).fg;
            assert!(!matches!(
                on(Background::Dark),
                Some(Color::Black | Color::Blue | Color::DarkGray)
            ));
            assert!(!matches!(
                on(Background::Light),
                Some(Color::White | Color::Yellow | Color::Gray | Color::LightYellow | Color::LightCyan)
            ));
        }
    }
}
