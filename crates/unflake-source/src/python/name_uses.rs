//! Who uses a name: functions that contain it, and statements of bodies, which bind further names to
//! what they make of it.
//!
//! Names are compared as words, whatever they refer to, and in strings too. Code that can reach names
//! that are not written in it (`globals()`, a module that is passed on) uses every name; `getattr` with
//! a computed name every attribute.

use std::collections::BTreeSet;

use tree_sitter::Node;
use unflake_model::ChangedFunctions;

use super::PythonSource;
use super::expressions::Visible;
use super::statements::{Statement, StatementEffect, Surroundings, imported_modules, statements, taken_names};
use crate::syntax;

/// Words of code that reaches names of modules which are not written in it.
const REACHES_ANY: &[&str] = &[
    "__globals__",
    "__import__",
    "__subclasses__",
    "eval",
    "exec",
    "f_globals",
    "get_type_hints",
    "getmodule",
    "globals",
    "import_module",
    "resolve_name",
    "run_module",
    "run_path",
];
/// Words of code that reaches all attributes of an object. Names of a module are among them only where
/// the module is passed on, which is seen where that is done.
const REACHES_ATTRIBUTES: &[&str] = &["__dict__", "__getattr__", "dir", "getmembers", "locals", "vars"];
/// Functions that take a name, and at which place.
const TAKES_NAME: &[(&str, usize)] = &[
    ("attrgetter", 0),
    ("delattr", 1),
    ("getattr", 1),
    ("getfixturevalue", 0),
    ("hasattr", 1),
    ("methodcaller", 0),
    ("setattr", 1),
];

/// Names that a changed file binds to something else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedNames {
    /// By its module.
    pub names: BTreeSet<String>,
    /// As attributes of its classes.
    pub attributes: BTreeSet<String>,
    /// Names that it binds no longer: statements of bodies that use them fail.
    pub removed: BTreeSet<String>,
    /// Names that it imports from the standard library. Others do so themselves.
    pub library: BTreeSet<String>,
}

impl ChangedNames {
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.attributes.is_empty()
    }

    pub fn len(&self) -> usize {
        self.names.len() + self.attributes.len()
    }

    /// The names that another source may mean by these words.
    pub fn seen_from(&self, uses: &NameUses, module: &str) -> Self {
        let takes = |name: &&String| uses.takes(module, name);
        let is_other = |name: &&String| !self.library.contains(*name) || takes(name);
        Self {
            names: self.names.iter().filter(is_other).cloned().collect(),
            removed: self.removed.iter().filter(takes).cloned().collect(),
            ..self.clone()
        }
    }

    fn contains(&self, word: &str) -> bool {
        // Of `_Class__name` the class writes `__name`.
        let mangled = || word.rfind("__").filter(|at| *at > 0).map(|at| &word[at..]);
        self.names.contains(word)
            || self.attributes.contains(word)
            || mangled().is_some_and(|name| self.attributes.contains(name))
    }

    fn meet(&self, code: &Words, module: &str) -> bool {
        code.reaches_any
            || code.reaches_attributes && !self.attributes.is_empty()
            || code.bare.contains(module)
            || code.words.iter().any(|word| self.contains(word))
    }
}

/// The names that a source contains, by function and statement.
#[derive(Debug)]
pub struct NameUses {
    functions: Vec<(String, Words)>,
    statements: Vec<StatementUse>,
    /// Other names under which modules are imported: the name here and the last one of the module.
    modules: Vec<(String, String)>,
    /// Names that are taken from modules outside of the standard library; `*`: all of one.
    taken: BTreeSet<String>,
    /// Attributes with what they are taken from, as written.
    attributes: BTreeSet<(String, String)>,
}

#[derive(Debug, Default)]
struct Words {
    words: BTreeSet<String>,
    /// Names that are used without an attribute of theirs.
    bare: BTreeSet<String>,
    reaches_any: bool,
    /// Attributes of objects.
    reaches_attributes: bool,
}

#[derive(Debug)]
struct StatementUse {
    words: Words,
    /// The class in whose body it is.
    class: Option<String>,
    makes: Makes,
}

/// How a statement uses a name.
#[derive(Debug)]
enum Makes {
    Names(BTreeSet<String>),
    /// Attributes of the class around it, and all of that class.
    Attributes(BTreeSet<String>),
    /// This class.
    Class(String),
    Anything,
}

