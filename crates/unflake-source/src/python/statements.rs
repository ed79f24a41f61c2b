//! The statements of module and class bodies: the code of each apart from the functions in it, the
//! names that it binds, and whether it does more than that.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::expressions::Visible;

/// Names that are used without being written anywhere, by the interpreter or a test runner.
const IMPLICIT: &[&str] = &[
    "collect_ignore",
    "collect_ignore_glob",
    "load_tests",
    "pytestmark",
    "setUpModule",
    "setup",
    "tearDownModule",
    "teardown",
];
const IMPLICIT_STARTS: &[&str] = &["pytest_", "setup_", "teardown_"];
/// Names with underscores at both ends that are ordinary values.
const ORDINARY: &[&str] =
    &["__all__", "__author__", "__copyright__", "__email__", "__license__", "__title__", "__version__"];
/// Attributes that libraries look for in any object, whatever its class.
const LOOKED_FOR: &[&str] = &[
    "close", "encoding", "fileno", "flush", "isatty", "items", "keys", "mode", "name", "read", "readable", "readline",
    "seek", "tell", "values", "writable", "write",
];
/// Base classes that do nothing when a class is made of them, and look at no attribute but by name.
const PLAIN_BASES: &[&str] = &["ABC", "Exception", "Generic", "Protocol", "TestCase", "object"];

/// A statement of a body.
pub(super) struct Statement<'t> {
    pub(super) node: Node<'t>,
    /// The function or class that it defines, below its decorators.
    pub(super) definition: Option<Node<'t>>,
    /// Its tokens and structure. Of a definition everything but the body.
    pub(super) code: String,
}

/// What evaluating a statement can change.
#[derive(Debug, PartialEq)]
pub(super) enum StatementEffect {
    /// The values of these names in its body.
    Binds(BTreeSet<String>),
    /// Something about the class whose body it is in, and these attributes.
    WholeClass(BTreeSet<String>),
    Anything,
}

/// Where a statement stands.
pub(super) struct Surroundings<'a, 't> {
    pub(super) text: &'t str,
    pub(super) visible: &'a Visible<'t>,
    /// None: in the module. Else whether attributes of the class matter by their names alone.
    pub(super) class_is_plain: Option<bool>,
    /// Modules that the other version imports too, so importing them changes nothing.
    pub(super) imported: &'a BTreeSet<String>,
}

/// The statements of a body. None where there is code that is not understood.
pub(super) fn statements<'t>(text: &'t str, body: Node<'t>) -> Vec<Statement<'t>> {
    let mut cursor = body.walk();
    let children: Vec<Node<'t>> = body.named_children(&mut cursor).filter(|one| !one.is_extra()).collect();
    children.into_iter().map(|node| statement(text, node)).collect()
}

fn statement<'t>(text: &'t str, node: Node<'t>) -> Statement<'t> {
    let definition = match node.kind() {
        "decorated_definition" => node.child_by_field_name("definition"),
        "function_definition" | "class_definition" => Some(node),
        _ => None,
    };
    let mut code = String::new();
    let body = definition.and_then(|definition| definition.child_by_field_name("body"));
    write(text, node, body, &mut code);
    if let (Some(body), Some(definition)) = (body, definition) {
        write_visible(text, definition, body, &mut code);
    }
    Statement { node, definition, code }
}

/// Writes what can be seen of a body without running it.
fn write_visible(text: &str, definition: Node<'_>, body: Node<'_>, code: &mut String) {
    code.push_str(super::outline::documentation(text, body));
    if definition.kind() == "function_definition" && is_generator(body) {
        code.push_str("\u{3}\0");
    }
}

/// Writes tokens and structure without the bodies of functions, which are compared by themselves.
fn write(text: &str, node: Node<'_>, except: Option<Node<'_>>, code: &mut String) {
    if node.is_extra() || Some(node) == except {
        return;
    }
    if let Some(parent) =
        node.parent().filter(|parent| node.kind() == "block" && parent.kind() == "function_definition")
    {
        write_visible(text, parent, node, code);
        return;
    }
    if node.child_count() == 0 || node.kind() == "string" {
        code.push_str(&text[node.byte_range()]);
        code.push('\0');
        return;
    }
    code.push('\u{1}');
    let mut cursor = node.walk();
    node.children(&mut cursor).for_each(|child| write(text, child, except, code));
    code.push('\u{2}');
}

