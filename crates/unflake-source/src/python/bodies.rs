//! What differs between two versions of the bodies of a module and of its classes: names that are
//! bound to something else, classes that changed as a whole, or anything.

use std::collections::BTreeSet;

use tree_sitter::Node;
use unflake_model::ChangedFunctions;

use super::expressions::Visible;
use super::statements::{
    Statement, StatementEffect, Surroundings, imported_modules, is_plain_class, is_safe_module, statements, taken_names,
};

/// More pairs of statements are not compared.
const MAX_PAIRS: usize = 4_000_000;

/// The differences of two versions, as far as they are not in functions.
#[derive(Debug, Default)]
pub(super) struct BodyChanges {
    /// The body of the module or of classes: anything may have changed. Qualified names.
    pub(super) anything: BTreeSet<String>,
    /// Names that the module binds to something else, without any other effect.
    pub(super) names: BTreeSet<String>,
    /// Those of them that the later version does not bind.
    pub(super) removed: BTreeSet<String>,
    /// Those of them that imports of the standard library bind.
    pub(super) library: BTreeSet<String>,
    /// The same for attributes of classes.
    pub(super) attributes: BTreeSet<String>,
    /// Functions whose definition, but maybe not their body, changed. Qualified names.
    pub(super) functions: BTreeSet<String>,
    /// Classes that changed as a whole.
    pub(super) classes: BTreeSet<String>,
    /// Names that a changed statement takes from another module. They may be modules themselves.
    pub(super) taken: BTreeSet<String>,
}

/// One version of a source.
struct SourceVersion<'t> {
    text: &'t str,
    statements: Vec<Statement<'t>>,
    visible: Visible<'t>,
    plain_classes: BTreeSet<&'t str>,
    imported: BTreeSet<String>,
}

impl<'t> SourceVersion<'t> {
    fn new(text: &'t str, root: Node<'t>) -> Self {
        let statements = statements(text, root);
        let mut plain_classes = BTreeSet::new();
        for statement in &statements {
            if is_plain_class(text, statement, &plain_classes) {
                plain_classes.extend(statement.defined_name(text));
            }
        }
        let names = statements.iter().filter_map(|one| one.bound_names(text)).flatten().collect();
        let own = statements.iter().filter_map(|one| one.defined_name(text)).collect();
        let is_import = |one: &&Statement<'_>| one.node.kind().starts_with("import_");
        let imported = statements.iter().filter(is_import).flat_map(|one| imported_modules(text, one.node)).collect();
        let is_open = statements.iter().filter(is_import).any(|one| text[one.node.byte_range()].ends_with('*'));
        Self { text, statements, visible: Visible { names, own, is_open }, plain_classes, imported }
    }
}

pub(super) fn compare(before: (&str, Node<'_>), after: (&str, Node<'_>)) -> BodyChanges {
    let (before, after) = (SourceVersion::new(before.0, before.1), SourceVersion::new(after.0, after.1));
    let mut found = BodyChanges::default();
    found.compare(&before, &after, &before.statements, &after.statements, None);
    let is_gone = |name: &&String| !after.visible.is_open && !after.visible.names.contains(name.as_str());
    found.removed = found.names.iter().filter(is_gone).cloned().collect();
    found
}

/// A class whose body is compared.
#[derive(Clone, Copy)]
struct Class<'a> {
    qualified: &'a str,
    is_plain: bool,
}