impl NameUses {
    /// Sources without any of these words use no other names than those that are written in them.
    pub const REACHING_WORDS: [&str; 30] = [
        "__dict__",
        "__getattr__",
        "__globals__",
        "__import__",
        "__subclasses__",
        "attrgetter",
        "delattr",
        "dir",
        "eval",
        "exec",
        "f_globals",
        "get_type_hints",
        "getattr",
        "getfixturevalue",
        "getmembers",
        "getmodule",
        "globals",
        "hasattr",
        "import_module",
        "locals",
        "methodcaller",
        "module",
        "modules",
        "resolve_name",
        "run_module",
        "run_path",
        "setattr",
        "vars",
        "request",
        "inspect",
    ];

    /// None where the source is not understood.
    pub fn read(source: &[u8]) -> Option<Self> {
        let source = PythonSource::read(source)?;
        source.steps()?;
        let text = source.text.as_str();
        let mut found = Self {
            functions: Vec::new(),
            statements: Vec::new(),
            modules: Vec::new(),
            taken: BTreeSet::new(),
            attributes: BTreeSet::new(),
        };
        found.add_body(text, source.tree.root_node(), None, &Visible::default());
        found.add_functions(text, source.tree.root_node(), "");
        found.add_modules(text, source.tree.root_node());
        Some(found)
    }

    /// Whether a name may be the one of this module.
    fn takes(&self, module: &str, name: &str) -> bool {
        let is_attribute = |(of, attribute): &(String, String)| {
            let is_module = of == module || self.modules.iter().any(|(here, full)| here == of && full == module);
            is_module && attribute == name
        };
        self.taken.contains(name) || self.taken.contains("*") || self.attributes.iter().any(is_attribute)
    }

    /// The scopes that use one of the names; further names that depend on them are added. `module`:
    /// the name of the changed module.
    pub fn users(&self, changed: &mut ChangedNames, module: &str) -> BTreeSet<String> {
        let mut users = BTreeSet::new();
        let names = self.modules.iter().filter(|(_, full)| full == module).map(|(name, _)| name.as_str());
        let modules: Vec<&str> = names.chain([module]).collect();
        let meet = |changed: &ChangedNames, code: &Words| modules.iter().any(|module| changed.meet(code, module));
        let mut count = 0;
        while count != changed.len() {
            count = changed.len();
            for statement in self.statements.iter().filter(|one| !one.words.words.is_empty()) {
                if !meet(changed, &statement.words) {
                    continue;
                }
                if statement.words.words.iter().any(|word| changed.removed.contains(word)) {
                    users.insert(ChangedFunctions::MODULE.to_owned());
                }
                match &statement.makes {
                    Makes::Names(names) => changed.names.extend(names.iter().cloned()),
                    Makes::Attributes(names) => {
                        changed.attributes.extend(names.iter().cloned());
                        self.add_class(statement.class.as_deref().unwrap_or_default(), changed, &mut users);
                    }
                    Makes::Class(class) => self.add_class(class, changed, &mut users),
                    Makes::Anything => {
                        users.insert(ChangedFunctions::MODULE.to_owned());
                    }
                }
            }
        }
        users.extend(self.functions.iter().filter(|(_, words)| meet(changed, words)).map(|(name, _)| name.clone()));
        users
    }

    fn add_class(&self, class: &str, changed: &mut ChangedNames, users: &mut BTreeSet<String>) {
        changed.names.extend(class.split('.').map(str::to_owned));
        let is_in = |name: &&String| name.strip_prefix(class).is_some_and(|rest| rest.starts_with('.'));
        users.extend(self.functions.iter().map(|(name, _)| name).filter(is_in).cloned());
    }

    // -- Reading -----------------------------------------------------------------------------------

    fn add_body(&mut self, text: &str, body: Node<'_>, class: Option<&str>, outer: &Visible<'_>) {
        let all = statements(text, body);
        let names = all.iter().filter_map(|one| one.bound_names(text)).flatten();
        let own = all.iter().filter_map(|one| one.defined_name(text));
        let visible = Visible {
            names: names.chain(outer.names.iter().copied()).collect(),
            own: own.chain(outer.own.iter().copied()).collect(),
            // It has run before.
            is_open: true,
        };
        let mut imported = BTreeSet::new();
        for statement in all.iter().filter(|one| one.node.kind().starts_with("import_")) {
            imported.extend(imported_modules(text, statement.node));
        }
        for statement in &all {
            let class_is_plain = class.map(|_| true);
            let around = Surroundings { text, visible: &visible, class_is_plain, imported: &imported };
            let makes = makes(&around, statement, class);
            let mut words = Words::default();
            let body = statement.definition.and_then(|definition| definition.child_by_field_name("body"));
            let own_name = statement.definition.and_then(|definition| definition.child_by_field_name("name"));
            words.add(text, statement.node, &|node| Some(node) == body || Some(node) == own_name || is_parameter(node));
            // In a body the local names are those of the module or class.
            words.reaches_any |= words.words.contains("locals");
            if statement.definition.is_none() {
                // What a statement binds is no use of it, unless it takes it from elsewhere.
                let takes = statement.node.kind() == "import_from_statement";
                for name in statement.bound_names(text).unwrap_or_default() {
                    if !takes && !occurs_twice(text, statement.node, name) {
                        words.words.remove(name);
                    }
                }
            }
            self.statements.push(StatementUse { words, class: class.map(str::to_owned), makes });
            if let (Some(body), Some(name)) = (statement.class_body(), statement.defined_name(text)) {
                let qualified = class.map_or_else(|| name.to_owned(), |class| format!("{class}.{name}"));
                self.add_body(text, body, Some(&qualified), &visible);
            }
        }
    }

