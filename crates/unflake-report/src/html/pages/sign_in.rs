//! The page for who is not known: a form for a token.

use maud::{Markup, html};
use serde::Serialize;

use super::draw::command;

#[derive(Clone, Debug, Serialize)]
pub struct SignInPage {
    /// The token that was given is not valid.
    pub was_wrong: bool,
}

impl SignInPage {
    pub(super) fn draw(&self) -> Markup {
        html! {
            h1 { "Sign in" }
            @if self.was_wrong { p.failed { "✗ This token is unknown, expired or revoked." } }
            p.soft { "Who runs this server creates a token for you: " (command("unflake token create NAME")) "." }
            form.add action="/sign-in" method="post" {
                label {
                    span { "Token" }
                    input name="token" type="password" required="" maxlength="200" autocomplete="current-password" value="";
                }
                button { "Sign in" }
            }
        }
    }
}