/// Whether a body has a `yield` of its own.
fn is_generator(body: Node<'_>) -> bool {
    let mut cursor = body.walk();
    body.children(&mut cursor).any(|child| match child.kind() {
        "yield" => true,
        "function_definition" | "class_definition" | "lambda" => false,
        _ => is_generator(child),
    })
}

impl<'t> Statement<'t> {
    pub(super) fn defined_name(&self, text: &'t str) -> Option<&'t str> {
        text.get(self.definition?.child_by_field_name("name")?.byte_range())
    }

    pub(super) fn class_body(&self) -> Option<Node<'t>> {
        let definition = self.definition.filter(|one| one.kind() == "class_definition")?;
        definition.child_by_field_name("body")
    }

    /// The names that it binds, if that is all that it does to its body.
    pub(super) fn bound_names(&self, text: &'t str) -> Option<BTreeSet<&'t str>> {
        if let Some(name) = self.defined_name(text) {
            return Some([name].into());
        }
        match self.node.kind() {
            "import_statement" | "import_from_statement" => Some(imported_names(text, self.node)),
            "expression_statement" => {
                let expression = self.node.named_child(0)?;
                match expression.kind() {
                    "assignment" | "augmented_assignment" => targets(text, expression),
                    "string" | "concatenated_string" | "ellipsis" => Some(BTreeSet::new()),
                    _ => None,
                }
            }
            "type_alias_statement" => {
                let name = self.node.child_by_field_name("left").or_else(|| self.node.named_child(0))?;
                text.get(name.byte_range()).map(|name| BTreeSet::from([name]))
            }
            "pass_statement" => Some(BTreeSet::new()),
            "if_statement" if is_type_checking(text, self.node) => {
                let body = self.node.child_by_field_name("consequence")?;
                let inner = statements(text, body);
                inner
                    .iter()
                    .map(|one| one.bound_names(text))
                    .collect::<Option<Vec<_>>>()
                    .map(|names| names.into_iter().flatten().collect())
            }
            _ => None,
        }
    }

    /// What it can change, where it is added, removed or replaced.
    pub(super) fn effect(&self, around: &Surroundings<'_, 't>) -> StatementEffect {
        let text = around.text;
        let Some(names) = self.bound_names(text) else { return StatementEffect::Anything };
        if !self.only_binds(around) {
            return StatementEffect::Anything;
        }
        let is_special = |name: &str| is_implicit(name) || is_dunder(name) && !ORDINARY.contains(&name);
        let has_special = names.iter().any(|name| is_special(name));
        let names: BTreeSet<String> = names.into_iter().map(str::to_owned).collect();
        match around.class_is_plain {
            None | Some(false) if has_special => StatementEffect::Anything,
            Some(is_plain)
                if !is_plain
                    || has_special
                    || names.is_empty()
                    || names.iter().any(|name| LOOKED_FOR.contains(&name.as_str())) =>
            {
                StatementEffect::WholeClass(names)
            }
            None | Some(_) => StatementEffect::Binds(names),
        }
    }

    /// Whether evaluating it does nothing but bind its names.
    fn only_binds(&self, around: &Surroundings<'_, 't>) -> bool {
        let (text, visible) = (around.text, around.visible);
        if let Some(definition) = self.definition {
            let mut cursor = self.node.walk();
            let mut decorators = self.node.children(&mut cursor).filter(|child| child.kind() == "decorator");
            return decorators.all(|decorator| visible.is_plain_decorator(text, decorator))
                && !has_doctest(&self.code)
                && match definition.kind() {
                    "function_definition" => has_plain_header(text, visible, definition),
                    _ => self.is_plain_class_to_make(around, definition),
                };
        }
        match self.node.kind() {
            "import_statement" | "import_from_statement" => {
                let modules = imported_modules(text, self.node);
                !imported_names(text, self.node).is_empty()
                    && modules.iter().all(|one| is_safe_module(one) || around.imported.contains(one))
            }
            "if_statement" => true, // Code for type checkers never runs.
            "expression_statement" => {
                let Some(expression) = self.node.named_child(0) else { return false };
                match expression.kind() {
                    "assignment" | "augmented_assignment" => {
                        ["right", "type"].iter().all(|field| match expression.child_by_field_name(field) {
                            Some(value) if value.kind() == "assignment" => false,
                            Some(value) => visible.only_makes_a_value(text, value),
                            None => true,
                        })
                    }
                    _ => !has_doctest(&text[expression.byte_range()]),
                }
            }
            _ => true,
        }
    }

    fn is_plain_class_to_make(&self, around: &Surroundings<'_, 't>, definition: Node<'t>) -> bool {
        let text = around.text;
        let Some(body) = definition.child_by_field_name("body") else { return false };
        let has_known_bases = bases(definition).is_none_or(|bases| {
            let mut cursor = bases.walk();
            bases
                .named_children(&mut cursor)
                .filter(|one| !one.is_extra())
                .all(|base| is_plain_base(text, base) || around.visible.own.contains(&text[base.byte_range()]))
        });
        let inner = statements(text, body);
        let mut names = around.visible.names.clone();
        names.extend(inner.iter().filter_map(|one| one.bound_names(text)).flatten());
        let visible = Visible { names, own: around.visible.own.clone(), is_open: around.visible.is_open };
        let inside = Surroundings { visible: &visible, class_is_plain: Some(true), ..*around };
        has_known_bases && inner.iter().all(|one| one.effect(&inside) != StatementEffect::Anything)
    }
}

/// Whether only names of attributes matter in a class: no decorator, metaclass or base looks at them.
pub(super) fn is_plain_class(text: &str, statement: &Statement<'_>, plain_classes: &BTreeSet<&str>) -> bool {
    let Some(definition) = statement.definition else { return false };
    let mut cursor = statement.node.walk();
    let is_mark = |decorator: Node<'_>| {
        let source = text[decorator.byte_range()].trim_start_matches('@').trim_start();
        source.starts_with("pytest.mark.") || source == "final" || source.ends_with(".final")
    };
    let has_plain_decorators =
        statement.node.children(&mut cursor).filter(|child| child.kind() == "decorator").all(is_mark);
    has_plain_decorators
        && bases(definition).is_none_or(|bases| {
            let mut cursor = bases.walk();
            let is_plain =
                |base: Node<'_>| is_plain_base(text, base) || plain_classes.contains(&text[base.byte_range()]);
            bases.named_children(&mut cursor).filter(|one| !one.is_extra()).all(is_plain)
        })
}