    fn add_functions(&mut self, text: &str, node: Node<'_>, prefix: &str) {
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            match child.kind() {
                kind @ ("function_definition" | "class_definition") => {
                    let Some(name) = syntax::field(text, child, "name") else { continue };
                    let qualified = format!("{prefix}{name}");
                    if kind == "function_definition" {
                        let around = match node.kind() == "decorated_definition" {
                            true => node,
                            false => child,
                        };
                        self.functions.push((qualified.clone(), Words::of_function(text, around, child)));
                        self.add_functions(text, child, &format!("{qualified}.<locals>."));
                    } else {
                        self.add_functions(text, child, &format!("{qualified}."));
                    }
                }
                _ => self.add_functions(text, child, prefix),
            }
        }
    }

    fn add_modules(&mut self, text: &str, node: Node<'_>) {
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            match child.kind() {
                "import_from_statement" => {
                    self.taken.extend(taken_names(text, child));
                    if text[child.byte_range()].trim_end().ends_with('*') {
                        self.taken.insert("*".to_owned());
                    }
                }
                "attribute" => {
                    let of = syntax::field(text, child, "object").map(|of| of.rsplit('.').next().unwrap_or(of));
                    if let (Some(of), Some(attribute)) = (of, syntax::field(text, child, "attribute")) {
                        self.attributes.insert((of.to_owned(), attribute.to_owned()));
                    }
                }
                _ => {}
            }
            if child.kind() == "aliased_import" {
                if let (Some(name), Some(alias)) =
                    (syntax::field(text, child, "name"), syntax::field(text, child, "alias"))
                {
                    let last = name.rsplit('.').next().unwrap_or(name);
                    self.modules.push((alias.to_owned(), last.to_owned()));
                }
            } else {
                self.add_modules(text, child);
            }
        }
    }
}

/// What a statement makes of the names that it uses.
fn makes(around: &Surroundings<'_, '_>, statement: &Statement<'_>, class: Option<&str>) -> Makes {
    let text = around.text;
    if let Some(name) = statement.defined_name(text).filter(|_| statement.class_body().is_some()) {
        // Its header is evaluated again, its body is not another one.
        let mut cursor = statement.node.walk();
        let mut decorators = statement.node.children(&mut cursor).filter(|child| child.kind() == "decorator");
        let is_plain = decorators.all(|decorator| around.visible.is_plain_decorator(text, decorator));
        return match is_plain {
            true => Makes::Class(class.map_or_else(|| name.to_owned(), |class| format!("{class}.{name}"))),
            false => Makes::Anything,
        };
    }
    if statement.node.kind().starts_with("import_") {
        // It has been imported before; only what the names stand for is another thing.
        return Makes::Names(statement.bound_names(text).unwrap_or_default().into_iter().map(str::to_owned).collect());
    }
    match (statement.effect(around), class) {
        (StatementEffect::Anything, _) => Makes::Anything,
        (StatementEffect::Binds(names), None) => Makes::Names(names),
        (StatementEffect::Binds(names) | StatementEffect::WholeClass(names), _) => Makes::Attributes(names),
    }
}

fn occurs_twice(text: &str, node: Node<'_>, name: &str) -> bool {
    fn count(text: &str, node: Node<'_>, name: &str) -> usize {
        if node.kind() == "identifier" {
            return usize::from(&text[node.byte_range()] == name);
        }
        if node.kind() == "string" {
            return usize::from(text[node.byte_range()].contains(name));
        }
        let mut cursor = node.walk();
        node.named_children(&mut cursor).map(|child| count(text, child, name)).sum()
    }
    count(text, node, name) > 1
}

