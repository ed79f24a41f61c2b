//! Which expressions of a body only make a value: evaluating them changes nothing and runs no code of
//! the project. In doubt an expression does more.

use std::collections::BTreeSet;

use tree_sitter::Node;

/// Functions and classes of the language and its libraries that only make a value.
const CONSTRUCTORS: &[&str] = &[
    "ContextVar",
    "Decimal",
    "Fraction",
    "NewType",
    "OrderedDict",
    "ParamSpec",
    "Path",
    "PurePath",
    "RLock",
    "TypeVar",
    "TypeVarTuple",
    "bool",
    "bytes",
    "date",
    "datetime",
    "defaultdict",
    "dict",
    "float",
    "frozenset",
    "getLogger",
    "int",
    "itemgetter",
    "len",
    "list",
    "namedtuple",
    "object",
    "range",
    "set",
    "str",
    "timedelta",
    "tuple",
];
/// The same, where the last part of the name alone could be anything.
const FULL_CONSTRUCTORS: &[&str] = &["re.compile", "pytest.param", "threading.local", "threading.Lock"];

/// Decorators that change nothing but the function or class below them.
const DECORATORS: &[&str] = &[
    "abstractmethod",
    "asynccontextmanager",
    "attrs",
    "cache",
    "cached_property",
    "classmethod",
    "contextmanager",
    "dataclass",
    "define",
    "deleter",
    "expectedFailure",
    "final",
    "frozen",
    "getter",
    "lru_cache",
    "overload",
    "override",
    "property",
    "runtime_checkable",
    "setter",
    "skip",
    "skipIf",
    "skipUnless",
    "staticmethod",
    "total_ordering",
    "wraps",
];
const MOCK_DECORATORS: &[&str] = &["patch", "patch.object", "patch.dict", "patch.multiple"];
const MARKS: &[&str] = &["pytest.mark.", "mark."];
/// Makes a fixture, which tests use by its name, except one that is used without being named.
const FIXTURES: &[&str] = &["pytest.fixture", "fixture", "pytest_asyncio.fixture"];

/// The names that code of a module can use without an error.
#[derive(Default)]
pub(super) struct Visible<'t> {
    pub(super) names: BTreeSet<&'t str>,
    /// Those that the module itself defines as functions or classes: calling them runs its code.
    pub(super) own: BTreeSet<&'t str>,
    /// There may be others.
    pub(super) is_open: bool,
}

const BUILTINS: &[&str] = &[
    "ArithmeticError",
    "AssertionError",
    "AttributeError",
    "BaseException",
    "BlockingIOError",
    "BrokenPipeError",
    "BufferError",
    "BytesWarning",
    "ChildProcessError",
    "ConnectionAbortedError",
    "ConnectionError",
    "ConnectionRefusedError",
    "ConnectionResetError",
    "DeprecationWarning",
    "EOFError",
    "Ellipsis",
    "Exception",
    "FileExistsError",
    "FileNotFoundError",
    "FloatingPointError",
    "FutureWarning",
    "GeneratorExit",
    "IOError",
    "ImportError",
    "ImportWarning",
    "IndentationError",
    "IndexError",
    "InterruptedError",
    "IsADirectoryError",
    "KeyError",
    "KeyboardInterrupt",
    "LookupError",
    "MemoryError",
    "ModuleNotFoundError",
    "NameError",
    "NotADirectoryError",
    "NotImplemented",
    "NotImplementedError",
    "OSError",
    "OverflowError",
    "PendingDeprecationWarning",
    "PermissionError",
    "ProcessLookupError",
    "RecursionError",
    "ReferenceError",
    "ResourceWarning",
    "RuntimeError",
    "RuntimeWarning",
    "StopAsyncIteration",
    "StopIteration",
    "SyntaxError",
    "SyntaxWarning",
    "SystemError",
    "SystemExit",
    "TabError",
    "TimeoutError",
    "TypeError",
    "UnboundLocalError",
    "UnicodeDecodeError",
    "UnicodeEncodeError",
    "UnicodeError",
    "UnicodeTranslateError",
    "UnicodeWarning",
    "UserWarning",
    "ValueError",
    "Warning",
    "ZeroDivisionError",
    "__name__",
    "abs",
    "all",
    "any",
    "ascii",
    "bin",
    "bool",
    "bytearray",
    "bytes",
    "callable",
    "chr",
    "classmethod",
    "complex",
    "dict",
    "divmod",
    "enumerate",
    "filter",
    "float",
    "format",
    "frozenset",
    "getattr",
    "hasattr",
    "hash",
    "hex",
    "id",
    "input",
    "int",
    "isinstance",
    "issubclass",
    "iter",
    "len",
    "list",
    "map",
    "max",
    "memoryview",
    "min",
    "next",
    "object",
    "oct",
    "open",
    "ord",
    "pow",
    "print",
    "property",
    "range",
    "repr",
    "reversed",
    "round",
    "set",
    "slice",
    "sorted",
    "staticmethod",
    "str",
    "sum",
    "super",
    "tuple",
    "type",
    "zip",
];

