//! The tables of a page. Those with data become tables of Markdown; those that arrange the page do
//! not.

/// A table while it is read.
#[derive(Debug)]
pub(super) struct Table {
    /// Number of the table in its page.
    pub(super) id: usize,
    rows: usize,
    cells: usize,
    columns: usize,
    plain: bool,
}

impl Table {
    pub(super) fn new(id: usize) -> Self {
        Self { id, rows: 0, cells: 0, columns: 0, plain: true }
    }

    /// Begins a row; returns `true` for the first one.
    pub(super) fn row(&mut self) -> bool {
        self.rows += 1;
        self.cells = 0;
        self.rows == 1
    }

    /// Begins a cell.
    pub(super) fn cell(&mut self) {
        self.cells += 1;
        self.columns = self.columns.max(self.cells);
    }

    /// Takes note of an element in a cell that no table of Markdown can hold.
    pub(super) fn holds_block(&mut self) {
        self.plain = false;
    }

    /// `true` if the table has data: cells of text in several columns.
    pub(super) fn has_data(&self) -> bool {
        self.plain && self.columns > 1
    }
}