impl Words {
    /// Of a function with its decorators, without those inside it and without its documentation.
    fn of_function(text: &str, around: Node<'_>, function: Node<'_>) -> Self {
        let (name, body) = (function.child_by_field_name("name"), function.child_by_field_name("body"));
        let first = body.and_then(|body| body.named_child(0)).filter(|first| first.kind() == "expression_statement");
        let documentation = first.and_then(|first| first.named_child(0)).filter(|one| one.kind() == "string");
        let documentation = documentation.filter(|one| !text[one.byte_range()].contains(">>>"));
        let is_inner_body = |node: Node<'_>| {
            let is_body = node.parent().is_some_and(|parent| parent.kind() == "function_definition");
            node.kind() == "block" && is_body && Some(node) != body
        };
        let mut words = Self::default();
        words.add(text, around, &|node| Some(node) == name || Some(node) == documentation || is_inner_body(node));
        words
    }

    fn add(&mut self, text: &str, node: Node<'_>, leaves_out: &dyn Fn(Node<'_>) -> bool) {
        if node.is_extra() || leaves_out(node) {
            return;
        }
        let source = &text[node.byte_range()];
        match node.kind() {
            "identifier" => {
                self.words.insert(source.to_owned());
                self.reaches_any |= REACHES_ANY.contains(&source);
                self.reaches_attributes |= REACHES_ATTRIBUTES.contains(&source);
                if is_bare(node) {
                    self.bare.insert(source.to_owned());
                }
                return;
            }
            "string_content" | "string" => {
                let is_word = |one: char| one.is_alphanumeric() || one == '_';
                let words = source.split(|one| !is_word(one)).filter(|word| !word.is_empty());
                self.words.extend(words.map(str::to_owned));
            }
            "attribute" => {
                // Fixtures are given the module of their test.
                self.reaches_any |= source == "sys.modules" || source.ends_with(".module");
                // A module that is passed on, `package.module`. A method that is called is none.
                if !node.parent().is_some_and(|parent| matches!(parent.kind(), "attribute" | "call")) {
                    self.bare.extend(source.rsplit('.').next().map(str::to_owned));
                }
            }
            "call" => self.add_taken_name(text, node),
            "wildcard_import" => {}
            _ => {}
        }
        let mut cursor = node.walk();
        node.named_children(&mut cursor).for_each(|child| self.add(text, child, leaves_out));
    }

    /// A call of `getattr` and the like: with a constant it uses that name, else it may use any.
    fn add_taken_name(&mut self, text: &str, call: Node<'_>) {
        let function = call.child_by_field_name("function").map_or("", |node| &text[node.byte_range()]);
        let last = function.rsplit('.').next().unwrap_or(function);
        let Some((_, place)) = TAKES_NAME.iter().find(|(name, _)| *name == last) else { return };
        let Some(arguments) = call.child_by_field_name("arguments") else { return };
        let mut cursor = arguments.walk();
        let all: Vec<Node<'_>> = arguments.named_children(&mut cursor).filter(|one| !one.is_extra()).collect();
        let is_constant = |node: &Node<'_>| {
            let mut cursor = node.walk();
            node.kind() == "string" && !node.named_children(&mut cursor).any(|part| part.kind() == "interpolation")
        };
        // `monkeypatch.setattr("module.name", value)` has the name first.
        let is_named = all.get(*place).is_some_and(is_constant) || *place == 1 && all.first().is_some_and(is_constant);
        if !is_named {
            self.reaches_any |= last == "getfixturevalue";
            self.reaches_attributes = true;
        }
    }
}

/// Whether an identifier names a parameter, which uses no name of the module.
fn is_parameter(node: Node<'_>) -> bool {
    let Some(parent) = node.parent().filter(|_| node.kind() == "identifier") else { return false };
    match parent.kind() {
        "parameters" | "lambda_parameters" | "typed_parameter" => true,
        "default_parameter" | "typed_default_parameter" | "keyword_argument" => {
            parent.child_by_field_name("name") == Some(node)
        }
        _ => false,
    }
}

/// Whether an identifier stands for a whole object, not for what an attribute is taken from.
fn is_bare(node: Node<'_>) -> bool {
    let Some(parent) = node.parent() else { return true };
    let is_field = |field: &str| parent.child_by_field_name(field) == Some(node);
    match parent.kind() {
        "attribute" => false,
        "keyword_argument" => !is_field("name"),
        "dotted_name" | "aliased_import" | "parameters" | "typed_parameter" | "lambda_parameters" => false,
        "default_parameter" | "typed_default_parameter" => !is_field("name"),
        "assignment" => !is_field("left"),
        _ => true,
    }
}