impl Visible<'_> {
    /// Whether evaluating an expression only makes a value.
    pub(super) fn only_makes_a_value(&self, text: &str, node: Node<'_>) -> bool {
        let all = |node: Node<'_>| {
            let mut cursor = node.walk();
            node.named_children(&mut cursor).filter(|one| !one.is_extra()).all(|one| self.only_makes_a_value(text, one))
        };
        let source = &text[node.byte_range()];
        match node.kind() {
            "identifier" => self.is_open || self.names.contains(source) || BUILTINS.contains(&source),
            "string" => {
                let mut cursor = node.walk();
                !node.named_children(&mut cursor).any(|part| part.kind() == "interpolation")
            }
            "integer" | "float" | "true" | "false" | "none" | "ellipsis" | "lambda" | "pass_statement" => true,
            "attribute" => node.child_by_field_name("object").is_some_and(|of| self.only_makes_a_value(text, of)),
            "keyword_argument" => node.child_by_field_name("value").is_some_and(|of| self.only_makes_a_value(text, of)),
            "call" => {
                let (Some(function), Some(arguments)) =
                    (node.child_by_field_name("function"), node.child_by_field_name("arguments"))
                else {
                    return false;
                };
                self.is_constructor(&text[function.byte_range()])
                    && self.only_makes_a_value(text, function)
                    && arguments.kind() == "argument_list"
                    && all(arguments)
            }
            "tuple"
            | "list"
            | "set"
            | "dictionary"
            | "pair"
            | "parenthesized_expression"
            | "expression_list"
            | "concatenated_string"
            | "subscript"
            | "slice"
            | "unary_operator"
            | "not_operator"
            | "boolean_operator"
            | "comparison_operator"
            | "binary_operator"
            | "conditional_expression"
            | "type"
            | "generic_type"
            | "union_type"
            | "member_type"
            | "constrained_type"
            | "type_parameter" => all(node),
            _ => false,
        }
    }

    fn is_constructor(&self, function: &str) -> bool {
        let last = function.rsplit('.').next().unwrap_or(function);
        let is_known = CONSTRUCTORS.contains(&last) || FULL_CONSTRUCTORS.contains(&function);
        is_known && !self.own.contains(function.split('.').next().unwrap_or(function))
    }

    /// Whether a decorator changes nothing but what is below it.
    pub(super) fn is_plain_decorator(&self, text: &str, decorator: Node<'_>) -> bool {
        let Some(expression) = decorator.named_child(0) else { return false };
        let (function, arguments) = match expression.kind() {
            "call" => (expression.child_by_field_name("function"), expression.child_by_field_name("arguments")),
            _ => (Some(expression), None),
        };
        let Some(function) = function else { return false };
        let name = &text[function.byte_range()];
        let has_plain_arguments = arguments.is_none_or(|arguments| {
            let mut cursor = arguments.walk();
            arguments.named_children(&mut cursor).filter(|one| !one.is_extra()).all(|one| {
                let is_autouse =
                    one.child_by_field_name("name").is_some_and(|name| &text[name.byte_range()] == "autouse");
                !is_autouse && self.only_makes_a_value(text, one)
            })
        });
        let last = name.rsplit('.').next().unwrap_or(name);
        let is_own = self.own.contains(name);
        let is_mock = MOCK_DECORATORS.iter().any(|mock| name == *mock || name.ends_with(&format!(".{mock}")));
        let is_known = DECORATORS.contains(&last)
            || is_mock
            || MARKS.iter().any(|mark| name.starts_with(mark))
            || FIXTURES.contains(&name);
        is_known && !is_own && has_plain_arguments
    }
}
