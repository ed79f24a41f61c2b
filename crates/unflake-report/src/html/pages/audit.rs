//! The audit log: who changed what through the pages, and when.

use maud::{Markup, html};
use serde::Serialize;
use unflake_model::Timestamp;

use super::Pagination;
use super::layout::{PageLayout, first_line, name, pages};

#[derive(Clone, Debug, Serialize)]
pub struct AuditLog {
    /// Newest first.
    pub changes: Vec<AuditRow>,
    pub pages: Pagination,
}

/// One change.
#[derive(Clone, Debug, Serialize)]
pub struct AuditRow {
    pub at: Timestamp,
    pub who: String,
    /// Such as `quarantine-add`.
    pub action: String,
    pub what: String,
    pub detail: String,
}

impl AuditLog {
    pub(super) fn draw(&self, layout: &PageLayout) -> Markup {
        html! {
            h1 { "Audit log" }
            @if self.changes.is_empty() { p { "Nothing was changed through these pages yet." } } @else {
                p.soft { "Changes through these pages, and tokens that were created or revoked." }
                div.wide {
                    table.list {
                        thead { tr { th { "When" } th { "Who" } th { "Change" } th { "Of" } th { "Details" } } }
                        tbody {
                            @for change in &self.changes {
                                tr {
                                    td.when { (layout.exactly(change.at)) }
                                    td class="where" { (first_line(&change.who, 80)) }
                                    td.when { (first_line(&change.action, 40)) }
                                    td.name { (name(&change.what)) }
                                    td.what { (first_line(&change.detail, 400)) }
                                }
                            }
                        }
                    }
                }
                (pages(layout, &self.pages, "/audit", "", "change"))
            }
        }
    }
}