impl BodyChanges {
    fn compare<'t>(
        &mut self,
        before: &SourceVersion<'t>,
        after: &SourceVersion<'t>,
        old: &[Statement<'t>],
        new: &[Statement<'t>],
        class: Option<Class<'_>>,
    ) {
        let Some(pairs) = common(old, new) else {
            self.anything.insert(class.map_or(ChangedFunctions::MODULE, |class| class.qualified).to_owned());
            return;
        };
        for (at_old, at_new) in &pairs {
            let (one, other) = (&old[*at_old], &new[*at_new]);
            if let (Some(one_body), Some(other_body)) = (one.class_body(), other.class_body()) {
                let name = one.defined_name(before.text).unwrap_or_default();
                let qualified = qualified(class, name);
                let is_plain =
                    class.is_none() && before.plain_classes.contains(name) && after.plain_classes.contains(name);
                let inner = Class { qualified: &qualified, is_plain };
                let (one, other) = (statements(before.text, one_body), statements(after.text, other_body));
                self.compare(before, after, &one, &other, Some(inner));
            }
        }
        let removed: Vec<usize> = (0..old.len()).filter(|at| !pairs.iter().any(|pair| pair.0 == *at)).collect();
        let added: Vec<usize> = (0..new.len()).filter(|at| !pairs.iter().any(|pair| pair.1 == *at)).collect();
        // Modules are loaded in another order.
        let is_moved = |at: &usize| {
            let is_import = new[*at].node.kind().starts_with("import_");
            let is_safe = || imported_modules(after.text, new[*at].node).iter().all(|name| is_safe_module(name));
            is_import && removed.iter().any(|before| old[*before].code == new[*at].code) && !is_safe()
        };
        if added.iter().any(is_moved) {
            self.anything.insert(class.map_or(ChangedFunctions::MODULE, |class| class.qualified).to_owned());
        }
        for at in removed {
            self.changed(before, &after.imported, &old[at], old, class);
        }
        for at in added {
            self.changed(after, &before.imported, &new[at], new, class);
        }
    }

    /// A statement that only one version has.
    fn changed<'t>(
        &mut self,
        version: &SourceVersion<'t>,
        imported: &BTreeSet<String>,
        statement: &Statement<'t>,
        body: &[Statement<'t>],
        class: Option<Class<'_>>,
    ) {
        let text = version.text;
        let inside;
        let visible = match class {
            None => &version.visible,
            Some(_) => {
                let mut names = version.visible.names.clone();
                names.extend(body.iter().filter_map(|one| one.bound_names(text)).flatten());
                inside = Visible { names, own: version.visible.own.clone(), is_open: version.visible.is_open };
                &inside
            }
        };
        let around = Surroundings { text, visible, class_is_plain: class.map(|class| class.is_plain), imported };
        if statement.node.kind() == "import_from_statement" {
            self.taken.extend(taken_names(text, statement.node));
        }
        match statement.effect(&around) {
            StatementEffect::Anything => {
                self.anything.insert(class.map_or(ChangedFunctions::MODULE, |class| class.qualified).to_owned());
            }
            StatementEffect::WholeClass(names) => {
                self.attributes.extend(names);
                if is_documentation(statement) {
                    self.attributes.insert("__doc__".to_owned());
                }
                self.whole_class(class.map_or("", |class| class.qualified));
                if let (Some(name), None) = (statement.defined_name(text), statement.class_body()) {
                    self.functions.insert(qualified(class, name));
                }
            }
            StatementEffect::Binds(names) => {
                let is_import = statement.node.kind().starts_with("import_");
                let is_safe = || imported_modules(text, statement.node).iter().all(|name| is_safe_module(name));
                if is_import && class.is_none() && is_safe() {
                    self.library.extend(names.iter().cloned());
                }
                let kept = if class.is_some() { &mut self.attributes } else { &mut self.names };
                let is_list = names.contains("__all__");
                kept.extend(names);
                if is_list {
                    kept.extend(words(text, statement.node));
                }
                if is_documentation(statement) {
                    kept.insert("__doc__".to_owned());
                }
                let Some(name) = statement.defined_name(text) else { return };
                match statement.class_body() {
                    Some(_) => self.whole_class(&qualified(class, name)),
                    None => {
                        self.functions.insert(qualified(class, name));
                    }
                }
            }
        }
    }

    fn whole_class(&mut self, qualified: &str) {
        self.names.extend(qualified.split('.').map(str::to_owned));
        self.classes.insert(qualified.to_owned());
    }
}

fn qualified(class: Option<Class<'_>>, name: &str) -> String {
    class.map_or_else(|| name.to_owned(), |class| format!("{}.{name}", class.qualified))
}

fn is_documentation(statement: &Statement<'_>) -> bool {
    let expression = statement.node.named_child(0).filter(|_| statement.node.kind() == "expression_statement");
    expression.is_some_and(|one| matches!(one.kind(), "string" | "concatenated_string"))
}

/// The words in the strings of a node.
fn words(text: &str, node: Node<'_>) -> BTreeSet<String> {
    if node.kind() == "string" {
        let source = &text[node.byte_range()];
        let is_word = |one: char| one.is_alphanumeric() || one == '_';
        return source.split(|one| !is_word(one)).filter(|word| !word.is_empty()).map(str::to_owned).collect();
    }
    let mut cursor = node.walk();
    node.named_children(&mut cursor).flat_map(|child| words(text, child)).collect()
}

/// A longest common subsequence of two bodies, as pairs of places. None: they are too long.
fn common(old: &[Statement<'_>], new: &[Statement<'_>]) -> Option<Vec<(usize, usize)>> {
    let is_same = |one: usize, other: usize| old[one].code == new[other].code;
    let start = (0..old.len().min(new.len())).take_while(|at| is_same(*at, *at)).count();
    let rest = old.len().min(new.len()) - start;
    let end = (1..=rest).take_while(|back| is_same(old.len() - back, new.len() - back)).count();
    let (rows, columns) = (old.len() - start - end, new.len() - start - end);
    if rows.saturating_mul(columns) > MAX_PAIRS {
        return None;
    }
    // lengths[row][column]: of the longest one of what begins there.
    let mut lengths = vec![vec![0_u32; columns + 1]; rows + 1];
    for row in (0..rows).rev() {
        for column in (0..columns).rev() {
            lengths[row][column] = match is_same(start + row, start + column) {
                true => lengths[row + 1][column + 1] + 1,
                false => lengths[row + 1][column].max(lengths[row][column + 1]),
            };
        }
    }
    let mut pairs: Vec<(usize, usize)> = (0..start).map(|at| (at, at)).collect();
    let (mut row, mut column) = (0, 0);
    while row < rows && column < columns {
        if is_same(start + row, start + column) {
            pairs.push((start + row, start + column));
            (row, column) = (row + 1, column + 1);
        } else if lengths[row + 1][column] >= lengths[row][column + 1] {
            row += 1;
        } else {
            column += 1;
        }
    }
    pairs.extend((1..=end).rev().map(|back| (old.len() - back, new.len() - back)));
    Some(pairs)
}