fn bases(definition: Node<'_>) -> Option<Node<'_>> {
    definition.child_by_field_name("superclasses")
}

fn is_plain_base(text: &str, base: Node<'_>) -> bool {
    let name = match base.kind() {
        "subscript" => base.child_by_field_name("value").map_or("", |value| &text[value.byte_range()]),
        "identifier" | "attribute" => &text[base.byte_range()],
        _ => return false,
    };
    let last = name.rsplit('.').next().unwrap_or(name);
    PLAIN_BASES.contains(&last) || (last.ends_with("Error") || last.ends_with("Warning")) && last == name
}

fn has_plain_header(text: &str, visible: &Visible<'_>, definition: Node<'_>) -> bool {
    let is_value = |node: Node<'_>| visible.only_makes_a_value(text, node);
    let Some(parameters) = definition.child_by_field_name("parameters") else { return false };
    let mut cursor = parameters.walk();
    definition.child_by_field_name("return_type").is_none_or(is_value)
        && parameters.named_children(&mut cursor).all(|parameter| {
            ["value", "type"].iter().all(|field| parameter.child_by_field_name(field).is_none_or(is_value))
        })
}

fn has_doctest(text: &str) -> bool {
    text.contains(">>>")
}

fn is_implicit(name: &str) -> bool {
    IMPLICIT.contains(&name) || IMPLICIT_STARTS.iter().any(|start| name.starts_with(start))
}

fn is_dunder(name: &str) -> bool {
    name.starts_with("__") && name.ends_with("__")
}

fn is_type_checking(text: &str, statement: Node<'_>) -> bool {
    let condition = statement.child_by_field_name("condition").map_or("", |node| &text[node.byte_range()]);
    let is_alone = statement.child_by_field_name("alternative").is_none();
    is_alone && (condition == "TYPE_CHECKING" || condition.ends_with(".TYPE_CHECKING"))
}

/// The names to which an assignment binds something. None where it changes an object instead.
fn targets<'t>(text: &'t str, assignment: Node<'t>) -> Option<BTreeSet<&'t str>> {
    let left = assignment.child_by_field_name("left")?;
    let mut names = BTreeSet::new();
    match left.kind() {
        "identifier" => {
            names.insert(&text[left.byte_range()]);
        }
        "pattern_list" | "tuple_pattern" => {
            let mut cursor = left.walk();
            for one in left.named_children(&mut cursor).filter(|one| !one.is_extra()) {
                if one.kind() != "identifier" {
                    return None;
                }
                names.insert(&text[one.byte_range()]);
            }
        }
        _ => return None,
    }
    Some(names)
}

fn imported_names<'t>(text: &'t str, statement: Node<'t>) -> BTreeSet<&'t str> {
    let mut cursor = statement.walk();
    let names = statement.children_by_field_name("name", &mut cursor);
    names
        .filter_map(|name| match name.kind() {
            "aliased_import" => text.get(name.child_by_field_name("alias")?.byte_range()),
            _ => text[name.byte_range()].split('.').next(),
        })
        .collect()
}

/// The modules that a statement imports; empty where that is not known.
pub(super) fn imported_modules(text: &str, statement: Node<'_>) -> BTreeSet<String> {
    match statement.child_by_field_name("module_name") {
        Some(module) => [text[module.byte_range()].to_owned()].into(),
        None => names_to_import(text, statement).into_iter().map(str::to_owned).collect(),
    }
}

/// The names that a statement takes from a module. They may be modules too.
pub(super) fn taken_names(text: &str, statement: Node<'_>) -> BTreeSet<String> {
    let module = statement.child_by_field_name("module_name").map(|module| &text[module.byte_range()]);
    match module {
        Some(module) if !is_safe_module(module) => {
            names_to_import(text, statement).into_iter().map(str::to_owned).collect()
        }
        _ => BTreeSet::new(),
    }
}

fn names_to_import<'t>(text: &'t str, statement: Node<'_>) -> Vec<&'t str> {
    let mut cursor = statement.walk();
    let names = statement.children_by_field_name("name", &mut cursor);
    names.map(|name| &text[name.child_by_field_name("name").unwrap_or(name).byte_range()]).collect()
}

/// Modules of the standard library whose import changes nothing, in every version that is in use.
pub(super) fn is_safe_module(name: &str) -> bool {
    let safe = [
        "abc",
        "argparse",
        "array",
        "ast",
        "asyncio",
        "base64",
        "binascii",
        "bisect",
        "builtins",
        "calendar",
        "collections",
        "configparser",
        "contextlib",
        "contextvars",
        "copy",
        "csv",
        "dataclasses",
        "datetime",
        "decimal",
        "difflib",
        "dis",
        "email",
        "enum",
        "errno",
        "fnmatch",
        "fractions",
        "functools",
        "gc",
        "getpass",
        "glob",
        "gzip",
        "hashlib",
        "heapq",
        "hmac",
        "html",
        "http",
        "importlib",
        "inspect",
        "io",
        "ipaddress",
        "itertools",
        "json",
        "keyword",
        "linecache",
        "logging",
        "math",
        "mimetypes",
        "numbers",
        "operator",
        "os",
        "pathlib",
        "pickle",
        "platform",
        "posixpath",
        "pprint",
        "pytest",
        "queue",
        "random",
        "re",
        "reprlib",
        "secrets",
        "shlex",
        "shutil",
        "signal",
        "socket",
        "sqlite3",
        "ssl",
        "stat",
        "statistics",
        "string",
        "struct",
        "subprocess",
        "sys",
        "tempfile",
        "textwrap",
        "threading",
        "time",
        "timeit",
        "token",
        "tokenize",
        "traceback",
        "types",
        "typing",
        "unicodedata",
        "unittest",
        "urllib",
        "uuid",
        "warnings",
        "weakref",
        "zlib",
    ];
    safe.contains(&name.split('.').next().unwrap_or(name))
}
