use super::Looks;
use ratatui_core::buffer::Buffer;
use ratatui_core::style::{Color, Modifier, Style};

/// Colour and style of text. Colour only repeats what the text says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look(Color, Modifier);

pub(super) const PLAIN: Look = Look(Color::Reset, Modifier::empty());
pub(super) const BOLD: Look = Look(Color::Reset, Modifier::BOLD);
pub(super) const DIM: Look = Look(Color::Reset, Modifier::DIM);
pub(super) const REVERSED: Look = Look(Color::Reset, Modifier::REVERSED);
pub(super) const WARN: Look = Look(Color::Red, Modifier::BOLD);
pub(super) const BAR: Look = Look(Color::Green, Modifier::empty());
pub(super) const COUNT: Look = Look(Color::Cyan, Modifier::empty());
pub(super) const LATE: Look = Look(Color::Red, Modifier::empty());

pub(super) struct Canvas<'a> {
    buffer: &'a mut Buffer,
    pub looks: Looks,
}

impl Canvas<'_> {
    pub fn new(buffer: &mut Buffer, looks: Looks) -> Canvas<'_> {
        Canvas { buffer, looks }
    }

    pub fn size(&self) -> (u16, u16) {
        (self.buffer.area.width, self.buffer.area.height)
    }

    /// Writes `text` at column `x` of line `y`, clipped at the border. Returns the column after the text.
    pub fn put(&mut self, x: u16, y: u16, text: &str, look: Look) -> u16 {
        let area = self.buffer.area;
        if x >= area.width || y >= area.height {
            return x;
        }
        let room = usize::from(area.width - x);
        let style = self.style(look);
        let (behind, _) = self.buffer.set_stringn(area.x + x, area.y + y, text, room, style);
        behind.saturating_sub(area.x)
    }

    pub fn right(&mut self, y: u16, text: &str, look: Look) {
        let width = u16::try_from(text.chars().count()).unwrap_or(u16::MAX);
        self.put(self.size().0.saturating_sub(width), y, text, look);
    }

    fn style(&self, Look(colour, modifier): Look) -> Style {
        let colour = if self.looks.colour { colour } else { Color::Reset };
        Style::new().fg(colour).add_modifier(modifier)
    }
}
